"""Hand-written services of memories and corpus, and indexes in memory that fail, hang or lose things."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.db.corpus import CollectionFigures, Reference, ReferenceDraft
from app.db.memories import Draft, Memory, MemoryOutcome, MemoryStore, Written
from app.db.pool import Pool
from app.errors import IbidError, Missing
from app.services.memories import MemoryService
from app.types import Embedding, Scope
from tests.fakes.uploads import SPACE, vector

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ADA = Scope(tenant="acme", user_id="ada", thread_id="t1")


def kept(text: str = "Juno is a rabbit.", **changes: object) -> Memory:
    """A memory as the record has it."""
    facts: dict[str, object] = {
        "id": "6f3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d",
        "user_id": "ada",
        "text": text,
        "tokens": 6,
        "created_at": NOON,
        "place": 1,
    }
    return Memory(**(facts | changes))  # type: ignore[arg-type] # facts are its fields


def reference(text: str = "Light delays sleep.", **changes: object) -> Reference:
    """A text of the corpus as the record has it."""
    facts: dict[str, object] = {"point": "p1", "id": "a1", "text": text, "tokens": 4, "created_at": NOON}
    return Reference(**(facts | changes))  # type: ignore[arg-type] # facts are its fields


@dataclass
class FakeVectors:
    """An embedder whose vectors are those of `uploads.vector`; may wait, or fail."""

    error: IbidError | None = None
    delay: float = 0
    asked: list[str] = field(default_factory=list)
    space: str = SPACE.name

    async def query(self, text: str) -> Embedding:
        """One."""
        return (await self.passages([text]))[0]

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """One a text."""
        self.asked += texts
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return [vector(text) for text in texts]


async def say(pool: Pool, *texts: str | Draft, scope: Scope = ADA) -> list[str]:
    """Keep memories; their ids."""
    drafts = [Draft(each) if isinstance(each, str) else each for each in texts]
    vectors = [vector(draft.text) for draft in drafts]
    now = await MemoryStore(pool).clock()
    written = await MemoryStore(pool).admit(scope, drafts, vectors, [1] * len(drafts), SPACE.name, since=now)
    return [each.memory.id for each in written if each.memory]


@dataclass
class FakeMemories:
    """The service behind the API: holds one memory."""

    outcomes: Sequence[MemoryOutcome] = (MemoryOutcome.CREATED,)
    error: IbidError | None = None
    asks: list[tuple[Scope, Sequence[Draft]]] = field(default_factory=list)
    pages: list[tuple[Scope, str | None, int]] = field(default_factory=list)

    async def remember(
        self, scope: Scope, drafts: Sequence[Draft], *, asked: datetime | None = None, seconds: float = 0
    ) -> list[Written]:
        """The scripted outcomes."""
        self.asks.append((scope, drafts))
        if self.error:
            raise self.error
        return [
            Written(outcome, None if outcome is MemoryOutcome.ECHO else kept(draft.text))
            for outcome, draft in zip(self.outcomes, drafts, strict=True)
        ]

    async def list(self, scope: Scope, *, cursor: str | None, limit: int) -> tuple[list[Memory], str | None]:
        """A page of one."""
        self.pages.append((scope, cursor, limit))
        return [kept()], "cursor-2"

    async def remove(self, scope: Scope, memory_id: str) -> None:
        """Gone, if it is the one."""
        self.pages.append((scope, memory_id, 0))
        if self.error or memory_id != kept().id:
            raise self.error or Missing


@dataclass
class FakeCorpus:
    """The service behind the API: holds one text."""

    fresh: bool = True
    error: IbidError | None = None
    asks: list[tuple[Scope, str, Sequence[ReferenceDraft]]] = field(default_factory=list)

    async def keep(
        self, scope: Scope, collection: str, texts: Sequence[ReferenceDraft], *, seconds: float = 0
    ) -> list[tuple[Reference, bool]]:
        """All of them."""
        self.asks.append((scope, collection, texts))
        if self.error:
            raise self.error
        return [(reference(text.text, id=text.id or "made"), self.fresh) for text in texts]

    async def collections(self, scope: Scope) -> list[CollectionFigures]:
        """One."""
        return [CollectionFigures("sleep", 2, 18, NOON)]

    async def texts(
        self, scope: Scope, collection: str, *, cursor: str | None, limit: int
    ) -> tuple[list[Reference], str | None]:
        """One."""
        if self.error or collection != "sleep":
            raise self.error or Missing
        return [reference("Keep the hours.", id="a1")], None

    async def remove(self, scope: Scope, collection: str, text_id: str) -> None:
        """Gone, if it is the one."""
        self.asks.append((scope, collection, []))
        if self.error or text_id != "a1":
            raise self.error or Missing

    async def remove_all(self, scope: Scope, collection: str) -> None:
        """Gone, if it is the one."""
        self.asks.append((scope, collection, []))
        if self.error or collection != "sleep":
            raise self.error or Missing


class ScriptedMemories(MemoryService):
    """Keeps nothing, and notes what it is asked."""

    def __init__(
        self, outcome: MemoryOutcome = MemoryOutcome.CREATED, error: IbidError | None = None
    ) -> None:
        self.outcome, self.error = outcome, error
        self.asked: list[tuple[Scope, Sequence[Draft], float]] = []

    async def remember(
        self, scope: Scope, drafts: Sequence[Draft], *, asked: datetime | None = None, seconds: float = 0
    ) -> list[Written]:
        """The scripted outcome."""
        self.asked.append((scope, drafts, seconds))
        if self.error:
            raise self.error
        return [Written(self.outcome)]
