"""The write side of the corpus, on a real record."""

from dataclasses import dataclass, field

import pytest

from app.db.corpus import CorpusStore, ReferenceDraft
from app.db.pool import Pool
from app.errors import Forbidden, Missing, RetrievalError, Unavailable
from app.services.corpus import CorpusService
from app.types import Scope
from tests.fakes.answering import Words
from tests.fakes.services import FakeVectors

ACME = Scope("acme")
ROWS = "SELECT array_agg(text ORDER BY text) FROM ibid.corpus_text"


@dataclass
class House:
    pool: Pool
    embedder: FakeVectors = field(default_factory=FakeVectors)

    @property
    def service(self) -> CorpusService:
        return CorpusService(CorpusStore(self.pool), self.embedder, Words())

    async def texts(self) -> list[str]:
        return await self.pool.fetchval(ROWS) or []

    async def kept(self, *texts: ReferenceDraft, scope: Scope = ACME) -> list[bool]:
        return [fresh for _, fresh in await self.service.keep(scope, "sleep", texts)]


@pytest.fixture
def house(pool: Pool) -> House:
    return House(pool)


async def test_what_is_acknowledged_is_kept_and_found(house: House) -> None:
    ((text, fresh),) = await house.service.keep(
        ACME, "sleep", [ReferenceDraft("Keep the hours", "a1", "Hygiene of sleep")]
    )

    assert fresh
    assert text.tokens == 3
    assert await house.texts() == ["Keep the hours"]
    assert house.embedder.asked == ["Hygiene of sleep\nKeep the hours"]
    (shelf,) = await house.service.collections(ACME)
    assert (shelf.collection, shelf.texts, shelf.tokens) == ("sleep", 1, 3)


async def test_an_id_again_replaces(house: House) -> None:
    assert await house.kept(ReferenceDraft("old", "a1")) == [True]
    assert await house.kept(
        ReferenceDraft("new", "a1"), ReferenceDraft("newest", "a1"), ReferenceDraft("other")
    ) == [False, False, True]

    assert await house.texts() == ["newest", "other"]


async def test_a_user_key_reads_and_does_not_write(house: House) -> None:
    ada = Scope("acme", "ada", "ada")
    await house.kept(ReferenceDraft("a", "a1"))

    with pytest.raises(Forbidden):
        await house.kept(ReferenceDraft("b"), scope=ada)
    with pytest.raises(Forbidden):
        await house.service.remove(ada, "sleep", "a1")
    assert len(await house.service.collections(ada)) == 1


async def test_without_a_vector_nothing_is_kept(house: House) -> None:
    house.embedder.error = RetrievalError("embedding")

    with pytest.raises(Unavailable):
        await house.kept(ReferenceDraft("a"))

    assert await house.pool.fetchval(ROWS) is None


async def test_a_removed_text_is_gone(house: House) -> None:
    await house.kept(ReferenceDraft("a", "a1"), ReferenceDraft("b", "b1"))

    await house.service.remove(ACME, "sleep", "a1")
    assert await house.texts() == ["b"]
    with pytest.raises(Missing):
        await house.service.remove(ACME, "sleep", "a1")


async def test_a_collection_is_removed_whole(house: House) -> None:
    other = Scope("other")
    await house.kept(*(ReferenceDraft(f"text {n}") for n in range(5)))
    await house.kept(ReferenceDraft("theirs"), scope=other)

    await house.service.remove_all(ACME, "sleep")

    assert await house.texts() == ["theirs"]
    with pytest.raises(Missing):
        await house.service.remove_all(ACME, "sleep")
    with pytest.raises(Forbidden):
        await house.service.remove_all(Scope("other", "ada", "ada"), "sleep")
    await house.service.remove_all(other, "sleep")
    assert await house.texts() == []
