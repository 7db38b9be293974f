"""Dreams: the rows of `public.conversation_index` that belong to projects which keep dreams (DAAS).

Newest, nearest, and by words and meaning. Label `dream#<8 of its id>`. Raises `RetrievalError`.
Source: seed 000, CONTRACT §4; docs/decisions/0042.
"""

from app.db.projects import DREAMS
from app.sources.conversations import ConversationSource


class DreamSource(ConversationSource):
    """See the module."""

    name = DREAMS
    inside = True
    called = "dream"
    brief = True
