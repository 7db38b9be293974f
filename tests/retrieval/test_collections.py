"""Which collections there are: remembered for a while, forgotten when somebody knows better."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from app.errors import RetrievalError, Unavailable
from app.retrieval.retrievers.points import DENSE, Collection, Point, Where
from app.retrieval.retrievers.qdrant import SECONDS, CollectionCache, PayloadIndexes, Qdrant, fits
from app.types import Embedding
from tests.fakes.filing import SPACE

FIELDS = PayloadIndexes(keys=("kind",), tenants=("tenant",), times=("created_at",))


@dataclass
class Engine(Qdrant):
    """As far as it is asked here; counts what it is asked."""

    embedded = True

    listed: list[Collection] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: list[RetrievalError] = field(default_factory=list)
    """Raised by the next writes, one each."""

    async def collections(self) -> list[Collection]:
        """After a moment."""
        self.calls.append("collections")
        listed = list(self.listed)
        await asyncio.sleep(0)
        return listed

    async def count(self, name: str, where: Where) -> int:
        """Always seven."""
        self.calls.append("count")
        return 7

    async def create(self, name: str, dim: int, **fields: Sequence[str]) -> None:
        """One more."""
        self.calls.append("create")
        assert fields == {"keys": ("kind",), "tenants": ("tenant",), "times": ("created_at",)}
        self.listed.append(Collection(name, dim, DENSE))

    async def put(self, name: str, points: Sequence[Point]) -> None:
        """Unless it fails."""
        self.calls.append("put")
        if self.faults:
            raise self.faults.pop(0)

    async def drop(self, name: str) -> None:
        """Not asked here."""
        raise NotImplementedError

    async def remove(self, name: str, where: Where) -> None:
        """Not asked here."""
        raise NotImplementedError

    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        """Not asked here."""
        raise NotImplementedError

    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        """Not asked here."""
        raise NotImplementedError

    async def compact(self, name: str) -> None:
        """Not asked here."""
        raise NotImplementedError

    async def check(self) -> Mapping[str, str | int | float]:
        """Not asked here."""
        raise NotImplementedError

    async def close(self) -> None:
        """Not asked here."""


async def test_the_list_is_asked_for_once_in_a_while() -> None:
    """By however many at once; again when its time is up."""
    now, engine = [0.0], Engine([Collection("a", 32)])
    catalogue = CollectionCache(engine, clock=lambda: now[0])
    found = await asyncio.gather(*(catalogue.all() for _ in range(5)))
    assert all([*each] == ["a"] for each in found)
    now[0] = SECONDS - 1
    await catalogue.get("a")
    assert engine.calls == ["collections"]
    now[0] = SECONDS
    await catalogue.get("a")
    assert engine.calls == ["collections"] * 2


async def test_what_is_forgotten_is_asked_for_anew() -> None:
    """Whoever asks after it is, though a list is under way, which another waits for."""
    engine = Engine()
    catalogue = CollectionCache(engine)
    asking = asyncio.create_task(catalogue.get("a"))
    await asyncio.sleep(0)
    engine.listed.append(Collection("a", 32))
    catalogue.forget()
    assert await catalogue.get("a") == Collection("a", 32)
    assert await asking is None
    assert engine.calls == ["collections", "collections"]


async def test_whoever_asks_is_told_however_often_it_is_forgotten() -> None:
    """A list begun after the question is new enough: forgetting faster than listing starves nobody."""
    engine = Engine([Collection("a", 32)])
    catalogue = CollectionCache(engine)

    async def listed() -> list[Collection]:
        engine.calls.append("collections")
        await asyncio.sleep(0)
        catalogue.forget()
        return engine.listed

    engine.collections = listed  # type: ignore[method-assign]
    async with asyncio.timeout(1):
        assert await catalogue.get("a")
    assert engine.calls == ["collections"]


async def test_those_who_wait_share_the_next_list() -> None:
    """However many came before it was begun."""
    engine = Engine()
    catalogue = CollectionCache(engine)
    first = asyncio.create_task(catalogue.all())
    await asyncio.sleep(0)
    catalogue.forget()
    await asyncio.gather(*(catalogue.all() for _ in range(5)))
    await first
    assert engine.calls == ["collections"] * 2


async def test_a_missing_collection_is_made_and_seen() -> None:
    """With its fields; the second write finds it."""
    engine = Engine()
    catalogue = CollectionCache(engine)
    await catalogue.put("a", SPACE, FIELDS, [])
    await catalogue.put("a", SPACE, FIELDS, [])
    assert engine.calls == ["collections", "create", "put", "collections", "put"]


async def test_one_that_went_missing_is_made_again() -> None:
    """The list said it was there; the engine knows better."""
    engine = Engine([Collection("a", 32)], faults=[RetrievalError("unavailable", rejected=True)])
    await CollectionCache(engine).put("a", SPACE, FIELDS, [])
    assert engine.calls == ["collections", "put", "create", "put"]


async def test_a_write_that_fails_is_unavailable() -> None:
    """What costs a search its passages costs a write itself; and what was known is doubtful."""
    engine = Engine([Collection("a", 32)], faults=[RetrievalError("timeout")])
    catalogue = CollectionCache(engine)
    with pytest.raises(Unavailable) as raised:
        await catalogue.put("a", SPACE, FIELDS, [])
    assert raised.value.retry_after
    await catalogue.all()
    assert engine.calls == ["collections", "put", "collections"]


@pytest.mark.parametrize(
    ("shape", "fit"),
    [
        (Collection("a", 32), True),
        (Collection("a", 16), False),
        (Collection("a", 32, cosine=False), False),
    ],
    ids=["ours", "another size", "another distance"],
)
async def test_only_vectors_of_the_space_fit(shape: Collection, fit: bool) -> None:
    """Others are not compared, and nothing is written among them."""
    assert fits(shape, SPACE) is fit
    writing = CollectionCache(Engine([shape])).put("a", SPACE, FIELDS, [])
    if fit:
        await writing
    else:
        with pytest.raises(Unavailable, match="another space"):
            await writing
