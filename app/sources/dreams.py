"""Dreams: the rows of `public.conversation_index` that belong to projects which keep dreams (DAAS).

Newest, nearest, and by words and meaning. Label `dream#<8 of its id>`. Raises `RetrievalError`.
Source: docs/contract.md, docs/adr/0019.
"""

from app.db.projects import DREAMS
from app.sources.conversations import ConversationSource


class DreamSource(ConversationSource):
    """See the module."""

    name = DREAMS
    inside = True
    called = "dream"
    brief = True
