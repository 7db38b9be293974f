"""The embedded engine: what becomes of broken files, of hung calls, of a crash, and of the loop meanwhile."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.clients import drawer
from app.clients import edge as module
from app.clients import threads as pool
from app.clients.broken import Broken
from app.clients.edge import Edge, open_edge
from app.clients.points import Point, Where
from app.clients.shard import Shard
from app.domain.errors import RetrievalError
from tests.fakes.points import DIM, embedding, ids, point

NAME = "memory_raw"
EVERY = Where()


async def nearest(edge: Edge) -> list[Point]:
    """Five points."""
    return await edge.search(NAME, EVERY, embedding(1), 5)


@pytest.fixture
async def edge(tmp_path: Path) -> AsyncIterator[Edge]:
    """Open, with one collection of twenty points."""
    async with open_edge(tmp_path / "qdrant") as opened:
        await opened.create(NAME, DIM)
        await opened.put(NAME, [point(n) for n in range(20)])
        yield opened


async def stored(root: Path) -> Path:
    """A closed engine's folder with two collections; the folder of one."""
    async with open_edge(root) as opened:
        for name in (NAME, "other"):
            await opened.create(name, DIM)
            await opened.put(name, [point(n) for n in range(20)])
    return drawer.drawer(root, NAME)


def inside(folder: Path) -> list[Path]:
    """What is in a folder."""
    return list(folder.iterdir())


async def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    """Whatever the collections are called."""
    names = ["", "..", "a/../../b", "CON", "Notes", "notes", "n" * 3_000, "\ud800"]
    async with open_edge(tmp_path / "qdrant") as opened:
        for n, name in enumerate(names):
            await opened.create(name, DIM)
            await opened.put(name, [point(n)])
    assert [each.name for each in inside(tmp_path)] == ["qdrant"]
    async with open_edge(tmp_path / "qdrant") as opened:
        assert [each.name for each in await opened.collections()] == sorted(names)
        for n, name in enumerate(names):
            assert ids(await opened.scroll(name, EVERY, limit=9)) == [point(n).id]


def only(place: Path, pattern: str) -> Path:
    """The one file of that name."""
    [found] = place.rglob(pattern)
    return found


def emptied(pattern: str) -> Callable[[Path], object]:
    """A damage: the file is there and has nothing."""
    return lambda place: os.truncate(only(place, pattern), 0)


DAMAGES: Mapping[str, Callable[[Path], object]] = {
    "segment": emptied("segment.json"),
    "config": emptied("edge_config.json"),
    "log": emptied("first-index"),
    "flags": emptied("vector_storage-meaning/deleted/status.dat"),  # the engine panics
    "vectors": emptied("vector_storage-meaning/vectors/chunk_0.mmap"),  # found when searched
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_files_that_cannot_be_read_are_put_aside(tmp_path: Path, damage: str) -> None:
    """It is told by name, missing from then on, and can be written anew; the others are as they were."""
    place = await stored(tmp_path)
    DAMAGES[damage](place)
    told: list[str] = []
    async with open_edge(tmp_path) as opened:
        opened.renewed = told.append
        with pytest.raises(RetrievalError):
            await nearest(opened)
        with pytest.raises(RetrievalError) as caught:
            await nearest(opened)
        assert caught.value.rejected
        assert told == [NAME]
        assert place.with_name(place.name + drawer.ASIDE).is_dir()
        assert [each.name for each in await opened.collections()] == ["other"]

        await opened.create(NAME, DIM)
        await opened.put(NAME, [point(n) for n in range(20)])
        assert len(await nearest(opened)) == 5
        await opened.compact(NAME)
        assert not place.with_name(place.name + drawer.ASIDE).exists()
        assert told == [NAME]


async def test_who_only_looks_puts_nothing_aside(tmp_path: Path) -> None:
    """It is told, again each time, and what a crash left stays for a start to sweep."""
    place = await stored(tmp_path)
    DAMAGES["log"](place)
    (tmp_path / f"half{drawer.GONE}").mkdir()
    before, told = sorted(inside(tmp_path)), list[str]()
    async with open_edge(tmp_path, look=True) as opened:
        opened.renewed = told.append
        for _ in range(2):
            assert [each.name for each in await opened.collections()] == ["other"]
    assert told == [NAME, NAME]
    assert sorted(inside(tmp_path)) == before


async def test_a_page_that_is_gone_costs_its_collection(tmp_path: Path) -> None:
    """Nobody knows its name any more until it is created again; its files are put aside then."""
    place = await stored(tmp_path)
    (place / drawer.PAGE).unlink()
    async with open_edge(tmp_path) as opened:
        assert [each.name for each in await opened.collections()] == ["other"]
        await opened.create(NAME, DIM)
        assert await opened.count(NAME, EVERY) == 0
        assert place.with_name(place.name + drawer.ASIDE).is_dir()


async def test_who_comes_late_is_told_too(tmp_path: Path) -> None:
    """What was put aside before anybody asked to be told."""
    DAMAGES["segment"](await stored(tmp_path))
    told: list[str] = []
    async with open_edge(tmp_path) as opened:
        await opened.collections()
        opened.renewed = told.append
        await opened.collections()
    assert told == [NAME]


async def test_a_full_disk_puts_nothing_aside(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do too many open files: it is tried again by the next."""

    def full(*_: object, **__: object) -> object:
        raise Broken("IO Error: No space left on device (os error 28)")

    with monkeypatch.context() as patch:
        patch.setattr(Shard, "search", full)
        for _ in range(3):
            with pytest.raises(RetrievalError) as caught:
                await nearest(edge)
            assert not caught.value.rejected
    assert len(await nearest(edge)) == 5


async def test_what_fails_once_is_tried_on_files_read_anew(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A moment's fault loses nothing."""
    search, fails = Shard.search, [True]

    def once(self: Shard, *asked: Any, **also: Any) -> object:
        if fails and fails.pop():
            raise Broken("a moment's fault")
        return search(self, *asked, **also)

    monkeypatch.setattr(Shard, "search", once)
    assert len(await nearest(edge)) == 5
    assert await edge.count(NAME, EVERY) == 20


async def test_what_a_crash_left_of_a_compaction_is_swept(tmp_path: Path) -> None:
    """The old files count until the new ones are whole."""
    place = await stored(tmp_path)
    (place / "2" / "wal").mkdir(parents=True)
    async with open_edge(tmp_path) as opened:
        assert not (place / "2").exists()
        assert await opened.count(NAME, EVERY) == 20
        await opened.compact(NAME)
        assert await opened.count(NAME, EVERY) == 20


async def test_the_loop_is_free_meanwhile(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that hangs keeps its thread, its asker gone or not; the others are answered, a full pool refuses
    at once."""
    over = threading.Event()
    monkeypatch.setattr(Shard, "count", lambda *_: over.wait(30))
    hanging = [asyncio.create_task(edge.count(NAME, EVERY)) for _ in range(7)]
    await asyncio.sleep(0.05)
    assert len(await nearest(edge)) == 5
    while edge._threads._held < 72:
        given_up = asyncio.create_task(edge.count(NAME, EVERY))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        given_up.cancel()
    with pytest.raises(RetrievalError, match="overloaded"):
        await nearest(edge)
    over.set()
    await asyncio.gather(*hanging)


async def test_many_readers_at_once_wait_for_their_turn(edge: Edge) -> None:
    """More than the pool has room for: each is answered, and a write in between is not refused."""
    asked = [asyncio.create_task(nearest(edge)) for _ in range(200)]
    scrolled = [asyncio.create_task(edge.scroll(NAME, EVERY, limit=5)) for _ in range(100)]
    counts = [asyncio.create_task(edge.count(NAME, EVERY)) for _ in range(100)]
    await asyncio.sleep(0)
    await edge.put(NAME, [point(1)])
    assert {len(found) for found in await asyncio.gather(*asked)} == {5}
    assert {len(found) for found in await asyncio.gather(*scrolled)} == {5}
    assert set(await asyncio.gather(*counts)) == {20}


async def test_a_hung_call_does_not_hold_up_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left behind after CLOSE_SECONDS, its own lock and all."""
    monkeypatch.setattr(pool, "CLOSE_SECONDS", 0.2)
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.2)
    over = threading.Event()
    monkeypatch.setattr(Shard, "flush", lambda self: self._writing.acquire() and over.wait(30))
    async with open_edge(tmp_path) as opened:
        await opened.create(NAME, DIM)
        hung = asyncio.create_task(opened.put(NAME, [point(1)]))
        await asyncio.sleep(0.1)
    over.set()
    hung.cancel()
    await asyncio.wait([hung])


async def test_a_collection_dropped_is_gone_with_its_files(edge: Edge, tmp_path: Path) -> None:
    """Made again it is empty."""
    await edge.drop(NAME)
    assert list((tmp_path / "qdrant").iterdir()) == []
    await edge.create(NAME, DIM)
    assert await edge.count(NAME, EVERY) == 0
