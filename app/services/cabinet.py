"""Where `ibid eval` puts what belongs to a project: code and conversations, each scope a project of its own.

A row is known by the id that its write side gave it. Raises what the write side raises.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from app.db.code import CodeRow
from app.db.conversations import Draft, Written
from app.db.projects import CONVERSATIONS
from app.domain.benchmark import Text
from app.services.memories import BATCH_SECONDS
from app.services.shelf import ALL
from app.types import Passage, Scope


class Named:
    """Texts known by the ids of their rows, and who asks for them."""

    ordered = True

    def __init__(self) -> None:
        self._known: defaultdict[str, list[str]] = defaultdict(list)

    def scope(self, name: str | None) -> Scope:
        """Who asks in the project."""
        return Scope(project=name or ALL)

    def note(self, texts: Sequence[Text], rows: Sequence[str]) -> int:
        """They are there: how many rows are new."""
        before = len(self._known)
        for text, row in zip(texts, rows, strict=True):
            self._known[row].append(text.id)
        return len(self._known) - before

    def names(self, name: str | None, passage: Passage) -> Sequence[str]:
        """The texts of its row."""
        return self._known.get(passage.id, ())


class Filing(Protocol):
    """The write side of code (`services/code.py`)."""

    async def put(
        self, scope: Scope, project: str, rows: Sequence[CodeRow], *, seconds: float
    ) -> Sequence[tuple[str, bool]]:
        """Searchable when it returns."""


class CodeShelf(Named):
    """A text is a chunk of a file."""

    source = "code"

    def __init__(self, code: Filing) -> None:
        super().__init__()
        self._code = code

    async def put(self, name: str | None, texts: Sequence[Text]) -> int:
        """Under the path and the name that their facts give; a title stands for a path."""
        written = await self._code.put(
            Scope(), name or ALL, [chunk(text) for text in texts], seconds=BATCH_SECONDS
        )
        return self.note(texts, [row for row, _ in written])


def chunk(text: Text) -> CodeRow:
    """A text as a row of code."""
    named = text.meta.get("name")
    path = str(text.meta.get("path") or text.title) or None
    return CodeRow(path, None, text.text, {"function_name": str(named)} if named else {}, text.id)


class Talking(Protocol):
    """The write side of conversations (`services/conversations.py`)."""

    async def keep(
        self, scope: Scope, kind: str, drafts: Sequence[Draft], *, seconds: float
    ) -> Sequence[Written]:
        """Searchable when it returns. `scope` names the project."""


class ConversationShelf(Named):
    """A text is the summary of a conversation."""

    source = CONVERSATIONS

    def __init__(self, conversations: Talking) -> None:
        super().__init__()
        self._conversations = conversations

    async def put(self, name: str | None, texts: Sequence[Text]) -> int:
        """Under their own ids, titles and times."""
        drafts = [
            Draft(text.id, text.title or None, summary_detailed=text.text, indexed_at=text.said_at)
            for text in texts
        ]
        written = await self._conversations.keep(
            self.scope(name), CONVERSATIONS, drafts, seconds=BATCH_SECONDS
        )
        return self.note(texts, [row.id for row, _ in written])
