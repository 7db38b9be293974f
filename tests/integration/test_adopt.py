"""`ibid adopt` on what an older tool left: its tables and its Qdrant, the service before and after.

Nothing of theirs changes, whatever happens; what the bundled model has never seen is found afterwards.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from app.db.embedded import Cluster
from app.db.memories import RAW
from app.retrieval.copies import STATE
from tests.cli.conftest import Ibid
from tests.fakes.elder import DIM, Elder, elder, vector
from tests.fakes.model import model_server
from tests.fakes.process import Service, service
from tests.fakes.qdrant import Json, QdrantServer, qdrant_server

ASKED = "how was the harbour's pier 7 dredged for larger ferries?"
MEMORIES = ["I moved to Odense in spring.", "My rabbits are called Juno and Bramble.", "I play the viola."]
WIDE: Json = {"vectors": {"size": DIM, "distance": "Cosine"}}
NAMED: Json = {"vectors": {"text": {"size": DIM, "distance": "Dot"}}}


@pytest.fixture
def portal() -> Iterator[BlockingPortal]:
    """A loop beside: commands block this thread."""
    with start_blocking_portal() as opened:
        yield opened


@pytest.fixture
def old(cluster: Cluster, portal: BlockingPortal) -> Iterator[Elder]:
    """Their database, which Ibid has never met; another model's vectors."""
    with portal.wrap_async_context_manager(elder(cluster)) as made:
        yield made


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[QdrantServer]:
    """Their Qdrant: memories of ann, one of them without a word, and a journal of another distance."""
    with qdrant_server(tmp_path / "qdrant") as server:
        server.create(RAW, WIDE)
        facts = {
            "user_id": "ann",
            "kind": "note",
            "tags": ["life"],
            "source": "import",
            "created_at": 1_700_000_000,
        }
        texts = [{"content": text, **facts} for text in MEMORIES] + [{"user_id": "ann", "mood": "good"}]
        server.plant(RAW, [point(n, payload) for n, payload in enumerate(texts, 1)])
        server.create("journal", NAMED)
        notes = [{"text": "The lighthouse of Skagen was lit in 1858."}]
        server.plant(
            "journal", [{**point(9, note), "vector": {"text": point(9, note)["vector"]}} for note in notes]
        )
        yield server


def point(n: int, payload: dict[str, Any]) -> Json:
    """As their tool wrote it: a number for a name, a vector that nobody knows."""
    return {"id": n, "vector": json.loads(vector(str(n), same=False)), "payload": payload}


@pytest.fixture
def ibid(tmp_path: Path, old: Elder, qdrant: QdrantServer, monkeypatch: pytest.MonkeyPatch) -> Ibid:
    monkeypatch.setenv("POSTGRES_DSN", old.dsn)
    monkeypatch.setenv("QDRANT_URL", qdrant.url)
    return Ibid(tmp_path)


def points(server: QdrantServer, name: str) -> list[Json]:
    """A collection as it is kept, vectors too, but for the point that holds our position."""
    body = {"limit": 100, "with_payload": True, "with_vector": True}
    return [each for each in server.collections[name].scroll(body)["points"] if each["id"] != STATE]


def found(running: Service, message: str, source: str, **fields: Any) -> list[dict[str, Any]]:
    reply = running.chat(message, user_id="ann", sources=[source], **fields)
    return [each for each in reply["debug"]["chunks"] if each["verdict"] == "packed"]


def test_all_that_was_there_is_found_and_nothing_has_changed(
    ibid: Ibid, old: Elder, qdrant: QdrantServer
) -> None:
    """Row by row and point by point: before, after, and after a second time, which finds nothing to do."""
    rows, kept = asyncio.run(old.told()), [points(qdrant, RAW), points(qdrant, "journal")]
    env = {"POSTGRES_DSN": old.dsn, "QDRANT_URL": qdrant.url}
    with service(ibid.data, **env) as running:
        assert not [
            each for each in found(running, ASKED, "conversations", project="THN") if each["similarity"]
        ]
        assert not found(running, "what are my rabbits called?", "memories")

    done = json.loads(ibid("adopt", "--json").out)
    again = json.loads(ibid("adopt", "--json").out)

    assert [(each["name"], each["kept"], each["embedded"], each["silent"]) for each in done["tables"]] == [
        ("public.conversation_index", 0, 35, 2),
        ("public.code_index", 0, 20, 0),
    ]
    assert [
        (each["name"], each["embedded"], each["silent"], each["home"]) for each in done["collections"]
    ] == [
        ("journal", 1, 0, "journal_ibid"),
        (RAW, 3, 1, f"{RAW}_ibid"),
    ]
    assert done["older"] == {"turns": 2, "traces": 1}
    assert {each["embedded"] for each in (*again["tables"], *again["collections"])} == {0}
    assert asyncio.run(old.told()) == rows
    assert [points(qdrant, RAW), points(qdrant, "journal")] == kept

    with service(ibid.data, **env) as running:
        assert any(each["similarity"] > 0.5 for each in found(running, ASKED, "conversations", project="THN"))
        assert found(running, "def pier_7", "code", project="THN")
        [rabbits, *_] = found(running, "what are my rabbits called?", "memories")
        assert rabbits["similarity"] > 0.3
        assert found(running, "when was the lighthouse of Skagen lit?", "corpus")
        reply = running.client.post(
            "/rag/query", json={"user_id": "ann", "message": "what are my rabbits called?"}
        )
        used = reply.json()["memory_used"]
        assert [each["text"] for each in used].count(MEMORIES[1]) == 1
        listed = running.client.get("/memories", params={"user_id": "ann"}).json()["items"]
        assert {each["text"] for each in listed} == {*MEMORIES}
        assert running.client.delete("/memories/3").status_code == 204
        assert running.client.post("/memories", json={"user_id": "ann", "text": "New."}).status_code == 201
        running.client.delete("/users/ann")
    assert points(qdrant, RAW) == points(qdrant, f"{RAW}_ibid") == []


def test_what_was_adopted_moves_with_the_rest(
    ibid: Ibid, old: Elder, qdrant: QdrantServer, portal: BlockingPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To another model by `ibid reembed`: rows, and what of ours stands for their collections; theirs stay as
    they were all the way."""
    rows, kept = asyncio.run(old.told()), [points(qdrant, RAW), points(qdrant, "journal")]
    assert ibid("adopt").code == 0
    with portal.wrap_async_context_manager(model_server()) as model:
        settings = {"EMBED_BASE_URL": model.url, "EMBED_MODEL": "fake-model"}
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        refused = ibid("adopt")
        assert (refused.code, "ibid reembed" in refused.err) == (1, True)
        assert ibid("reembed").out == "59 passages embedded anew.\n"

    spaces = "SELECT string_agg(DISTINCT space || vector_dims(embedding_ibid), ',') FROM conversation_index"
    assert asyncio.run(old.run(spaces)) == "fake-model@6464"
    moved = points(qdrant, f"{RAW}_ibid")
    assert [(each["id"], each["payload"]["text"]) for each in moved] == [*enumerate(MEMORIES, 1)]
    assert {len(each["vector"]["meaning"]) for each in (*moved, *points(qdrant, "journal_ibid"))} == {64}
    assert asyncio.run(old.told()) == rows
    assert [points(qdrant, RAW), points(qdrant, "journal")] == kept
