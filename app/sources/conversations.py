"""Conversations: what `public.conversation_index` keeps of them, but for the projects that keep dreams.

Newest, nearest, and by words and meaning. Label `conversation#<8 of its id>`. Raises `RetrievalError`.
Source: seeds 001 and 002, CONTRACT §4; docs/decisions/0042.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from app.domain.embedded import conversation_text
from app.domain.label import label
from app.domain.passage import Passage
from app.domain.project import CONVERSATIONS
from app.index.context import ContextSource, Told
from app.index.finder import Found
from app.index.table import CONVERSATION

COLUMNS = ("title", "tags", "key_entities", "summary_short", "summary_detailed", "memory_snippet")
"""Shown."""


class ConversationSource(ContextSource):
    """See the module."""

    name = CONVERSATIONS
    table = CONVERSATION
    inside = False
    called: ClassVar[str] = "conversation"
    brief: ClassVar[bool] = False
    """Whether the short summary is the one that is shown."""

    def text(self, row: Mapping[str, Any]) -> str:
        """What is shown of it."""
        return conversation_text(**{name: row[name] for name in COLUMNS}, brief=self.brief)

    def passage(self, found: Found, told: Told, short: str, similar: float | None) -> Passage:
        """One conversation; its columns as they are stored, cut to some thousand characters."""
        row = found.columns
        moment = row["indexed_at"]
        return Passage(
            source=self.name,
            id=found.id,
            text=told.text,
            tokens=told.tokens,
            label=label(self.called, short),
            similarity=similar,
            title=row["title"] or "",
            fields={
                **{name: row[name] for name in COLUMNS},
                "project": row["project"],
                "indexed_at": moment.isoformat() if moment else None,
            },
            created_at=moment,
        )
