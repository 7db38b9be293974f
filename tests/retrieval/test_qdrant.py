"""Qdrant as the settings name it: deadlines, the breaker, the probe."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.breaker import Breaker
from app.errors import RetrievalError, StartError
from app.retrieval.retrievers import qdrant as module
from app.retrieval.retrievers import qdrant_server as server_module
from app.retrieval.retrievers.points import Point, Where
from app.retrieval.retrievers.qdrant import Qdrant, greet, open_points, too_old
from app.retrieval.retrievers.qdrant_engine import folder_of
from app.settings import Ibid, Settings
from app.settings import Qdrant as Named
from tests.fakes.logged import captured
from tests.fakes.points import DIM, embedding, point
from tests.fakes.qdrant import Fault, QdrantServer, qdrant_server

NAME = "memory_raw"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantServer]:
    """A test's own."""
    with qdrant_server(tmp_path / "qdrant", key="secret") as running:
        yield running


async def nearest(points: Qdrant) -> list[Point]:
    """A search."""
    return await points.search(NAME, Where(), embedding(1), 5)


def at(server: QdrantServer) -> Settings:
    """Settings that name it."""
    return Settings(qdrant=Named(url=server.url, api_key=SecretStr("secret")))


def eager(points: Qdrant) -> None:
    """Open at the third failure, for a moment."""
    points.breaker = Breaker(time.monotonic, seconds=0.3)


async def reason(points: Qdrant) -> str:
    """What a search says."""
    with pytest.raises(RetrievalError) as caught:
        await nearest(points)
    return caught.value.reason


async def test_nothing_set_is_embedded_under_the_data_folder(tmp_path: Path) -> None:
    """By its own engine."""
    async with open_points(Settings(ibid=Ibid(data_dir=tmp_path))) as points:
        await points.create(NAME, DIM)
        assert points.embedded
        assert folder_of(tmp_path / "qdrant", NAME).is_dir()


def test_who_needs_no_server_does_without_its_client() -> None:
    """It takes two seconds and 100 MB."""
    code = "import sys, app.wiring, app.retrieval.retrievers.qdrant; sys.exit('qdrant_client' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_an_address_that_is_none_stops_the_start() -> None:
    """With the setting's name."""
    with pytest.raises(StartError, match="QDRANT_URL"):
        async with open_points(Settings(qdrant=Named(url="redis://127.0.0.1:1"))):
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


async def test_who_leaves_says_nothing_of_it(server: QdrantServer) -> None:
    """Clients that go away close it to nobody; cancellation passes through."""
    async with open_points(at(server)) as points:
        eager(points)
        server.fault = Fault(delay=30)
        leaving = [asyncio.create_task(nearest(points)) for _ in range(5)]
        await asyncio.sleep(0.1)
        for task in leaving:
            task.cancel()
        await asyncio.wait(leaving)
        assert all(task.cancelled() for task in leaving)
        assert points.breaker.closed


async def test_the_probe_asks_whatever_the_breaker_says(server: QdrantServer) -> None:
    """And an answer closes it."""
    async with open_points(at(server)) as points:
        eager(points)
        server.stop()
        assert points.name == "qdrant"
        for _ in range(4):
            with pytest.raises(RetrievalError):
                await points.check()
        assert points.breaker.refuses
        server.start()
        assert await points.check() == {"server": "qdrant", "version": "1.20.0"}
        assert points.breaker.closed


async def test_every_call_goes_through(tmp_path: Path) -> None:
    """With what it was given, and what came."""
    async with open_points(Settings(ibid=Ibid(data_dir=tmp_path))) as points:
        told: list[str] = []
        points.on_set_aside(told.append)
        await points.create(NAME, DIM, keys=("kind",), tenants=("user_id",), times=("created_at",))
        await points.put(NAME, [point(1), point(2)])
        await points.remove(NAME, Where(ids=(point(2).id,)))
        await points.compact(NAME)
        assert await points.count(NAME, Where()) == 1
        assert await points.scroll(NAME, Where(), limit=5, vectors=True) == [point(1)]
        assert [each.points for each in await points.collections()] == [1]
        await points.drop(NAME)
        assert await points.collections() == []
        assert told == []


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
