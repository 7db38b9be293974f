"""The embedded Qdrant's folder, in this process: what becomes of broken files and of a crash's leavings."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from app.retrieval.retrievers import qdrant_engine
from app.retrieval.retrievers.points import Point, Where
from app.retrieval.retrievers.qdrant_engine import Engine, EngineError, StoredCollection
from tests.fakes.points import DIM, embedding, ids, point

NAME = "memory_raw"
EVERY = Where()
FIELDS: tuple[tuple[str, ...], ...] = ((), (), ())


def nearest(edge: Engine) -> list[Point]:
    """Five points."""
    return edge.search(NAME, EVERY, embedding(1), 5, payload=True)


def names(edge: Engine) -> list[str]:
    """Of the collections."""
    return [name for name, _ in edge.shapes()]


@contextmanager
def opened(root: Path, *, read_only: bool = False) -> Iterator[Engine]:
    """Closed at the end."""
    edge = Engine(root, read_only=read_only)
    yield edge
    edge.close()


def fill(edge: Engine, name: str) -> None:
    """A collection of twenty points."""
    edge.create(name, DIM, *FIELDS)
    edge.put(name, [point(n) for n in range(20)])


@pytest.fixture
def edge(tmp_path: Path) -> Iterator[Engine]:
    """Open, with one collection."""
    with opened(tmp_path / "qdrant") as edge:
        fill(edge, NAME)
        yield edge


def stored(root: Path) -> Path:
    """A closed engine's folder with two collections; the folder of one."""
    with opened(root) as edge:
        fill(edge, NAME)
        fill(edge, "other")
    return qdrant_engine.folder_of(root, NAME)


def inside(folder: Path) -> list[Path]:
    """What is in a folder."""
    return list(folder.iterdir())


def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    """Whatever the collections are called."""
    called = ["", "..", "a/../../b", "CON", "Notes", "notes", "n" * 3_000, "\ud800"]
    with opened(tmp_path / "qdrant") as edge:
        for n, name in enumerate(called):
            edge.create(name, DIM, *FIELDS)
            edge.put(name, [point(n)])
    assert [each.name for each in inside(tmp_path)] == ["qdrant"]
    with opened(tmp_path / "qdrant") as edge:
        assert names(edge) == sorted(called)
        for n, name in enumerate(called):
            assert ids(edge.scroll(name, EVERY, 9, None, vectors=False)) == [point(n).id]


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
def test_files_that_cannot_be_read_are_put_aside(tmp_path: Path, damage: str) -> None:
    """The collection is named in `lost`, missing from then on, and can be written anew; others stay."""
    place = stored(tmp_path)
    DAMAGES[damage](place)
    with opened(tmp_path) as edge:
        with suppress(EngineError):  # of what is found when it is searched
            assert nearest(edge) == []
        assert nearest(edge) == []
        assert [*edge.set_aside] == [NAME]
        assert place.with_name(place.name + qdrant_engine.ASIDE).is_dir()
        assert names(edge) == ["other"]

        fill(edge, NAME)
        assert len(nearest(edge)) == 5
        edge.compact(NAME)
        assert not place.with_name(place.name + qdrant_engine.ASIDE).exists()
        assert [*edge.set_aside] == [NAME]


def test_who_only_looks_puts_nothing_aside(tmp_path: Path) -> None:
    """It is named, again each time, and what a crash left stays for a start to sweep."""
    place = stored(tmp_path)
    DAMAGES["log"](place)
    (tmp_path / f"half{qdrant_engine.GONE}").mkdir()
    before = sorted(inside(tmp_path))
    with opened(tmp_path, read_only=True) as edge:
        for _ in range(2):
            assert edge.count(NAME, EVERY) is None
        assert [*edge.set_aside] == [NAME, NAME]
    assert sorted(inside(tmp_path)) == before


def test_a_page_that_is_gone_costs_its_collection(tmp_path: Path) -> None:
    """Nobody knows its name any more until it is created again; its files are put aside then."""
    place = stored(tmp_path)
    (place / qdrant_engine.PAGE).unlink()
    with opened(tmp_path) as edge:
        assert names(edge) == ["other"]
        edge.create(NAME, DIM, *FIELDS)
        assert edge.count(NAME, EVERY) == 0
        assert place.with_name(place.name + qdrant_engine.ASIDE).is_dir()


def test_a_full_disk_puts_nothing_aside(edge: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do too many open files: it is tried again by the next."""

    def full(*_: object, **__: object) -> object:
        raise EngineError("IO Error: No space left on device (os error 28)")

    with monkeypatch.context() as patch:
        patch.setattr(StoredCollection, "search", full)
        for _ in range(3):
            with pytest.raises(EngineError):
                nearest(edge)
    assert len(nearest(edge)) == 5
    assert not edge.set_aside


def test_what_fails_once_is_tried_on_files_read_anew(edge: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment's fault loses nothing."""
    search, fails = StoredCollection.search, [True]

    def once(self: StoredCollection, *asked: Any, **also: Any) -> object:
        if fails and fails.pop():
            raise EngineError("a moment's fault")
        return search(self, *asked, **also)

    monkeypatch.setattr(StoredCollection, "search", once)
    assert len(nearest(edge)) == 5
    assert edge.count(NAME, EVERY) == 20


def test_what_a_crash_left_of_a_compaction_is_swept(tmp_path: Path) -> None:
    """The old files count until the new ones are whole."""
    place = stored(tmp_path)
    (place / "2" / "wal").mkdir(parents=True)
    with opened(tmp_path) as edge:
        assert not (place / "2").exists()
        assert edge.count(NAME, EVERY) == 20
        edge.compact(NAME)
        assert edge.count(NAME, EVERY) == 20


def test_a_collection_dropped_is_gone_with_its_files(edge: Engine, tmp_path: Path) -> None:
    """Made again it is empty."""
    edge.drop(NAME)
    assert inside(tmp_path / "qdrant") == []
    edge.create(NAME, DIM, *FIELDS)
    assert edge.count(NAME, EVERY) == 0
