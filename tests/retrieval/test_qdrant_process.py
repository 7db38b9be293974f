"""The embedded Qdrant's process: whatever becomes of the child or its files, the service goes on. How
processes live and end in general: tests/test_process.py."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from app import process
from app.child import Call
from app.errors import NoRoom, RetrievalError
from app.process import Child
from app.retrieval.retrievers import qdrant as module
from app.retrieval.retrievers import qdrant_engine
from app.retrieval.retrievers.points import Point, Where
from app.retrieval.retrievers.qdrant import QdrantProcess
from app.retrieval.retrievers.qdrant_engine import Engine, answer
from tests.fakes.logged import captured
from tests.fakes.points import DIM, embedding, point
from tests.retrieval.test_qdrant_engine import DAMAGES, inside, stored

NAME = "memory_raw"
EVERY = Where()


async def nearest(engine: QdrantProcess) -> list[Point]:
    """Five points."""
    return await engine.search(NAME, EVERY, embedding(1), 5)


async def fill(engine: QdrantProcess, name: str = NAME) -> None:
    """A collection of twenty points."""
    await engine.create(name, DIM)
    await engine.put(name, [point(n) for n in range(20)])


async def names(engine: QdrantProcess) -> list[str]:
    """Of its collections."""
    return [each.name for each in await engine.collections()]


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[QdrantProcess]:
    """Open, with one collection."""
    async with QdrantProcess(tmp_path) as engine:
        await fill(engine)
        yield engine


async def dies(engine: QdrantProcess, number: int) -> Child:
    """The child dies of a signal while it is asked for the nearest points of one collection."""
    child = await engine.process.child()
    os.kill(child.pid, signal.SIGSTOP)
    asked = asyncio.create_task(nearest(engine))
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
    engine.on_set_aside(told.append)
    with captured() as lines:
        first = await dies(engine, signal.SIGKILL)
        for _ in range(3):
            assert len(await nearest(engine)) == 5
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
    engine.on_set_aside(told.append)
    await dies(engine, signal.SIGSEGV)
    assert len(await nearest(engine)) == 5
    await dies(engine, signal.SIGSEGV)
    assert await names(engine) == ["other"]
    assert told == [NAME]
    place = qdrant_engine.folder_of(tmp_path, NAME)
    assert place.with_name(place.name + qdrant_engine.ASIDE).is_dir()
    await fill(engine)
    await dies(engine, signal.SIGSEGV)
    assert len(await nearest(engine)) == 5
    assert told == [NAME]


async def test_crashes_long_apart_are_chance(engine: QdrantProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is put aside."""
    monkeypatch.setattr(process, "SUSPECT_SECONDS", 0.0)
    for _ in range(3):
        await dies(engine, signal.SIGSEGV)
    assert len(await nearest(engine)) == 5


async def test_who_only_looks_puts_nothing_aside(tmp_path: Path) -> None:
    """Whatever crashes, or cannot be read; the damage is told."""
    place, told = stored(tmp_path), list[str]()
    DAMAGES["log"](qdrant_engine.folder_of(tmp_path, "other"))
    before = sorted(inside(tmp_path))
    async with QdrantProcess(tmp_path, read_only=True) as engine:
        engine.on_set_aside(told.append)
        for _ in range(3):
            await dies(engine, signal.SIGSEGV)
        assert await names(engine) == [NAME]
    assert told == ["other"]
    assert place.is_dir()
    assert sorted(inside(tmp_path)) == before


async def test_who_comes_late_is_told_too(tmp_path: Path) -> None:
    """What was put aside before anybody asked to be told."""
    DAMAGES["segment"](stored(tmp_path))
    told: list[str] = []
    async with QdrantProcess(tmp_path) as engine:
        assert await names(engine) == ["other"]
        engine.on_set_aside(told.append)
    assert told == [NAME]


async def test_a_call_that_hangs_is_lost_and_so_is_its_child(
    engine: QdrantProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks next has another; who gave up earlier waits for nothing."""
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.2)
    os.kill((await engine.process.child()).pid, signal.SIGSTOP)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await nearest(engine)
    with pytest.raises(RetrievalError, match="unavailable"):
        await nearest(engine)
    monkeypatch.undo()
    assert len(await nearest(engine)) == 5


async def test_a_collection_that_keeps_hanging_is_put_aside(
    engine: QdrantProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that were asked for later are not to blame."""
    await fill(engine, "other")
    told: list[str] = []
    engine.on_set_aside(told.append)
    for _ in range(2):
        child = await engine.process.child()
        os.kill(child.pid, signal.SIGSTOP)
        with monkeypatch.context() as patch:
            patch.setattr(module, "ANSWER_SECONDS", 0.2)
            first = asyncio.create_task(nearest(engine))
            await asyncio.sleep(0)
        later = asyncio.create_task(engine.count("other", EVERY))
        for call in (first, later):
            with pytest.raises(RetrievalError, match="unavailable"):
                await call
    assert await names(engine) == ["other"]
    assert told == [NAME]


async def test_who_gave_up_before_the_crash_is_remembered(engine: QdrantProcess) -> None:
    """The child still works on what was asked for."""
    told: list[str] = []
    engine.on_set_aside(told.append)
    for _ in range(2):
        child = await engine.process.child()
        os.kill(child.pid, signal.SIGSTOP)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await nearest(engine)
        os.kill(child.pid, signal.SIGSEGV)
        os.kill(child.pid, signal.SIGCONT)
        await child.exited()
    assert await names(engine) == []
    assert told == [NAME]


async def test_a_folder_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    """At every call; nothing is started again and again."""
    (tmp_path / "qdrant").touch()
    async with QdrantProcess(tmp_path / "qdrant" / "below") as engine:
        with pytest.raises(RetrievalError, match="unavailable"):
            await fill(engine)


async def test_many_at_once_are_answered(engine: QdrantProcess) -> None:
    """Each, and a write in between is not refused."""
    asked = [asyncio.create_task(nearest(engine)) for _ in range(200)]
    counts = [asyncio.create_task(engine.count(NAME, EVERY)) for _ in range(100)]
    await engine.put(NAME, [point(1)])
    assert {len(found) for found in await asyncio.gather(*asked)} == {5}
    assert set(await asyncio.gather(*counts)) == {20}


async def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    """With its fields, under names of any kind."""
    async with QdrantProcess(tmp_path) as engine:
        await engine.create("\ud800/..", DIM, keys=("kind",), tenants=("user_id",), times=("created_at",))
        await engine.put("\ud800/..", [point(1)])
    async with QdrantProcess(tmp_path) as engine:
        assert await engine.scroll("\ud800/..", EVERY, limit=9, vectors=True) == [point(1)]


class Heard(Call):
    """A call whose answer is kept."""

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

    monkeypatch.setattr(Engine, "drop", fail)
    call = Heard("drop", {"name": NAME})
    answer(Engine(tmp_path), call)
    assert [told["fault"] for told in call.faults] == [fault]
