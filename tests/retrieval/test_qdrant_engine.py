"""The embedded engine of Qdrant: its collections, its files, its errors."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

import pytest
import qdrant_edge as engine

from app.retrieval.retrievers import qdrant_engine
from app.retrieval.retrievers.points import DENSE, Point, Where, floats
from app.retrieval.retrievers.qdrant_engine import (
    EmbeddedQdrant,
    EngineError,
    Shape,
    StoredCollection,
    read_shape,
)
from tests.fakes.points import DIM, embedding, ids, owned, point

NAME = "memory_raw"


EVERY = Where()


FIELDS: tuple[tuple[str, ...], ...] = ((), (), ())


def nearest(edge: EmbeddedQdrant) -> list[Point]:
    return edge.search(NAME, EVERY, embedding(1), 5, payload=True)


def names(edge: EmbeddedQdrant) -> list[str]:
    return [name for name, _ in edge.shapes()]


@contextmanager
def opened(root: Path, *, read_only: bool = False) -> Iterator[EmbeddedQdrant]:
    edge = EmbeddedQdrant(root, read_only=read_only)
    yield edge
    edge.close()


def fill(edge: EmbeddedQdrant, name: str) -> None:
    edge.create(name, DIM, *FIELDS)
    edge.put(name, [point(n) for n in range(20)])


@pytest.fixture
def edge(tmp_path: Path) -> Iterator[EmbeddedQdrant]:
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
    return list(folder.iterdir())


def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
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
    (tmp_path / f"half{qdrant_engine.DELETED}").mkdir()
    before = sorted(inside(tmp_path))
    with opened(tmp_path, read_only=True) as edge:
        for _ in range(2):
            assert edge.count(NAME, EVERY) is None
        assert [*edge.set_aside] == [NAME, NAME]
    assert sorted(inside(tmp_path)) == before


def test_a_full_disk_puts_nothing_aside(edge: EmbeddedQdrant, monkeypatch: pytest.MonkeyPatch) -> None:
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


SHAPE = Shape("n", DIM, ("kind",), ("tenant", "user_id"), ("created_at",))


CANARY = "the heron of Varberg sings at four"


WRITER = """
import sys
from pathlib import Path
from app.retrieval.retrievers.qdrant_engine import Shape, StoredCollection
from tests.fakes.points import DIM, point
shard = StoredCollection.make(Path(sys.argv[1]), Shape("n", DIM))
for number in range(100_000):
    shard.put([point(2 * number), point(2 * number + 1)])
    print(number, flush=True)
"""


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[StoredCollection]:
    made = StoredCollection.make(tmp_path / "n", SHAPE)
    yield made
    made.close()


def found_by(shard: StoredCollection, limit: int, where: Where = EVERY) -> list[Point]:
    return shard.search(where, embedding(1), limit, payload=True)


def holders(place: Path, text: str) -> list[str]:
    """Files that hold a text, the engine's log among them."""
    return [str(path) for path in place.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """At any moment; the files open as they are."""
    place = tmp_path / "n"
    command = [sys.executable, "-c", WRITER, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        acknowledged = [int(next(writer.stdout)) for _ in range(25)][-1]
        writer.kill()

    shape = read_shape(place)
    assert shape
    shard = StoredCollection.load(place, shape)
    stored = set(ids(shard.scroll(EVERY, 10_000, None, vectors=False)))
    assert stored >= {point(number).id for number in range(2 * acknowledged + 2)}
    assert len(found_by(shard, 10)) == 10
    shard.put([point(0)])
    shard.close()


def test_after_compaction_what_was_removed_is_in_no_file(shard: StoredCollection, tmp_path: Path) -> None:
    """Before it the log and the payloads still hold it; the rest is there to the last bit."""
    shard.put([point(n) for n in range(300)] + [point(n, "bob", text=CANARY) for n in range(300, 320)])
    shard.remove(owned("bob"))
    assert holders(tmp_path, CANARY)
    before = found_by(shard, 20), shard.scroll(EVERY, 999, None, vectors=True)

    shard.compact()

    assert holders(tmp_path, CANARY) == []
    assert holders(tmp_path, "text 299")
    assert (found_by(shard, 20), shard.scroll(EVERY, 999, None, vectors=True)) == before
    assert sorted(each.name for each in (tmp_path / "n").iterdir()) == ["2", "collection.json"]


def test_writes_during_compaction_are_not_lost(tmp_path: Path) -> None:
    """Nor is what was removed meanwhile back again; after a restart too."""
    shard = StoredCollection.make(tmp_path / "n", SHAPE)
    shard.put([point(n) for n in range(300)])
    over = threading.Event()
    begun = threading.Event()
    written: list[int] = []

    def write() -> None:
        while not over.is_set():
            number = 300 + len(written)
            shard.put([point(number)])
            shard.remove(Where(ids=(point(len(written)).id,)))
            written.append(number)
            begun.set()

    writer = threading.Thread(target=write)
    writer.start()
    begun.wait()
    for _ in range(2):
        shard.compact()
    over.set()
    writer.join()

    wanted = {point(n).id for n in range(len(written), 300 + len(written))}
    assert set(ids(shard.scroll(EVERY, 99_999, None, vectors=False))) == wanted
    shard.close()
    again = StoredCollection.load(shard.folder, shard.shape)
    assert set(ids(again.scroll(EVERY, 99_999, None, vectors=False))) == wanted
    again.close()


def test_beside_a_write_everything_is_of_one_state(shard: StoredCollection) -> None:
    """Four ask while one writes points anew with another owner: none fails, none is told what its filter
    hides, and what a write that has returned has changed is never seen as it was."""
    states = [[point(n, owner, text=owner) for n in range(64)] for owner in ("ann", "bob")]
    shard.put(states[0])
    faults: list[object] = []
    over = threading.Event()

    def ask() -> None:
        try:
            while not over.is_set():
                found = found_by(shard, 90, owned("ann"))
                faults.extend(each.payload for each in found if each.payload["text"] != "ann")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            faults.append(error)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    for turn in range(1, 6):
        shard.put(states[turn % 2])
        faults += [each for each in found_by(shard, 90) if each.payload["text"] != ("ann", "bob")[turn % 2]]
    over.set()
    for asker in askers:
        asker.join()
    assert faults == []


def test_a_collection_of_an_older_version_is_used_as_it_is(tmp_path: Path) -> None:
    """One made with a sparse vector beside the dense one: it loads, is searched and written, survives another
    start, and compaction leaves the sparse vectors out."""
    place = tmp_path / "n"
    files = qdrant_engine.files_of(place, SHAPE)
    files.mkdir(parents=True)
    made = engine.EdgeShard.create(
        str(files),
        engine.EdgeConfig(
            vectors={DENSE: engine.EdgeVectorParams(size=DIM, distance=engine.Distance.Cosine)},
            sparse_vectors={"words": engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)},
        ),
    )
    words = engine.SparseVector([3, 5], [1.0, 2.0])
    old = [point(n) for n in range(20)]
    rows = [
        engine.Point(UUID(each.id), {DENSE: floats(each.dense or b""), "words": words}, dict(each.payload))
        for each in old
    ]
    made.update(engine.UpdateOperation.upsert_points(rows))
    made.flush()
    made.close()
    qdrant_engine.write_shape(place, SHAPE)

    shard = StoredCollection.load(place, SHAPE)
    assert shard.scroll(EVERY, 99, None, vectors=True) == sorted(old, key=lambda each: each.id)
    shard.put([point(3, "bob"), point(30)])
    shard.remove(Where(ids=(point(4).id,)))
    shard.close()

    shard = StoredCollection.load(place, SHAPE)
    wanted = {point(n).id: point(n) for n in (*range(20), 30) if n != 4} | {point(3).id: point(3, "bob")}
    for _ in range(2):
        found = found_by(shard, 99)
        assert {each.id: each.payload for each in found} == {
            key: each.payload for key, each in wanted.items()
        }
        assert {each.id: each for each in shard.scroll(EVERY, 99, None, vectors=True)} == wanted
        shard.compact()
    config = (qdrant_engine.files_of(place, shard.shape) / "edge_config.json").read_text()
    shard.close()
    assert "words" not in config


def test_a_compaction_that_fails_changes_nothing(
    shard: StoredCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old files count, and the next one does it."""
    shard.put([point(n) for n in range(20)])

    def full(*_: object) -> object:
        raise EngineError("no space left (os error 28)")

    with monkeypatch.context() as patch:
        patch.setattr(StoredCollection, "_copied", full)
        with pytest.raises(EngineError):
            shard.compact()
    shard.put([point(30)])
    assert shard.count(EVERY) == 21
    shard.compact()
    assert shard.count(EVERY) == 21


def test_what_a_crash_left_is_swept(tmp_path: Path) -> None:
    """Half deleted, half built; what counts stays, and so does what was put aside."""
    place = qdrant_engine.folder_of(tmp_path, "n")
    qdrant_engine.write_shape(place, Shape("n", 8, turn=2))
    for number in "123":
        (place / number / "wal").mkdir(parents=True)
    (tmp_path / f"old{qdrant_engine.DELETED}" / "1").mkdir(parents=True)
    (tmp_path / f"bad{qdrant_engine.ASIDE}").mkdir()

    qdrant_engine.sweep(tmp_path)

    assert sorted(each.name for each in place.iterdir()) == ["2", qdrant_engine.SHAPE_FILE]
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        [f"bad{qdrant_engine.ASIDE}", place.name]
    )


def test_only_the_newest_is_kept_aside(tmp_path: Path) -> None:
    """And nothing once the collection is deleted: it holds texts."""
    place = qdrant_engine.folder_of(tmp_path, "n")
    for turn in (1, 2):
        qdrant_engine.write_shape(place, Shape("n", 8, turn=turn))
        qdrant_engine.set_aside(place)
    [aside] = tmp_path.iterdir()
    assert qdrant_engine.read_shape(aside) == Shape("n", 8, turn=2)
    qdrant_engine.delete_folder(place)
    assert list(tmp_path.iterdir()) == []
