"""One collection on disk: what survives a kill, what compaction leaves."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
import qdrant_edge as engine

from app.errors import RetrievalError
from app.retrieval.retrievers import qdrant_engine
from app.retrieval.retrievers.points import DENSE, Point, Where, floats
from app.retrieval.retrievers.qdrant_engine import SEARCHERS, EngineError, Shape, StoredCollection, read_shape
from tests.fakes.points import DIM, embedding, ids, owned, point

EVERY = Where()
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
    """An empty one with indexes."""
    made = StoredCollection.make(tmp_path / "n", SHAPE)
    yield made
    made.close()


def nearest(shard: StoredCollection, limit: int, where: Where = EVERY) -> list[Point]:
    """A search."""
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
    assert len(nearest(shard, 10)) == 10
    shard.put([point(0)])
    shard.close()


def test_after_compaction_what_was_removed_is_in_no_file(shard: StoredCollection, tmp_path: Path) -> None:
    """Before it the log and the payloads still hold it; the rest is there to the last bit."""
    shard.put([point(n) for n in range(300)] + [point(n, "bob", text=CANARY) for n in range(300, 320)])
    shard.remove(owned("bob"))
    assert holders(tmp_path, CANARY)
    before = nearest(shard, 20), shard.scroll(EVERY, 999, None, vectors=True)

    shard.compact()

    assert holders(tmp_path, CANARY) == []
    assert holders(tmp_path, "text 299")
    assert (nearest(shard, 20), shard.scroll(EVERY, 999, None, vectors=True)) == before
    assert sorted(each.name for each in (tmp_path / "n").iterdir()) == ["2", "collection.json"]


def test_writes_during_compaction_are_not_lost(shard: StoredCollection) -> None:
    """Nor is what was removed meanwhile back again; after a restart too."""
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
    again = StoredCollection.load(shard.place, shard.shape)
    assert set(ids(again.scroll(EVERY, 99_999, None, vectors=False))) == wanted
    shard._vendor = again._vendor  # the fixture closes it


def test_searches_go_on_while_another_takes_over(shard: StoredCollection) -> None:
    """One that began on the old files ends on them."""
    shard.put([point(n) for n in range(100)])
    faults: list[BaseException] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                assert len(nearest(shard, 5)) == 5
            except (EngineError, RetrievalError, AssertionError) as error:
                faults.append(error)

    asker = threading.Thread(target=ask)
    asker.start()
    shard.compact()
    over.set()
    asker.join()
    assert faults == []


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
                found = nearest(shard, 90, owned("ann"))
                faults.extend(each.payload for each in found if each.payload["text"] != "ann")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            faults.append(error)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    for turn in range(1, 6):
        shard.put(states[turn % 2])
        faults += [each for each in nearest(shard, 90) if each.payload["text"] != ("ann", "bob")[turn % 2]]
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
        found = nearest(shard, 99)
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


def test_writers_that_come_together_share_a_flush(shard: StoredCollection) -> None:
    """Whoever finds its write on disk does not flush again."""
    flushes = []

    class Counting:
        def __init__(self, vendor: object) -> None:
            self.vendor = vendor

        def __getattr__(self, name: str) -> object:
            flushes.extend(["one"] if name == "flush" else [])
            return getattr(self.vendor, name)

    shard._vendor = Counting(shard._vendor)  # type: ignore[assignment]
    shard.put([point(n) for n in range(600)])
    shard.flush()
    shard.flush()
    assert len(flushes) == 1


@pytest.mark.parametrize("loaded", [False, True], ids=["made", "loaded"])
def test_a_collection_costs_few_threads(tmp_path: Path, loaded: bool) -> None:
    """There may be hundreds, and the engine begins eight for each if it is not told."""
    if loaded:
        StoredCollection.make(tmp_path / "n", SHAPE).close()
    before = len(list(Path("/proc/self/task").iterdir()))
    shard = (
        StoredCollection.load(tmp_path / "n", SHAPE)
        if loaded
        else StoredCollection.make(tmp_path / "n", SHAPE)
    )
    try:
        assert len(list(Path("/proc/self/task").iterdir())) - before <= SEARCHERS
    finally:
        shard.close()
