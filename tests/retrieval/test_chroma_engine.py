"""The engine asked directly does what the vendor's own client does: the same calls, answers and faults."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.api.collection_configuration import create_collection_configuration_to_json_str
from chromadb.errors import ChromaError

from app.retrieval.retrievers.chroma_child import (
    CONFIGURATION,
    HNSW,
    ChromaFault,
    Engine,
    define_errors,
)

ROWS = np.eye(4, dtype=np.float32)
IDS = ["d:1", "d:2", "e:1", "e:2"]
WHERE = [{"document": name} for name in "ddee"]
NEAR = np.array([0.1, 0.2, 0.9, 0.3], np.float32)


class Vendors:
    """The vendor's own client, with the methods of `Engine`."""

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


Either = Vendors | Engine
Work = Callable[[Either], object]


def filled(engine: Either) -> Either:
    """Four vectors of two documents in `ibid-a`."""
    engine.upsert("ibid-a", ROWS, IDS, WHERE)
    return engine


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Either, Either]]:
    """The vendor's client and ours, each on a folder of its own with the same vectors."""
    theirs, ours = (tmp_path_factory.mktemp(name) for name in ("vendors", "ours"))
    engines = Vendors(theirs), Engine(ours)
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


def test_what_is_written_and_deleted_is_alike(both: tuple[Either, Either]) -> None:
    """By id, replaced, forgotten."""

    def work(engine: Either) -> object:
        engine.upsert("ibid-a", ROWS[:3], ["f:1", "g:1", "h:1"], [{"document": "f"}] * 3)
        engine.upsert("ibid-a", ROWS[3:], ["f:1"], [{"document": "f"}])
        engine.delete("ibid-a", ["g:1", "none"])
        replaced = plain(engine.get("ibid-a", where={"document": "f"}, include=["embeddings"]))
        engine.delete("ibid-a", ["f:1", "h:1"])
        return replaced, engine.count("ibid-a")

    theirs, ours = map(work, both)
    assert ours == theirs
    for engine in both:
        engine.count("ibid-b")
        assert sorted(engine.names()) == ["ibid-a", "ibid-b"]
        engine.forget("ibid-b")
        assert engine.names() == ["ibid-a"]
    both[1].forget("ibid-b")  # ours: nothing there is no error


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(
            lambda engine: engine.upsert("ibid-a", np.ones((1, 3), np.float32), ["x"], [None]),
            id="other dimension",
        ),
        pytest.param(lambda engine: engine.get("ibid-a", where={"$no": 1}), id="no such filter"),
    ],
)
def test_what_is_refused_is_refused_alike(both: tuple[Either, Either], work: Work) -> None:
    """A refusal, and no word of the engine being down; the vendor's client knows some of them itself."""
    theirs, ours = both
    with pytest.raises((ChromaError, ValueError)):
        work(theirs)
    with pytest.raises(ChromaFault) as caught:
        work(ours)
    assert caught.value.down is False


def test_a_folder_of_the_vendors_is_ours_and_back(tmp_path: Path) -> None:
    """What one has written the other reads, with the index as it was configured."""
    for opened in (Vendors, Engine, Vendors):
        engine = filled(opened(tmp_path))
        assert engine.count("ibid-a") == len(IDS)
        engine.close()
    assert Vendors(tmp_path).named("ibid-a").configuration["hnsw"]["space"] == "cosine"


def test_a_collection_is_made_with_the_vendors_words() -> None:
    """The configuration of a collection is a text that the vendor's client writes."""
    assert json.loads(create_collection_configuration_to_json_str({"hnsw": HNSW})) == CONFIGURATION


def test_the_vendors_client_is_not_imported_even_for_its_errors(tmp_path: Path) -> None:
    """It takes a second, and at a fault there may be no file left to open."""
    code = f"""
import sys
from pathlib import Path
from app.retrieval.retrievers.chroma_child import ChromaFault, Engine, define_errors
define_errors()
engine = Engine(Path({str(tmp_path)!r}))
engine.forget("none")
try:
    engine.get("ibid-a", where={{"$no": 1}})
except ChromaFault as error:
    print(error.down, sorted(name for name in sys.modules if name.startswith("chromadb.")))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False ['chromadb.errors']"


def test_where_the_vendors_client_is_loaded_it_stays() -> None:
    """Nothing takes its place."""
    define_errors()
    assert chromadb.PersistentClient.__module__ == "chromadb"
