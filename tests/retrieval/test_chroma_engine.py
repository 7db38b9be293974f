"""The engine of the embedded Chroma: as the vendor's client, its folder, its answers to the service."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import chromadb
import numpy as np
import pytest

from app.child import INTERNAL, Call
from app.retrieval.index_cache import EXACT_BYTES
from app.retrieval.retrievers import chroma_child as room
from app.retrieval.retrievers.chroma_child import (
    HNSW,
    LOST,
    REMADE,
    UNFILLED,
    UNFINISHED,
    ChromaFault,
    EmbeddedChroma,
    answer,
    check_sizes,
    open_folder,
    perform,
    put_aside,
    tidy,
)
from tests.fakes.chromas import DAMAGES

ROWS = np.eye(4, dtype=np.float32)


IDS = ["d:1", "d:2", "e:1", "e:2"]


WHERE = [{"document": name} for name in "ddee"]


NEAR = np.array([0.1, 0.2, 0.9, 0.3], np.float32)


class Vendors:
    """The vendor's own client, with the methods of `EmbeddedChroma`."""

    def __init__(self, folder: Path) -> None:
        settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
        self._client = chromadb.PersistentClient(folder, settings)

    def named(self, name: str) -> Any:
        return self._client.get_or_create_collection(
            name, embedding_function=None, configuration={"hnsw": HNSW}
        )

    def names(self) -> list[str]:
        return [each.name for each in self._client.list_collections()]

    def forget(self, name: str) -> None:
        self._client.delete_collection(name)

    def count(self, name: str) -> int:
        return int(self.named(name).count())

    def get(self, name: str, include: Sequence[str] = (), **asked: Any) -> dict[str, Any]:
        found = self.named(name).get(include=list(include), **asked)
        return {"ids": found["ids"], **{each: found[each] for each in include}}

    def query(self, name: str, matrix: Any, where: Any, limit: int) -> dict[str, Any]:
        found = self.named(name).query(
            query_embeddings=matrix, where=where, n_results=limit, include=["distances"]
        )
        return {each: found[each][0] for each in ("ids", "distances")}

    def upsert(self, name: str, matrix: Any, ids: Any, metadatas: Any) -> None:
        self.named(name).upsert(ids=ids, embeddings=matrix, metadatas=metadatas)

    def delete(self, name: str, ids: list[str]) -> None:
        self.named(name).delete(ids=ids)

    def close(self) -> None:
        self._client.close()


Either = Vendors | EmbeddedChroma


def filled(engine: Either) -> Either:
    """Four vectors of two documents in `ibid-a`."""
    engine.upsert("ibid-a", ROWS, IDS, WHERE)
    return engine


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Either, Either]]:
    """The vendor's client and ours, each on a folder of its own with the same vectors."""
    theirs, ours = (tmp_path_factory.mktemp(name) for name in ("vendors", "ours"))
    engines = Vendors(theirs), EmbeddedChroma(ours)
    yield filled(engines[0]), filled(engines[1])
    for engine in engines:
        engine.close()


def plain(found: dict[str, Any]) -> object:
    """A reply with its vectors, however they are kept."""
    return {
        name: value if name == "ids" else np.asarray(value, np.float32).tolist()
        for name, value in found.items()
    }


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda engine: engine.count("ibid-a"), id="count"),
        pytest.param(lambda engine: engine.get("ibid-a", where={"document": "d"}), id="get by filter"),
        pytest.param(
            lambda engine: engine.get("ibid-a", limit=2, offset=1, include=["embeddings"]), id="get a page"
        ),
        pytest.param(lambda engine: engine.get("ibid-a", where={"document": "x"}), id="get nothing"),
        pytest.param(
            lambda engine: engine.query("ibid-a", NEAR[None], {"document": "e"}, 2), id="query under a filter"
        ),
        pytest.param(lambda engine: engine.query("ibid-a", NEAR[None], None, 9), id="query all"),
        pytest.param(
            lambda engine: engine.query("ibid-a", NEAR[None], {"document": "x"}, 2), id="query nothing"
        ),
    ],
)
def test_what_is_asked_is_answered_alike(
    both: tuple[Either, Either], work: Callable[[Either], dict[str, Any] | int]
) -> None:
    """To the last vector, and in the same order."""
    theirs, ours = (found if isinstance(found := work(engine), int) else plain(found) for engine in both)
    assert ours == theirs


def test_a_folder_of_the_vendors_is_ours_and_back(tmp_path: Path) -> None:
    """What one has written the other reads, with the index as it was configured."""
    for kind in (Vendors, EmbeddedChroma, Vendors):
        engine = filled(kind(tmp_path))
        assert engine.count("ibid-a") == len(IDS)
        engine.close()
    assert Vendors(tmp_path).named("ibid-a").configuration["hnsw"]["space"] == "cosine"


THREE = np.eye(3, dtype=np.float32)


WRITE = {"ids": ["d:1", "d:2", "d:3"], "metadatas": [{"document": "d"}] * 3}


class Ended(BaseException):
    """Where the process would have ended."""


class Told:
    """A parent, or a call, that remembers what it is told."""

    def __init__(self) -> None:
        self.said: list[object] = []
        self.name, self.data = "beat", b""
        self.payload: dict[str, Any] = {}

    def ready(self, payload: object) -> None:
        self.said.append(payload)

    def refuse(self, reason: str) -> None:
        self.said.append(reason)
        raise Ended

    def fail(self, payload: object) -> None:
        self.said.append(payload)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    told: list[tuple[int, str]] = []

    def end(code: int, said: str) -> None:
        told.append((code, said))
        raise Ended

    monkeypatch.setattr(room, "end", end)
    return told


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedChroma]:
    """A folder's engine, three vectors in `ibid-a`."""
    made, _ = open_folder(tmp_path_factory.mktemp("child"))
    assert ask(made, "upsert", THREE.tobytes(), **WRITE) is None
    yield made
    made.close()


def ask(engine: EmbeddedChroma, do: str, data: bytes = b"", **arguments: Any) -> Any:
    return perform(engine, do, data, {"collection": "ibid-a", **arguments})


class Failing:
    def __init__(self, said: str) -> None:
        self.said = said

    def beat(self) -> None:
        raise ChromaFault(self.said)


@pytest.mark.parametrize(
    ("said", "internal"),
    [
        pytest.param("InternalError: Error finding id", True, id="its own"),
        pytest.param("InternalError: database or disk is full", False, id="the machine's"),
    ],
)
def test_a_failure_of_its_own_ends_it_after_its_answer(
    ends: list[tuple[int, str]], said: str, *, internal: bool
) -> None:
    """The next one looks at the folder; a full disk is no reason to."""
    call = Told()
    try:
        answer(cast(EmbeddedChroma, Failing(said)), cast(Call, call))
    except Ended:
        assert internal
    assert call.said == [{"error": said, "down": True}]
    assert ends == ([(INTERNAL, said)] if internal else [])


HUNDREDS = 4


def written(folder: Path, name: str, document: str) -> None:
    """Four hundred vectors of a document; the engine is closed again."""
    engine = EmbeddedChroma(folder)
    rows = np.random.default_rng(1).normal(size=(100, 8)).astype(np.float32)
    for hundred in range(HUNDREDS):
        ids = [f"{document}:{100 * hundred + n}" for n in range(100)]
        engine.upsert(name, rows, ids, [{"document": document}] * len(ids))
    engine.close()


def erased(folder: Path, name: str, documents: int) -> None:
    """The first hundreds of document `d` deleted again."""
    engine = EmbeddedChroma(folder)
    for hundred in range(documents):
        engine.delete(name, [f"d:{100 * hundred + n}" for n in range(100)])
    engine.close()


def counted(folder: Path, name: str) -> int:
    """Vectors that are found by an engine opened now, as the service opens it."""
    engine, _ = open_folder(folder)
    count = engine.count(name)
    engine.close()
    return count


def slots(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*/length.bin")) // 4


def test_a_folder_of_the_dead_is_made_anew(tmp_path: Path) -> None:
    """Vectors of deleted documents lie in the vendor's files until then, and no longer."""
    written(tmp_path, "ibid-a", "d")
    erased(tmp_path, "ibid-a", HUNDREDS)
    assert slots(tmp_path) >= 100 * HUNDREDS
    said = tidy(tmp_path, EXACT_BYTES)
    assert not tmp_path.exists()
    assert "made anew" in said
    assert counted(tmp_path, "ibid-a") == 0


@pytest.mark.parametrize(
    ("spare", "lost"), [pytest.param(0, REMADE, id="small enough"), pytest.param(-1, "", id="too large")]
)
def test_a_folder_is_made_again_where_searches_do_without_it(tmp_path: Path, spare: int, lost: str) -> None:
    """That is up to EXACT_MAX_MB, whatever their number is. It is no loss, and is called by its name."""
    written(tmp_path, "ibid-a", "d")
    erased(tmp_path, "ibid-a", HUNDREDS - 1)
    written(tmp_path, "ibid-b", "d")
    erased(tmp_path, "ibid-b", HUNDREDS)
    engine, told = open_folder(tmp_path, 100 * 4 * 8 + spare)
    engine.close()
    assert (told, counted(tmp_path, "ibid-a")) == (lost, 0 if lost else 100)


def test_files_of_a_dropped_collection_are_removed(tmp_path: Path) -> None:
    """The vendor leaves them; those of other collections stay."""
    written(tmp_path, "ibid-a", "d")
    written(tmp_path, "ibid-b", "d")
    engine = EmbeddedChroma(tmp_path)
    engine.forget("ibid-a")
    engine.close()
    assert len(list(tmp_path.glob("*/length.bin"))) == 2
    tidy(tmp_path, EXACT_BYTES)
    assert len(list(tmp_path.glob("*/length.bin"))) == 1
    assert counted(tmp_path, "ibid-b") == 100 * HUNDREDS


@pytest.mark.parametrize(
    ("filled", "lost"),
    [pytest.param(False, UNFINISHED, id="interrupted"), pytest.param(True, "", id="filled")],
)
def test_an_empty_folder_says_so_until_it_is_filled(tmp_path: Path, *, filled: bool, lost: str) -> None:
    """At every start: one that ended in the middle of the filling is no reason to leave the rest out."""
    engine, told = open_folder(tmp_path)
    engine.close()
    assert told == LOST
    if filled:
        (tmp_path / UNFILLED).unlink()
    engine, told = open_folder(tmp_path)
    engine.close()
    assert told == lost


def test_what_fails_only_when_it_is_used_is_found_at_the_start(tmp_path: Path) -> None:
    """The vendor opens it without a word."""
    written(tmp_path, "ibid-a", "d")
    DAMAGES["the metadata are gone"](tmp_path)
    with pytest.raises(ChromaFault):
        open_folder(tmp_path)


@pytest.mark.parametrize("name", ["data_level0.bin", "link_lists.bin"])
@pytest.mark.parametrize("bytes_less", [1, 400])
def test_an_index_that_was_cut_is_found_by_its_header(tmp_path: Path, name: str, bytes_less: int) -> None:
    """However little is missing: it would open, answer, and find less. As it was written it passes."""
    written(tmp_path, "ibid-a", "d")
    [path] = tmp_path.glob(f"*/{name}")
    check_sizes(path.with_name("header.bin"))
    os.truncate(path, path.stat().st_size - bytes_less)
    with pytest.raises(ChromaFault, match=f"{name} is cut"):
        check_sizes(path.with_name("header.bin"))


@pytest.mark.parametrize("content", [pytest.param(None, id="a folder"), pytest.param("x", id="a file")])
def test_what_is_put_aside_keeps_its_content_and_the_newest_alone_is_kept(
    tmp_path: Path, content: str | None
) -> None:
    """Beside its place, under a name that says what it is; broken ones do not pile up."""
    place = tmp_path / "chroma"
    (tmp_path / "chroma.broken-20200101T000000").mkdir()
    if content is None:
        place.mkdir()
        (place / "file").write_text("y")
    else:
        place.write_text(content)
    put_aside(place)
    [aside] = tmp_path.glob("chroma.broken-*")
    assert not place.exists()
    assert (aside / "file" if content is None else aside).read_text() == (content or "y")
