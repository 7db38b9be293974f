"""Stores and the embedding server at fault, against the running service (docs/failures.md).

Everything is a server by its URL, so that each can be silenced or killed by itself: Postgres, Chroma, Redis,
the embedding server. Every test leaves all of them well again, and waits until the service has seen it.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from tests.fakes.chromas import RunningChroma, chroma_server
from tests.fakes.model import Fault, ModelServer, model_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.postgres import PostgresServer, postgres_server
from tests.fakes.process import Service, meanwhile, service, wait_for
from tests.fakes.redis import RedisServer, redis_server
from tests.fakes.server import told
from tests.integration.test_walls import client

KEY = "default-9f3c71e0b28d46a5-k"
EMBEDDINGS = "/embeddings"
REPLY = "It carries barrels of herring, they say."
DEADLINE = 2.0
"""RAG_TIMEOUT_SECONDS; three quarters of it are the embedding's."""

PAGES = {
    "Chapel": "The chapel is open from dawn to dusk, and its organ was tuned by a guest from the coast.",
    "Ferry": "The ferry carries barrels of herring to the island, in every season but winter.",
    "Orchard": "Four hundred crates of apples came from the orchard behind the chapel that year.",
    "Library": "Readers may borrow two volumes at once and keep each of them for a month.",
    "Bakery": "Rye loaves leave the oven before sunrise, and nothing is sold after noon.",
    "Bridge": "Masons mended the eastern arch with stone from the old quarry.",
    "School": "Lessons begin at eight and end when the bell of the town hall rings twice.",
}
"""Several, each as long as a passage, so that a word of one of them is rare."""

PROJECTED = {(part, "unavailable") for part in ("conversations", "code", "knowledge", "postgres")}
"""What a chat of a project lacks without Postgres."""

COLD = text_pdf("Snow lay on the pass until May, and the mail came by sledge.")

serial = count()


def question() -> str:
    """One that nobody has asked before, of which a passage holds the rare words."""
    return f"The ferry carries barrels of herring to the island: {next(serial)}?"


@dataclass
class World:
    """A service and all it depends on."""

    service: Service
    model: ModelServer
    postgres: PostgresServer
    redis: RedisServer
    chroma: RunningChroma

    def ask(self, **fields: Any) -> dict[str, Any]:
        """The reply to a question that nobody has asked before."""
        return self.service.chat(question(), **fields)

    def recall(self) -> dict[str, Any]:
        """The same from ada's memory, by /rag/query."""
        answer = self.service.client.post("/rag/query", json={"user_id": "ada", "message": question()})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def well(self) -> None:
        """Wait until an answer lacks nothing."""
        wait_for(lambda: self.ask(session_id="well")["degraded"] == [], 20)

    def turns(self, session: str) -> list[str]:
        """What was asked in a session, in order; nothing while the log is away."""
        found = self.service.client.get(f"/api/sessions/{session}/turns?limit=200").json()
        return [turn["content"] for turn in found.get("items", []) if turn["role"] == "user"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """With a document for everybody, and everything asked once."""
    folder = tmp_path_factory.mktemp("outages")
    for name in ("redis", "chroma"):
        (folder / name).mkdir()
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(model_server(REPLY)) as model,
        postgres_server(folder / "pg") as postgres,
        redis_server(folder / "redis") as redis,
        chroma_server(folder / "chroma") as chroma,
        service(
            folder / "data",
            CHAT_BASE_URL=model.url,
            EMBED_BASE_URL=model.url,
            EMBED_MODEL="fake-embedding",
            RAG_TIMEOUT_SECONDS=str(DEADLINE),
            POSTGRES_DSN=postgres.dsn,
            CACHE_URL=redis.url,
            CHROMA_URL=chroma.url,
            IBID_BOOTSTRAP_KEY=KEY,
        ) as running,
    ):
        running.client.headers["authorization"] = f"Bearer {KEY}"
        town = text_pdf([f"# {topic}\n\n{' '.join([text] * 12)}" for topic, text in PAGES.items()])
        assert running.upload("town.pdf", town, scope="global").status_code == 201
        said = [{"user_id": "ada", "text": text} for text in PAGES.values()]
        assert running.client.post("/memories", json=said).status_code == 201
        found = World(running, model, postgres, redis, chroma)
        found.well()
        yield found


def entries(reply: dict[str, Any]) -> set[tuple[str, str]]:
    """What a reply lacks: (source, reason)."""
    return {(item["source"], item["reason"]) for item in reply["degraded"]}


@pytest.fixture(autouse=True)
def recovery(world: World) -> Iterator[None]:
    """A test that failed in the middle of an outage leaves none to the next."""
    yield
    world.well()


def whole(reply: dict[str, Any]) -> bool:
    """True if it is an answer from the document."""
    return reply["rag"]["reason"] == "ok" and "town.pdf#2" in reply["cited"]


@contextmanager
def embedding(world: World, fault: Fault) -> Iterator[None]:
    """An embedding server at fault; the chat model, on the same address, is not."""
    world.model.fault = Fault(**{**vars(fault), "only": EMBEDDINGS})
    try:
        yield
    finally:
        world.model.fault = Fault()


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        pytest.param(Fault(status=500), "unavailable", id="500"),
        pytest.param(Fault(status=401), "embedding", id="401"),
        pytest.param(Fault(garbage=True), "embedding", id="garbage"),
        pytest.param(Fault(dim=7), "embedding", id="wrong dimension"),
        pytest.param(Fault(lost=1), "embedding", id="missing"),
    ],
)
def test_a_wrong_embedding_costs_the_meaning_only(world: World, fault: Fault, reason: str) -> None:
    """Words find the passage, the answer cites it, and `degraded` says what was missing."""
    with embedding(world, fault):
        reply, personal = world.ask(), world.recall()
    assert entries(reply) == entries(personal) == {("embedding", reason)}
    assert whole(reply)
    assert [item["text"] for item in personal["memory_used"]] == [PAGES["Ferry"]]
    assert world.ask()["degraded"] == []


@pytest.mark.parametrize("whose", [("zeta", ""), ("default", "bob")], ids=["another tenant", "a user"])
def test_texts_that_the_server_fails_on_cost_nobody_else(world: World, whose: tuple[str, str]) -> None:
    """Twelve of them, for longer than it takes to be left alone: the other's question is embedded."""
    tenant, user = whose
    key = world.service.key(tenant, user or None)
    with embedding(world, Fault(status=500, text="gibberish")), client(world.service, key) as other:
        for n in range(12):
            body = {"message": f"Is gibberish {n} known of the harbour?", "session_id": "s", "stream": False}
            reply = other.post("/api/chat", json=body).json()
            assert entries(reply) == {("embedding", "unavailable")}
            time.sleep(0.3)
        assert world.ask()["degraded"] == []


def test_a_client_that_leaves_during_the_search_leaves_its_question(world: World) -> None:
    """The embedding's connection is closed, the model never asked, the turn kept."""
    chats = len(world.model.asked("/chat/completions"))
    headers = {"authorization": f"Bearer {KEY}"}
    asking = {"message": question(), "session_id": f"left-{next(serial)}"}
    with embedding(world, Fault(head_delay=30)):
        with suppress(httpx.ReadTimeout):
            httpx.post(f"{world.service.lock.url}/api/chat", json=asking, headers=headers, timeout=0.4)
        asked = world.model.asked(EMBEDDINGS)[-1]
        wait_for(lambda: asked.closed_at, 5)
    session = asking["session_id"]
    wait_for(lambda: world.turns(session) == [asking["message"]])
    assert len(world.model.asked("/chat/completions")) == chats
    [turn] = world.service.client.get(f"/api/sessions/{session}/turns").json()["items"]
    assert world.service.client.get(f"/answers/{turn['answer_id']}").json()["finish_reason"] == "cancelled"


def test_a_hung_embedding_server_costs_the_first_requests_their_deadline(world: World) -> None:
    """Some wait for it and are answered from words; meanwhile a question that needs no embedding is answered
    whole, and then nobody waits. When the server is back, meaning is too."""
    known = {"message": "What does the ferry carry to the island?", "session_id": "s"}
    assert world.service.chat(**known)["degraded"] == []
    seen: list[dict[str, Any]] = []

    def suffer() -> None:
        while not seen or ("embedding", "timeout") in entries(seen[-1]):
            seen.append(world.ask())

    others = []
    with embedding(world, Fault(head_delay=30)), meanwhile(suffer) as sufferer:
        while sufferer.is_alive():
            others.append(world.service.chat(**known))
            time.sleep(0.1)
    *first, last = seen
    assert 3 <= len(first) <= 6
    assert entries(last) == {("embedding", "unavailable")}
    assert all(whole(reply) for reply in seen)
    assert all(reply["degraded"] == [] for reply in others)
    world.well()


@pytest.mark.parametrize("hang", [False, True], ids=["gone", "hung"])
def test_redis_costs_nothing(world: World, hang: bool) -> None:
    """Gone or silent: the answer is whole, and nothing is degraded."""
    world.redis.stop_answering() if hang else world.redis.kill()
    try:
        reply = world.ask()
    finally:
        world.redis.resume() if hang else world.redis.start()
    assert whole(reply)
    assert reply["degraded"] == []


def test_a_hung_chroma_delays_nobody_else(world: World) -> None:
    """While the first question to a session waits for its vectors, answers from memory are whole."""
    session = f"cold-{next(serial)}"
    assert world.service.upload("cold.pdf", COLD, session_id=session).status_code == 201
    world.chroma.signal(signal.SIGSTOP)
    try:
        with meanwhile(lambda: world.ask(session_id=session)):
            reply = world.ask()
    finally:
        world.chroma.signal(signal.SIGCONT)
    assert whole(reply)
    assert reply["degraded"] == []
    world.well()


def test_postgres_gone_leaves_the_answer(world: World) -> None:
    """Chat goes on for known keys without documents and history; whatever must be
    durable or looked up is 503. When it is back, every turn of the outage is in the log, in order."""
    client = world.service.client
    answer_id = world.ask()["answer_id"]
    world.postgres.kill()
    lacking = {("documents", "unavailable"), ("postgres", "unavailable")}
    try:
        asked = [f"What is known of it without a log ({n})?" for n in range(5)]
        replies = [world.service.chat(question, session_id="outage") for question in asked]
        personal, projected = world.recall(), world.ask(project="THN")
        contexts = [
            client.post(f"/projects/{name}/context", json={"message": "x"}) for name in ("THN", "DAAS")
        ]
        waiting = client.get(f"/answers/{replies[-1]['answer_id']}")
        refused = [
            client.get("/api/documents"),
            world.service.upload("late.pdf", text_pdf("Too late.")),
            client.delete("/api/documents/01998f39-1c02-7b3a-9c41-5d2f8e6a1b90"),
            client.get("/api/sessions"),
            client.delete("/api/sessions/outage-of-another"),
            client.get(f"/answers/{answer_id}"),
            client.post("/api/chat", json={"message": "x", "session_id": "s"}, headers=bearer("unknown" * 4)),
        ]
        ready, alive = client.get("/readyz"), client.get("/healthz")
    finally:
        world.postgres.start()
    for reply in replies:
        assert entries(reply) == lacking
        assert (reply["rag"]["reason"], reply["rag"]["used"]) == ("unavailable", False)
        assert reply["answer"] == REPLY
    parts = ("memories", "corpus", "cards", "temporal", "postgres")
    assert entries(personal) == {(part, "unavailable") for part in parts}
    assert (personal["answer"], personal["rag"]["reason"]) == (REPLY, "unavailable")
    assert entries(projected) == PROJECTED
    assert (projected["answer"], projected["rag"]["reason"]) == (REPLY, "unavailable")
    assert [told.status_code for told in contexts] == [200, 200]
    assert [told.json()["context"] for told in contexts] == ["", ""]
    assert [len(told.json()["notes"]) for told in contexts] == [0, 1]
    assert waiting.status_code == 200
    for response in refused:
        told(response, 503, "unavailable")
    assert (ready.status_code, alive.status_code) == (503, 200)
    world.well()
    wait_for(lambda: world.turns("outage") == asked)
    assert client.get(f"/answers/{replies[0]['answer_id']}").json()["answer"] == REPLY


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_postgres_hung_costs_the_first_requests_their_deadline(world: World) -> None:
    """Silent, not gone: some wait out their deadline, then nobody waits, nor does who lists
    documents or sessions. When it speaks again, every turn is in the log."""
    world.postgres.stop_answering()
    try:
        asked = [f"What is known of it in the silence ({n})?" for n in range(3)]
        replies = [world.service.chat(question, session_id="silence") for question in asked]
        for path in ("/api/documents", "/api/sessions"):
            told(world.service.client.get(path, timeout=2), 503, "unavailable")
        personal, projected = world.recall(), world.ask(project="THN")
    finally:
        world.postgres.resume()
    assert {("memories", "unavailable"), ("corpus", "unavailable")} <= entries(personal)
    assert personal["answer"] == REPLY
    assert (entries(projected), projected["answer"]) == (PROJECTED, REPLY)
    assert entries(replies[0]) == {("documents", "timeout"), ("postgres", "timeout")}
    assert entries(replies[-1]) == {("documents", "unavailable"), ("postgres", "unavailable")}
    world.well()
    wait_for(lambda: world.turns("silence") == asked)
