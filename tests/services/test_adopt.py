"""What older tools wrote, taken over: whole, interrupted, by two at once; vectors that are ours already."""

import asyncio
import struct
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

import pytest

from app.clients.cluster import Cluster
from app.clients.pool import open_pool
from app.domain.adoption import Older, Report, Shelf, Taken
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding
from app.domain.space import Space
from app.services import adopt as adopting
from app.services.adopt import Adopt
from app.stores.adoption import AdoptionStore
from tests.fakes.elder import DIM, Elder, elder
from tests.fakes.model import bag

SPACE = Space("fake-model@1536", "fake-model", DIM, 0.0)
CONVERSATIONS, CODE = "public.conversation_index", "public.code_index"


@dataclass
class Bags:
    """An embedder whose model is that of the tests' server; may fail after so many texts."""

    room: int = 10_000
    asked: list[str] = field(default_factory=list)
    space: str = SPACE.name

    async def query(self, text: str) -> Embedding:
        """One."""
        return (await self.passages([text]))[0]

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """One a text."""
        if len(self.asked) + len(texts) > self.room:
            raise RetrievalError("embedding")
        self.asked += texts
        await asyncio.sleep(0)
        return [struct.pack(f"<{DIM}f", *bag(text, DIM)) for text in texts]


@dataclass
class Boards:
    """Collections in memory: what is missing in them, by name."""

    shelves: list[Shelf] = field(default_factory=list)
    lacking: dict[str, int] = field(default_factory=dict)
    pairs: list[tuple[str, Embedding]] = field(default_factory=list)
    settled: int = 0

    async def found(self) -> list[Shelf]:
        """All."""
        return self.shelves

    async def sample(self, shelf: Shelf, limit: int) -> list[tuple[str, Embedding]]:
        """The same of each."""
        return self.pairs[:limit]

    async def missing(self, shelf: Shelf) -> int:
        """As they are now."""
        return self.lacking[shelf.name]

    async def carry(self, shelf: Shelf) -> AsyncIterator[int]:
        """At once."""
        if self.lacking[shelf.name]:
            yield self.lacking[shelf.name]
        self.lacking[shelf.name] = 0

    def home(self, shelf: Shelf) -> str:
        """Beside it."""
        return f"{shelf.name}_ibid"

    async def settle(self) -> None:
        """Counted."""
        self.settled += 1


@pytest.fixture
async def ours(cluster: Cluster) -> AsyncIterator[Elder]:
    """Their database, with vectors of our model."""
    async with elder(cluster, same=True, migrated=True) as made:
        yield made


@pytest.fixture
async def others(cluster: Cluster) -> AsyncIterator[Elder]:
    """Their database, with vectors as wide as ours, of another model."""
    async with elder(cluster, migrated=True) as made:
        yield made


async def run(old: Elder, embedder: Bags, boards: Boards | None = None) -> Report:
    """A whole run."""
    async with open_pool(old.dsn, max_size=3) as pool:
        work = Adopt(AdoptionStore(pool), boards or Boards(), embedder, SPACE)
        total, done = await work.total(), sum([taken async for taken in work.run()])
        assert done == sum(
            each.kept + each.embedded for each in (*work.report.tables, *work.report.collections)
        )
        assert done == total or boards
        return work.report


async def test_vectors_of_our_model_stay_as_they_are(ours: Elder) -> None:
    """A sample is embedded, and what has no vector or one of zeros; nothing else."""
    before, embedder = await ours.told(), Bags()
    report = await run(ours, embedder)
    assert report.tables == [Taken(CONVERSATIONS, 31, 4, 2), Taken(CODE, 20)]
    assert report.older == Older(2, 1)
    assert len(embedder.asked) == 31 + 4 + 20
    assert await ours.told() == before
    assert await ours.run("SELECT count(*) FROM conversation_index WHERE embedding_ibid IS NOT NULL") == 4


async def test_vectors_of_another_model_are_as_good_as_none(others: Elder) -> None:
    """Of the same width as ours: only a look at them tells."""
    before = await others.told()
    report = await run(others, Bags())
    assert report.tables == [Taken(CONVERSATIONS, 0, 35, 2), Taken(CODE, 0, 20)]
    assert await others.told() == before
    assert await others.run("SELECT count(*) FROM code_index WHERE vector_dims(embedding_ibid) = 1536") == 20


async def test_a_plan_is_what_a_run_does(others: Elder) -> None:
    """And changes nothing."""
    async with open_pool(others.dsn, max_size=3) as pool:
        work = Adopt(AdoptionStore(pool), Boards(), Bags(), SPACE)
        plan = await work.plan()
        assert await work.total() == 55
    assert plan == await run(others, Bags())


async def test_an_interrupted_run_goes_on(others: Elder, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was embedded before the fault is not embedded again."""
    monkeypatch.setattr(adopting, "BATCH", 5)
    embedder = Bags(room=31 + 12)
    with pytest.raises(RetrievalError):
        await run(others, embedder)
    assert await others.run("SELECT count(*) FROM conversation_index WHERE space IS NOT NULL") == 10
    report = await run(others, Bags())
    assert [each.embedded for each in report.tables] == [25, 20]
    assert [each.embedded for each in (await run(others, Bags())).tables] == [0, 0]


async def test_two_runs_at_once_do_each_row_once(others: Elder) -> None:
    """What the other one took is left to it, and is no failure of anybody's."""
    async with open_pool(others.dsn, max_size=5) as pool:
        works = [Adopt(AdoptionStore(pool), Boards(), Bags(), SPACE) for _ in range(2)]

        async def whole(work: Adopt) -> int:
            return sum([taken async for taken in work.run()])

        assert sum(await asyncio.gather(*map(whole, works))) == 55
    assert [work.report.left for work in works] == [0, 0]


async def test_collections_are_carried_where_their_vectors_are_not_ours() -> None:
    """One of our space stays; then what is ours of the others is written too, once."""
    held = struct.pack(f"<{DIM}f", *bag("sea", DIM))
    boards = Boards(
        [
            Shelf("wide", 5, 1, 3072, fits=False),
            Shelf("same", 7, 0, DIM, fits=True),
            Shelf("old", 3, 0, DIM, True, "h"),
        ],
        {"wide": 5, "same": 7, "old": 0},
        [("sea", held)] * 40,
    )
    work = Adopt(NoRows(), boards, Bags(), SPACE)
    assert [each.embedded for each in (await work.plan()).collections] == [5, 0, 0]
    assert [taken async for taken in work.run()] == [5]
    assert work.report.collections == [
        Taken("wide", embedded=5, silent=1, home="wide_ibid"),
        Taken("same", kept=7),
        Taken("old", home="old_ibid"),
    ]
    assert boards.settled == 1
    assert [taken async for taken in work.run()] == []
    assert boards.settled == 1


class NoRows(AdoptionStore):
    """A database without tables of older tools."""

    tables = ()

    def __init__(self) -> None:
        """Nothing to open."""

    async def older(self) -> Older:
        """None."""
        return Older(0, 0)
