"""Conversations: what `public.conversation_index` keeps of them, but for the projects that keep dreams.

Newest, nearest, and by words and meaning. Label `conversation#<8 of its id>`. Raises `RetrievalError`.
Source: docs/contract.md, docs/adr/0019.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from app.db.project_text import conversation_text
from app.db.projects import CONVERSATIONS
from app.retrieval.project_tables import CONVERSATION, Analysed, conversation_analysed
from app.sources.rows import RowSource
from app.text.labels import label
from app.text.memo import Text
from app.types import Passage

COLUMNS = ("title", "tags", "key_entities", "summary_short", "summary_detailed", "memory_snippet")
"""Shown."""


class ConversationSource(RowSource):
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

    def analysed(self, row: Mapping[str, Any]) -> Analysed:
        """Of both summaries."""
        return conversation_analysed(row, brief=self.brief)

    def passage(self, row: Mapping[str, Any], text: Text, tokens: int, mark: str) -> Passage:
        """One conversation; its columns as they are stored, cut to some thousand characters."""
        moment = row["indexed_at"]
        return Passage(
            source=self.name,
            id=row["id"],
            text=text,
            tokens=tokens,
            label=label(self.called, mark),
            title=row["title"] or "",
            fields={
                **{name: row[name] for name in COLUMNS},
                "project": row["project"],
                "indexed_at": moment.isoformat() if moment else None,
            },
            created_at=moment,
        )
