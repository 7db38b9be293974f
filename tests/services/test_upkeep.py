"""Indexes kept in step with the record, on a real Postgres and indexes in memory."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from app.clients.pool import Pool
from app.domain.corpus import Given
from app.domain.errors import RetrievalError, Unavailable
from app.domain.memory import RAW, Draft
from app.domain.passage import Scope
from app.services import upkeep as keeping
from app.services.upkeep import Upkeep
from app.stores.corpus import CorpusStore
from app.stores.memories import MemoryStore
from app.stores.spaces import SpaceStore
from app.stores.strays import StrayStore
from tests.fakes.keeping import ADA, FakeIndex, FakeShelves
from tests.fakes.uploads import SPACE
from tests.stores import test_corpus, test_memories

UNFINISHED = """
    SELECT (SELECT count(*) FROM ibid.memory WHERE indexed_at IS NULL OR removed_at IS NOT NULL)
        + (SELECT count(*) FROM ibid.corpus_text WHERE indexed_at IS NULL OR removed_at IS NOT NULL)
"""


@dataclass
class Engine:
    """What the indexes hold; keeps upkeep.Census."""

    index: FakeIndex
    shelves: FakeShelves
    error: RetrievalError | None = None
    late: list[int] = field(default_factory=list)
    """Points that the next looks miss, as while one is written."""

    async def ours(self, collection: str, space: str, tenants: Sequence[str]) -> int:
        """Those of the collection; one tenant's here, in one space."""
        if self.error:
            raise self.error
        assert (space, list(tenants)) == (SPACE.name, ["acme"])
        texts = [at for at, _ in self.shelves.found.values()].count(collection)
        there = len(self.index.found) if collection == RAW else texts
        return there - (self.late.pop() if self.late else 0)


@dataclass
class House:
    """Everything that an upkeep looks after."""

    pool: Pool
    index: FakeIndex = field(default_factory=FakeIndex)
    shelves: FakeShelves = field(default_factory=FakeShelves)
    engine: Engine = field(init=False)
    upkeep: Upkeep = field(init=False)

    def __post_init__(self) -> None:
        self.engine = Engine(self.index, self.shelves)
        memories = (MemoryStore(self.pool), self.index)
        corpus = (CorpusStore(self.pool), self.shelves)
        self.upkeep = Upkeep(StrayStore(self.pool), self.engine, memories, corpus)

    @property
    def texts(self) -> list[str]:
        """What a search would find."""
        return self.index.texts + self.shelves.texts


@pytest.fixture
async def house(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> House:
    """In the space of the rows."""
    monkeypatch.setattr(keeping, "CERTAIN", 0.01)
    await SpaceStore(pool).keep(SPACE)
    await SpaceStore(pool).make_current(SPACE.name)
    return House(pool)


async def test_what_a_crash_left_unfinished_is_finished(house: House) -> None:
    """Killed between the record and the index: found after the repair, as its writer meant it."""
    await test_memories.admitted(house.pool, Draft("I moved."), Draft("I slept."))
    await test_corpus.admitted(house.pool, Given("Light delays sleep."))

    await house.upkeep.mend()

    assert house.texts == ["I moved.", "I slept.", "Light delays sleep."]
    assert await house.pool.fetchval(UNFINISHED) == 0
    assert len((await MemoryStore(house.pool).list(ADA, cursor=None, limit=9))[0]) == 2


async def test_what_a_crash_left_of_a_removal_is_cleared_away(house: House) -> None:
    """Point and row, and a collection that has none left."""
    (memory,) = await test_memories.written(house.pool, Draft("I moved."))
    (text,) = await test_corpus.written(house.pool, Given("a", "a1"))
    await house.upkeep.rebuild()
    await MemoryStore(house.pool).remove(ADA, memory.id)
    await CorpusStore(house.pool).remove(Scope("acme"), "sleep", "a1")
    assert text.point in house.shelves.found

    await house.upkeep.mend()

    assert house.texts == []
    assert house.shelves.dropped == ["sleep"]
    assert await house.pool.fetchval("SELECT count(*) FROM ibid.memory") == 0
    assert await house.pool.fetchval("SELECT count(*) FROM ibid.corpus_text") == 0


async def test_an_index_that_lost_everything_is_filled_anew(house: House) -> None:
    """From the record, whoever's they are; page by page; without an embedding."""
    await test_memories.written(house.pool, *(Draft(f"n{n}") for n in range(3)))
    bob = Scope("acme", user_id="bob")
    await test_memories.written(house.pool, Draft("bob's"), scope=bob)
    await test_corpus.written(house.pool, Given("a"))

    await house.upkeep.mend()

    assert house.texts == ["bob's", "n0", "n1", "n2", "a"]
    assert {scope.user_id for scope, _, _ in house.index.found.values()} == {"ada", "bob"}


async def test_an_index_that_has_everything_is_left_alone(house: House) -> None:
    """And so is one that seemed to lack something while it was written."""
    await test_memories.written(house.pool, Draft("I moved."), Draft("I slept."))
    await house.upkeep.mend()
    house.index.puts, house.engine.late = 0, [1]

    await house.upkeep.mend()

    assert house.index.puts == 0


async def test_an_index_that_lost_a_few_is_filled_anew(house: House) -> None:
    """Two looks find the same."""
    await test_memories.written(house.pool, Draft("I moved."), Draft("I slept."))
    await house.upkeep.mend()
    house.index.found.popitem()

    await house.upkeep.mend()

    assert house.texts == ["I moved.", "I slept."]


async def test_what_is_written_anew_under_the_repair_is_what_is_found(house: House) -> None:
    """Though the page of the repair was read before."""
    await test_corpus.admitted(house.pool, Given("old", "a1"))
    await test_memories.admitted(house.pool, test_memories.CARD)
    shelves, index = house.shelves.put, house.index.put
    text = partial(test_corpus.written, house.pool, Given("new", "a1"))
    card = partial(test_memories.written, house.pool, replace(test_memories.CARD, text="likes play"))

    def overtaken(put: Callable[..., Awaitable[None]], by: Callable[[], Awaitable[object]]) -> Any:
        """Another writes the newer one first, once."""
        newer = [by]

        async def late(*args: object) -> None:
            while newer:
                await newer.pop()()
            await put(*args)

        return late

    house.index.put = overtaken(index, card)  # type: ignore[method-assign] # for this test
    house.shelves.put = overtaken(shelves, text)  # type: ignore[method-assign] # for this test

    await house.upkeep.mend()

    assert house.texts == ["likes play", "new"]
    assert await house.pool.fetchval(UNFINISHED) == 0


async def test_pages_are_walked_to_the_end(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row once."""
    monkeypatch.setattr(keeping, "PAGE", 2)
    await test_memories.written(house.pool, *(Draft(f"n{n}") for n in range(5)))
    await test_corpus.written(house.pool, *(Given(f"t{n}") for n in range(3)))

    assert await house.upkeep.rebuild() == 8


async def test_what_is_removed_under_the_repair_does_not_come_back(house: House) -> None:
    """A row that went while its point was written takes the point along."""
    (each,) = await test_memories.admitted(house.pool, Draft("I moved."))
    assert each.memory
    put = house.index.put

    async def removed_meanwhile(*args: object) -> None:
        """The user takes it back at this very moment."""
        await put(*args)  # type: ignore[arg-type] # as given
        await house.pool.execute("DELETE FROM ibid.memory")

    house.index.put = removed_meanwhile  # type: ignore[assignment, method-assign] # for this test

    await house.upkeep.mend()

    assert house.texts == []


@pytest.mark.parametrize("fault", ["index", "engine"])
async def test_an_index_that_is_away_is_asked_again(
    house: House, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """`mend` says so; the run goes on, and mends when it is back."""
    await test_memories.admitted(house.pool, Draft("I moved."))
    await test_memories.written(house.pool, Draft("I slept."))
    if fault == "index":
        house.index.error = Unavailable("down")
    else:
        house.engine.error = RetrievalError("unavailable")
    with pytest.raises(Unavailable):
        await house.upkeep.mend()
    monkeypatch.setattr(keeping, "AGAIN", 0.02)
    running = asyncio.create_task(house.upkeep.run())
    await asyncio.sleep(0.1)
    house.index.error = house.engine.error = None

    await found(house, 2)
    running.cancel()


async def test_a_collection_that_is_set_aside_is_filled_at_once(house: House) -> None:
    """Not at the next round."""
    await test_memories.written(house.pool, Draft("I moved."))
    running = asyncio.create_task(house.upkeep.run())
    await found(house, 1)
    house.index.found.clear()

    house.upkeep.hurry(RAW)

    await found(house, 1)
    running.cancel()


async def found(house: House, count: int) -> None:
    """Until so many are."""
    async with asyncio.timeout(10):
        while len(house.texts) < count:  # noqa: ASYNC110 - nobody tells us
            await asyncio.sleep(0.01)
