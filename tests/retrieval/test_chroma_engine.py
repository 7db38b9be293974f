"""The engine asked directly does what the vendor's own client does: the same calls, answers and faults."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import pytest
from chromadb.api.collection_configuration import create_collection_configuration_to_json_str

from app.clients.chroma_child import Engine, define_errors
from app.clients.chroma_client import HNSW, ChromaFault, Client, VendorClient

ROWS = np.eye(4, dtype=np.float32)
IDS = ["d:1", "d:2", "e:1", "e:2"]
WHERE = [{"document": name} for name in "ddee"]
NEAR = np.array([0.1, 0.2, 0.9, 0.3], np.float32)

Work = Callable[[Any], object]


def vendors(folder: Path) -> VendorClient:
    """The vendor's own client on a folder."""
    settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
    opened: VendorClient = chromadb.PersistentClient(folder, settings)
    return opened


def filled(client: Client) -> Client:
    """Four vectors of two documents in `ibid-a`."""
    client.use("ibid-a", lambda store: store.upsert(ids=IDS, embeddings=ROWS, metadatas=WHERE))
    return client


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Client]]:
    """The vendor's client and ours, each on a folder of its own with the same vectors."""
    folders = [tmp_path_factory.mktemp(name) for name in ("vendors", "ours")]
    clients = (Client(lambda: vendors(folders[0])), Client(lambda: Engine(folders[1])))
    yield filled(clients[0]), filled(clients[1])
    for client in clients:
        client.close()


def plain(found: Any) -> object:
    """Ids and vectors of a reply, however they are kept."""
    rows = found["embeddings"]
    return found["ids"], None if rows is None else np.asarray(rows, np.float32).tolist()


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda store: store.count(), id="count"),
        pytest.param(lambda store: plain(store.get(ids=["e:2"], include=["embeddings"])), id="get by id"),
        pytest.param(lambda store: plain(store.get(where={"document": "d"}, include=[])), id="get by filter"),
        pytest.param(
            lambda store: plain(store.get(limit=2, offset=1, include=["embeddings"])), id="get a page"
        ),
        pytest.param(lambda store: plain(store.get(ids=["x"], include=["embeddings"])), id="get nothing"),
        pytest.param(
            lambda store: plain(
                store.query(
                    query_embeddings=[NEAR], where={"document": "e"}, n_results=2, include=["embeddings"]
                )
            ),
            id="query under a filter",
        ),
        pytest.param(
            lambda store: plain(store.query(query_embeddings=NEAR[None], n_results=9, include=[])),
            id="query all",
        ),
        pytest.param(
            lambda store: plain(
                store.query(
                    query_embeddings=[NEAR], where={"document": "x"}, n_results=2, include=["embeddings"]
                )
            ),
            id="query nothing",
        ),
    ],
)
def test_what_is_asked_is_answered_alike(both: tuple[Client, Client], work: Work) -> None:
    """To the last vector, and in the same order."""
    theirs, ours = (client.use("ibid-a", work) for client in both)
    assert ours == theirs


def test_what_is_written_and_deleted_is_alike(both: tuple[Client, Client]) -> None:
    """By id, by filter, replaced, forgotten."""

    def work(store: Any) -> object:
        store.upsert(ids=["f:1", "g:1", "h:1"], embeddings=ROWS[:3], metadatas=[{"document": "f"}] * 3)
        store.upsert(ids=["f:1"], embeddings=ROWS[3:], metadatas=[{"document": "f"}])
        store.delete(ids=["g:1", "none"])
        replaced = plain(store.get(where={"document": "f"}, include=["embeddings"]))
        store.delete(where={"document": "f"})
        return replaced, store.count()

    theirs, ours = (client.use("ibid-a", work) for client in both)
    assert ours == theirs
    for client in both:
        client.use("ibid-b", lambda store: store.count())
        assert sorted(client.names()) == ["ibid-a", "ibid-b"]
        client.forget("ibid-b")
        client.forget("ibid-b")
        assert client.names() == ["ibid-a"]


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda store: store.upsert(ids=["x"], embeddings=np.ones((1, 3))), id="other dimension"),
        pytest.param(lambda store: store.get(where={"$no": 1}, include=[]), id="no such filter"),
    ],
)
def test_what_is_refused_is_refused_alike(both: tuple[Client, Client], work: Work) -> None:
    """A refusal, and no word of the engine being down; the vendor's client knows some of them itself."""
    for client in both:
        with pytest.raises(ChromaFault):
            client.use("ibid-a", work)
    with pytest.raises(ChromaFault) as caught:
        both[1].use("ibid-a", work)
    assert caught.value.down is False


def test_a_folder_of_the_vendors_is_ours_and_back(tmp_path: Path) -> None:
    """What one has written the other reads, with the index as it was configured."""
    for opened in (vendors, Engine, vendors):
        client = filled(Client(lambda opened=opened: opened(tmp_path)))  # type: ignore[misc]
        assert client.use("ibid-a", lambda store: store.count()) == len(IDS)
        client.close()
    store: Any = Engine(tmp_path)._bindings.get_collection("ibid-a", "default_tenant", "default_database")
    assert store.configuration["hnsw"]["space"] == "cosine"


def test_a_collection_is_made_with_the_vendors_words(tmp_path: Path) -> None:
    """The plan of a collection is a text that the vendor's client writes."""
    told: list[str] = []

    class Deaf:
        id = "x"

        def create_collection(self, name: str, plan: str, *_: object) -> "Deaf":
            told.append(plan)
            return self

    engine = Engine(tmp_path)
    engine._bindings = Deaf()
    engine.get_or_create_collection("ibid-a", embedding_function=None, configuration={"hnsw": HNSW})
    assert json.loads(told[0]) == json.loads(create_collection_configuration_to_json_str({"hnsw": HNSW}))


def test_the_vendors_client_is_not_imported_even_for_its_errors(tmp_path: Path) -> None:
    """It takes a second, and at a fault there may be no file left to open."""
    code = f"""
import sys
from pathlib import Path
from app.clients.chroma_client import Client, ChromaFault
from app.clients.chroma_child import Engine, define_errors
define_errors()
client = Client(lambda: Engine(Path({str(tmp_path)!r})))
client.forget("none")
try:
    client.use("ibid-a", lambda store: store.get(where={{"$no": 1}}, include=[]))
except ChromaFault as error:
    print(error.down, sorted(name for name in sys.modules if name.startswith("chromadb.")))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False ['chromadb.errors']"


def test_where_the_vendors_client_is_loaded_it_stays() -> None:
    """Nothing takes its place."""
    define_errors()
    assert chromadb.PersistentClient.__module__ == "chromadb"
