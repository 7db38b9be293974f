"""Texts of a project under evaluation: what is written of them, and how they are known again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.db.code import CodeRow
from app.db.conversations import Conversation, Draft, Outcome, Written
from app.domain.benchmark import Text
from app.services.cabinet import CodeShelf, ConversationShelf
from app.types import Passage, Scope


@dataclass
class Filing:
    """Keeps rows; those of the same words are one."""

    kept: list[tuple[str, CodeRow]] = field(default_factory=list)

    async def put(
        self, scope: Scope, project: str, rows: Sequence[CodeRow], *, seconds: float
    ) -> list[tuple[str, bool]]:
        """A row's id is its text."""
        self.kept += [(project, row) for row in rows]
        return [(row.chunk_text, True) for row in rows]


@dataclass
class Talking:
    """Keeps drafts."""

    kept: list[tuple[str | None, str, Draft]] = field(default_factory=list)

    async def keep(
        self, scope: Scope, kind: str, drafts: Sequence[Draft], *, seconds: float
    ) -> list[Written]:
        """Under an id of its own."""
        self.kept += [(scope.project, kind, draft) for draft in drafts]
        return [
            (Conversation(f"row-{draft.id}", "", None, (), (), None, None, None, None), Outcome.CREATED)
            for draft in drafts
        ]


def passage(key: str) -> Passage:
    """As it is found."""
    return Passage("code", key, "text", 1, "a#1")


async def test_code_is_filed_under_its_path_and_name() -> None:
    """The path of its facts, else the title; each scope is a project, and none is everyone's."""
    filing = Filing()
    shelf = CodeShelf(filing)
    texts = [
        Text("1", "def a(): ...", "a.py a", "flask", {"path": "src/a.py", "name": "a"}),
        Text("2", "def b(): ...", "b.py", "flask"),
        Text("3", "def c(): ...", scope="flask"),
    ]

    stored = await shelf.put("flask", texts)
    await shelf.put(None, [Text("4", "def d(): ...")])

    assert [(project, row.file_path) for project, row in filing.kept] == [
        ("flask", "src/a.py"),
        ("flask", "b.py"),
        ("flask", None),
        ("everyone", None),
    ]
    assert [row.chunk_metadata for _, row in filing.kept[:2]] == [{"function_name": "a"}, {}]
    assert (stored, shelf.source, shelf.scope("flask")) == (3, "code", Scope(project="flask"))


async def test_a_row_is_known_for_all_its_texts() -> None:
    """Texts that became one row are found as one; a row that nobody wrote is none."""
    shelf = CodeShelf(Filing())

    stored = await shelf.put("p", [Text("1", "same"), Text("2", "same"), Text("3", "other")])

    assert stored == 2
    assert shelf.names("p", passage("same")) == ["1", "2"]
    assert list(shelf.names("p", passage("unknown"))) == []


async def test_a_text_is_a_conversation_s_summary() -> None:
    """With its title and time, in the project that is its scope."""
    talking = Talking()
    shelf = ConversationShelf(talking)
    dated = {"date": "2024-05-08T13:56:00Z"}

    stored = await shelf.put("thn", [Text("1", "what was said", "Title", "thn", dated), Text("2", "more")])

    at = datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    first = Draft("1", "Title", summary_detailed="what was said", indexed_at=at)
    assert talking.kept == [
        ("thn", "conversations", first),
        ("thn", "conversations", Draft("2", summary_detailed="more")),
    ]
    assert (stored, shelf.source, shelf.names("thn", passage("row-2"))) == (2, "conversations", ["2"])
