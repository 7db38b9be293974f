"""Qdrant as the settings name it: deadlines, the breaker, the child process, the cache of collections."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app.breaker import Breaker
from app.child import Call
from app.errors import NoRoom, RetrievalError, StartError, Unavailable
from app.process import Child
from app.retrieval.retrievers import qdrant as module
from app.retrieval.retrievers import qdrant_engine
from app.retrieval.retrievers import qdrant_server as server_module
from app.retrieval.retrievers.points import DENSE, Collection, Point, Where
from app.retrieval.retrievers.qdrant import (
    SECONDS,
    CollectionCache,
    PayloadIndexes,
    Qdrant,
    QdrantProcess,
    fits,
    greet,
    open_points,
    too_old,
)
from app.retrieval.retrievers.qdrant_engine import EmbeddedQdrant, answer
from app.settings import QdrantSettings, Settings
from app.types import Embedding
from tests.fakes.filing import SPACE
from tests.fakes.logged import captured
from tests.fakes.points import DIM, embedding, point
from tests.fakes.qdrant import Fault, QdrantServer, qdrant_server
from tests.retrieval.test_qdrant_engine import DAMAGES, inside, stored

NAME = "memory_raw"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantServer]:
    with qdrant_server(tmp_path / "qdrant", key="secret") as running:
        yield running


async def nearest(points: Qdrant) -> list[Point]:
    return await points.search(NAME, Where(), embedding(1), 5)


def at(server: QdrantServer) -> Settings:
    return Settings(qdrant=QdrantSettings(url=server.url, api_key=SecretStr("secret")))


def eager(points: Qdrant) -> None:
    """Open at the third failure, for a moment."""
    points.breaker = Breaker(time.monotonic, seconds=0.3)


async def reason(points: Qdrant) -> str:
    with pytest.raises(RetrievalError) as caught:
        await nearest(points)
    return caught.value.reason


async def test_an_address_that_is_none_stops_the_start() -> None:
    with pytest.raises(StartError, match="QDRANT_URL"):
        async with open_points(Settings(qdrant=QdrantSettings(url="http://127.0.0.1:port"))):
            pass


async def test_a_server_need_not_be_there_yet(server: QdrantServer) -> None:
    """The service starts, and finds it later."""
    server.stop()
    async with open_points(at(server)) as points:
        assert not points.embedded
        assert await reason(points) == "unavailable"
        server.start()
        await points.create(NAME, DIM)
        await points.put(NAME, [point(1)])
        assert len(await nearest(points)) == 1


async def test_a_server_that_hangs_costs_a_deadline_and_then_nothing(
    server: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After three that waited nobody waits, until one finds it well again."""
    monkeypatch.setattr(server_module, "READ_SECONDS", 0.2)
    async with open_points(at(server)) as points:
        eager(points)
        await points.create(NAME, DIM)
        await nearest(points)
        server.fault = Fault(delay=30)
        assert [await reason(points) for _ in range(3)] == ["timeout"] * 3
        asked = len(server.requests)
        assert await reason(points) == "unavailable"
        assert len(server.requests) == asked
        server.fault = Fault()
        await asyncio.sleep(0.35)
        assert await nearest(points) == []
        assert points.breaker.closed


@pytest.mark.parametrize("fault", [Fault(status=404), Fault(status=429), Fault(status=403)], ids=str)
async def test_what_is_refused_is_no_failure(server: QdrantServer, fault: Fault) -> None:
    """A collection that is gone, a busy server, a wrong key: the others are asked on."""
    async with open_points(at(server)) as points:
        eager(points)
        server.fault = fault
        for _ in range(5):
            with suppress(RetrievalError):
                await nearest(points)
        assert points.breaker.closed


@pytest.mark.parametrize(
    ("version", "old"),
    [("1.18.3", True), ("v1.9.0", True), ("1.19.0", False), ("v2.0.1-dev", False), ("unknown", False)],
)
def test_a_version_is_held_against_the_oldest(version: str, *, old: bool) -> None:
    """By numbers; one that cannot be read is nobody's fault."""
    assert bool(too_old(version)) == old


async def test_a_server_that_is_too_old_is_greeted_with_a_warning(
    server: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once; one that is not there with nothing."""
    monkeypatch.setattr(module, "OLDEST", (1, 21))
    with captured() as logged:
        async with open_points(at(server)) as points:
            await greet(points)
            server.fault = Fault(status=500)
            await greet(points)
    assert len(logged.of("qdrant is too old")) == 1


EVERY = Where()


async def search_of(engine: QdrantProcess) -> list[Point]:
    return await engine.search(NAME, EVERY, embedding(1), 5)


async def fill(engine: QdrantProcess, name: str = NAME) -> None:
    await engine.create(name, DIM)
    await engine.put(name, [point(n) for n in range(20)])


async def names(engine: QdrantProcess) -> list[str]:
    return [each.name for each in await engine.collections()]


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[QdrantProcess]:
    async with QdrantProcess(tmp_path) as engine:
        await fill(engine)
        yield engine


async def dies(engine: QdrantProcess, number: int) -> Child:
    """The child dies of a signal while it is asked for the nearest points of one collection."""
    child = await engine.process.child()
    os.kill(child.pid, signal.SIGSTOP)
    asked = asyncio.create_task(search_of(engine))
    await asyncio.sleep(0.05)
    os.kill(child.pid, number)
    os.kill(child.pid, signal.SIGCONT)
    with pytest.raises(RetrievalError) as caught:
        await asked
    assert (caught.value.reason, caught.value.rejected) == ("unavailable", False)
    return child


async def test_a_child_that_is_killed_is_replaced_at_the_next_call(engine: QdrantProcess) -> None:
    """What was acknowledged is there, nothing is put aside, and it is logged."""
    told: list[str] = []
    engine.on_files_lost(told.append)
    with captured() as lines:
        first = await dies(engine, signal.SIGKILL)
        for _ in range(3):
            assert len(await search_of(engine)) == 5
            await dies(engine, signal.SIGKILL)
    assert (await engine.process.child()).pid != first.pid
    assert await engine.count(NAME, EVERY) == 20
    assert told == []
    assert {line["detail"] for line in lines.of("child_ended")} == {"its process ended with -9"}


async def test_a_collection_that_keeps_crashing_it_is_put_aside(
    engine: QdrantProcess, tmp_path: Path
) -> None:
    """Once may be chance; after the second time within minutes it is missing, told of, and can be filled
    anew. The others stay."""
    await fill(engine, "other")
    told: list[str] = []
    engine.on_files_lost(told.append)
    await dies(engine, signal.SIGSEGV)
    assert len(await search_of(engine)) == 5
    await dies(engine, signal.SIGSEGV)
    assert await names(engine) == ["other"]
    assert told == [NAME]
    place = qdrant_engine.folder_of(tmp_path, NAME)
    assert place.with_name(place.name + qdrant_engine.ASIDE).is_dir()
    await fill(engine)
    await dies(engine, signal.SIGSEGV)
    assert len(await search_of(engine)) == 5
    assert told == [NAME]


async def test_who_only_looks_puts_nothing_aside(tmp_path: Path) -> None:
    """Whatever crashes, or cannot be read; the damage is told."""
    place, told = stored(tmp_path), list[str]()
    DAMAGES["log"](qdrant_engine.folder_of(tmp_path, "other"))
    before = sorted(inside(tmp_path))
    async with QdrantProcess(tmp_path, read_only=True) as engine:
        engine.on_files_lost(told.append)
        for _ in range(3):
            await dies(engine, signal.SIGSEGV)
        assert await names(engine) == [NAME]
    assert told == ["other"]
    assert place.is_dir()
    assert sorted(inside(tmp_path)) == before


async def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """At every call; nothing is started again and again."""
    (tmp_path / "qdrant").touch()
    async with QdrantProcess(tmp_path / "qdrant" / "below") as engine:
        with pytest.raises(RetrievalError, match="unavailable"):
            await fill(engine)


async def test_many_at_once_are_answered(engine: QdrantProcess) -> None:
    """Each, and a write in between is not refused."""
    asked = [asyncio.create_task(search_of(engine)) for _ in range(200)]
    counts = [asyncio.create_task(engine.count(NAME, EVERY)) for _ in range(100)]
    await engine.put(NAME, [point(1)])
    assert {len(found) for found in await asyncio.gather(*asked)} == {5}
    assert set(await asyncio.gather(*counts)) == {20}


class Heard(Call):
    def __init__(self, name: str, payload: dict[str, Any]) -> None:
        self.name, self.payload, self.data = name, payload, bytearray()
        self.faults: list[Mapping[str, Any]] = []

    def fail(self, payload: Mapping[str, Any]) -> None:
        self.faults.append(payload)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (NoRoom("no room"), "full"),
        (OSError(28, "full"), "full"),
        (OSError(13, "rights"), "unavailable"),
        (RetrievalError("unavailable", rejected=True), "rejected"),
    ],
    ids=str,
)
def test_what_fails_is_told_apart(
    error: Exception, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that found no room, another fault of the disk, a refusal."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(EmbeddedQdrant, "drop", fail)
    call = Heard("drop", {"name": NAME})
    answer(EmbeddedQdrant(tmp_path), call)
    assert [told["fault"] for told in call.faults] == [fault]


FIELDS = PayloadIndexes(keys=("kind",), tenants=("tenant",), times=("created_at",))


@dataclass
class CountingEngine(Qdrant):
    """As far as it is asked here; counts what it is asked."""

    embedded = True

    listed: list[Collection] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    faults: list[RetrievalError] = field(default_factory=list)
    """Raised by the next writes, one each."""

    async def collections(self) -> list[Collection]:
        self.calls.append("collections")
        listed = list(self.listed)
        await asyncio.sleep(0)
        return listed

    async def count(self, name: str, where: Where) -> int:
        self.calls.append("count")
        return 7

    async def create(self, name: str, dim: int, **fields: Sequence[str]) -> None:
        self.calls.append("create")
        assert fields == {"keys": ("kind",), "tenants": ("tenant",), "times": ("created_at",)}
        self.listed.append(Collection(name, dim, DENSE))

    async def put(self, name: str, points: Sequence[Point]) -> None:
        self.calls.append("put")
        if self.faults:
            raise self.faults.pop(0)

    async def drop(self, name: str) -> None:
        raise NotImplementedError

    async def remove(self, name: str, where: Where) -> None:
        raise NotImplementedError

    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        raise NotImplementedError

    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        raise NotImplementedError

    async def compact(self, name: str) -> None:
        raise NotImplementedError

    async def check(self) -> Mapping[str, str | int | float]:
        raise NotImplementedError

    async def close(self) -> None:
        """Not asked here."""


async def test_the_list_is_asked_for_once_in_a_while() -> None:
    """By however many at once; again when its time is up."""
    now, engine = [0.0], CountingEngine([Collection("a", 32)])
    catalogue = CollectionCache(engine, clock=lambda: now[0])
    found = await asyncio.gather(*(catalogue.all() for _ in range(5)))
    assert all([*each] == ["a"] for each in found)
    now[0] = SECONDS - 1
    await catalogue.get("a")
    assert engine.calls == ["collections"]
    now[0] = SECONDS
    await catalogue.get("a")
    assert engine.calls == ["collections"] * 2


async def test_whoever_asks_is_told_however_often_it_is_forgotten() -> None:
    """A list begun after the question is new enough: forgetting faster than listing starves nobody."""
    engine = CountingEngine([Collection("a", 32)])
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


async def test_one_that_went_missing_is_made_again() -> None:
    """The list said it was there; the engine knows better."""
    engine = CountingEngine([Collection("a", 32)], faults=[RetrievalError("unavailable", rejected=True)])
    await CollectionCache(engine).put("a", SPACE, FIELDS, [])
    assert engine.calls == ["collections", "put", "create", "put"]


async def test_a_write_that_fails_is_unavailable() -> None:
    """What costs a search its passages costs a write itself; and what was known is doubtful."""
    engine = CountingEngine([Collection("a", 32)], faults=[RetrievalError("timeout")])
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
    writing = CollectionCache(CountingEngine([shape])).put("a", SPACE, FIELDS, [])
    if fit:
        await writing
    else:
        with pytest.raises(Unavailable, match="another space"):
            await writing
