"""The write side of the corpus: a real record, an index in memory that fails where it is told to."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.clients.pool import Pool
from app.domain.corpus import Given, Reference
from app.domain.errors import Forbidden, Missing, RemovedMeanwhile, RetrievalError, Unavailable
from app.domain.passage import Scope
from app.services import corpus as module
from app.services.corpus import CorpusService
from app.stores.corpus import CorpusStore
from tests.fakes.answering import Words
from tests.fakes.keeping import FakeShelves, FakeVectors

ACME = Scope("acme")
ROWS = "SELECT array_agg(text ORDER BY text) FROM ibid.corpus_text WHERE removed_at IS NULL"


@dataclass
class House:
    """A service and what it stands on."""

    pool: Pool
    index: FakeShelves = field(default_factory=FakeShelves)
    embedder: FakeVectors = field(default_factory=FakeVectors)

    @property
    def service(self) -> CorpusService:
        """As wiring builds it."""
        return CorpusService(CorpusStore(self.pool), self.index, self.embedder, Words())

    async def kept(self, *texts: Given, scope: Scope = ACME) -> list[bool]:
        """Which of them are new."""
        return [fresh for _, fresh in await self.service.keep(scope, "sleep", texts)]


@pytest.fixture
def house(pool: Pool) -> House:
    """Where everything works."""
    return House(pool)


async def test_what_is_acknowledged_is_kept_and_found(house: House) -> None:
    """A title is embedded in front; tokens are the text's."""
    ((text, fresh),) = await house.service.keep(
        ACME, "sleep", [Given("Keep the hours", "a1", "Hygiene of sleep")]
    )

    assert fresh
    assert text.tokens == 3
    assert house.index.found[text.point] == ("sleep", text)
    assert house.embedder.asked == ["Hygiene of sleep\nKeep the hours"]
    (shelf,) = await house.service.collections(ACME)
    assert (shelf.collection, shelf.texts, shelf.tokens) == ("sleep", 1, 3)


async def test_an_id_again_replaces(house: House) -> None:
    """In the index too; of one request the last stands."""
    assert await house.kept(Given("old", "a1")) == [True]
    assert await house.kept(Given("new", "a1"), Given("newest", "a1"), Given("other")) == [False, False, True]

    assert house.index.texts == ["newest", "other"]


async def test_a_user_key_reads_and_does_not_write(house: House) -> None:
    """The corpus is the tenant's."""
    ada = Scope("acme", "ada", "ada")
    await house.kept(Given("a", "a1"))

    with pytest.raises(Forbidden):
        await house.kept(Given("b"), scope=ada)
    with pytest.raises(Forbidden):
        await house.service.remove(ada, "sleep", "a1")
    assert len(await house.service.collections(ada)) == 1


async def test_an_index_that_fails_leaves_nothing_new_half_visible(house: House) -> None:
    """What replaced a text waits for the repair: the text before it is gone."""
    await house.kept(Given("old", "a1"))
    house.index.error = Unavailable("down")

    with pytest.raises(Unavailable):
        await house.kept(Given("new", "a1"), Given("other"))

    assert await house.pool.fetchval(ROWS) == ["new"]


async def test_without_a_vector_nothing_is_kept(house: House) -> None:
    """The record is not even asked."""
    house.embedder.error = RetrievalError("embedding")

    with pytest.raises(Unavailable):
        await house.kept(Given("a"))

    assert await house.pool.fetchval(ROWS) is None


async def test_a_removal_that_came_between_takes_it_along(house: House) -> None:
    """The point goes as the row went, and the writer is told."""

    class Removed(FakeShelves):
        """While the index writes, the text is deleted."""

        async def put(self, *args: object) -> None:
            """With what was there."""
            await super().put(*args)  # type: ignore[arg-type] # as given
            await house.pool.execute("DELETE FROM ibid.corpus_text")

    house.index = Removed()
    with pytest.raises(RemovedMeanwhile):
        await house.kept(Given("a"))

    assert house.index.texts == []


async def test_of_two_writers_the_record_s_last_word_is_found(house: House) -> None:
    """Also where the index is told of the older text later."""
    slow = asyncio.Event()

    class Slow(FakeShelves):
        """The first write waits."""

        async def put(self, scope: Scope, collection: str, texts: Sequence[Reference], *rest: Any) -> None:
            """Old words arrive after new ones."""
            if any(text.text == "old" for text in texts):
                await slow.wait()
            await super().put(scope, collection, texts, *rest)

    house.index = Slow()
    older = asyncio.create_task(house.kept(Given("old", "a1")))
    while not await house.pool.fetchval("SELECT count(*) FROM ibid.corpus_text"):  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await house.kept(Given("new", "a1"))
    slow.set()
    await older

    assert house.index.texts == ["new"]
    assert (
        await house.pool.fetchval("SELECT text FROM ibid.corpus_text WHERE indexed_at IS NOT NULL") == "new"
    )


async def test_a_removed_text_is_gone(house: House) -> None:
    """From the record and the index; a second time it is not there; its point may go later."""
    await house.kept(Given("a", "a1"), Given("b", "b1"))

    await house.service.remove(ACME, "sleep", "a1")
    assert house.index.texts == ["b"]
    assert await house.pool.fetchval("SELECT count(*) FROM ibid.corpus_text") == 1
    with pytest.raises(Missing):
        await house.service.remove(ACME, "sleep", "a1")

    house.index.error = Unavailable("down")
    await house.service.remove(ACME, "sleep", "b1")
    assert await house.pool.fetchval(ROWS) is None


async def test_a_collection_goes_with_its_last_text(house: House) -> None:
    """Not before; an index that cannot drop it keeps nobody from removing."""
    await house.kept(Given("a", "a1"), Given("b", "b1"))

    await house.service.remove(ACME, "sleep", "a1")
    assert house.index.dropped == []
    await house.service.remove(ACME, "sleep", "b1")
    assert house.index.dropped == ["sleep"]


async def test_a_collection_is_removed_whole(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tenant's texts, batch by batch; another tenant's stay, and the collection with them."""
    monkeypatch.setattr(module, "BATCH", 2)
    other = Scope("other")
    await house.kept(*(Given(f"text {n}") for n in range(5)))
    await house.kept(Given("theirs"), scope=other)

    await house.service.remove_all(ACME, "sleep")

    assert (house.index.texts, house.index.dropped) == (["theirs"], [])
    with pytest.raises(Missing):
        await house.service.remove_all(ACME, "sleep")
    with pytest.raises(Forbidden):
        await house.service.remove_all(Scope("other", "ada", "ada"), "sleep")
    await house.service.remove_all(other, "sleep")
    assert (house.index.texts, house.index.dropped) == ([], ["sleep"])
