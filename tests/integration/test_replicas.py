"""Two replicas of the service on one Postgres, Chroma server, Qdrant server and cache: what one writes the
other's very next answer knows, what one has found the other need not search, and one may die."""

import asyncio
import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import asyncpg
import pytest

from app.db.embedded import Cluster
from tests.fakes.chromas import chroma_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Running, Service, service, wait_for
from tests.fakes.qdrant import qdrant_server
from tests.fakes.redis import RedisServer

QUESTION = "How many lanterns does the ferry carry?"
FERRY = text_pdf(
    [
        "# The ferry\n\nThe ferry carries thirty-one lanterns. The youngest deckhand lights them at dusk.",
        "# The quay\n\nNine bollards stand on the quay, and a bell that nobody rings.",
    ]
)
EXPIRED = "UPDATE ibid.job SET lease_until = now() - interval '1 hour' RETURNING pg_notify('ibid_jobs', '')"
TAKEN_OVER_SECONDS = 150

serial = itertools.count()


@dataclass
class Pair:
    """Both replicas, and the database they share."""

    one: Running
    other: Running
    dsn: str

    def query(self, sql: str, *values: object) -> Any:
        """One value from the shared database."""

        async def ask() -> Any:
            connection = await asyncpg.connect(self.dsn)
            try:
                return await connection.fetchval(sql, *values)
            finally:
                await connection.close()

        return asyncio.run(ask())


@pytest.fixture(scope="module")
def pair(cluster: Cluster, redis: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both on stores of this module's own, each with an empty data folder."""
    name, folder = "replicas", tmp_path_factory.mktemp("replicas")
    admin = Pair(None, None, cluster.places.dsn("postgres", "postgres"))  # type: ignore[arg-type]
    admin.query(f"CREATE DATABASE {name} TEMPLATE ibid OWNER ibid")
    dsn = cluster.places.dsn("ibid", name)
    with (
        chroma_server(tmp_path_factory.mktemp("chroma")) as chroma,
        qdrant_server(tmp_path_factory.mktemp("qdrant")) as qdrant,
    ):
        shared = {"POSTGRES_DSN": dsn, "CACHE_URL": redis.url}
        shared |= {"CHROMA_URL": chroma.url, "QDRANT_URL": qdrant.url}
        settings = shared | {"RAG_DEBUG_MODE": "true"}
        with service(folder / "one", **settings) as one, service(folder / "other", **settings) as other:
            yield Pair(one, other, dsn)
    admin.query(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def session() -> str:
    """A session that no other test has used."""
    return f"s{next(serial)}"


def ask(replica: Service, session: str, message: str = QUESTION) -> dict[str, Any]:
    """An answer that no earlier turn has a part in."""
    return replica.chat(message, session_id=session, history=[])


def place(replica: Service, session: str, name: str = "ferry.pdf", content: bytes = FERRY) -> str:
    """The id of a document that is searchable now."""
    answer = replica.upload(name, content, session_id=session)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def lasting(said: dict[str, Any]) -> dict[str, Any]:
    """A reply without what differs from one answer to the next: its id, its times, and `cached`."""
    kept = copy.deepcopy(said)
    for name in ("answer_id", "took_ms"):
        del kept[name]
    for name in ("cached", "took_ms"):
        del kept["rag"][name]
    return kept


def cited(said: dict[str, Any]) -> set[str]:
    """The documents that an answer was given."""
    return {item["label"].rpartition("#")[0] for item in said["citations"]}


def whole(replica: Service) -> bool:
    """True if all that it uses answers, also what answers can do without."""
    return all(check["ok"] for check in replica.client.get("/readyz").json()["checks"])


@pytest.mark.parametrize("scope", ["session", "global"])
def test_an_upload_shows_in_the_others_very_next_answer(pair: Pair, session: str, scope: str) -> None:
    """Also where the other has just kept that there is nothing."""
    message = f"How many bollards stand on the {scope} quay?"
    before = [ask(pair.other, session, message) for _ in range(2)]
    assert before[1]["rag"]["cached"]
    where = {"scope": "global"} if scope == "global" else {"session_id": session}
    document = pair.one.upload(f"{scope}.pdf", FERRY, **where).json()["id"]

    said = ask(pair.other, session, message)

    assert f"{scope}.pdf" in cited(said)
    assert not said["rag"]["cached"]
    assert pair.one.client.delete(f"/api/documents/{document}").status_code == 204


def test_a_delete_shows_in_the_others_very_next_answer(pair: Pair, session: str) -> None:
    """Also where the other, and the cache of both, has kept what was found."""
    document = place(pair.one, session)
    assert [ask(pair.one, session)["rag"]["cached"] for _ in range(2)] == [False, True]

    assert pair.other.client.delete(f"/api/documents/{document}").status_code == 204

    said = ask(pair.one, session)
    assert (said["rag"]["reason"], said["citations"]) == ("empty", [])
    assert "lantern" not in said["answer"]


def test_what_one_has_found_is_a_hit_at_the_other(pair: Pair, session: str) -> None:
    """Through the shared cache, and then from its own memory: the same reply to the letter, scores, order,
    labels, prompt and all."""
    place(pair.one, session)
    for n in range(5):  # on a busy machine the cache may take longer than an answer waits for it
        searched = ask(pair.one, session, f"{QUESTION} {n}")
        replies = [ask(replica, session, f"{QUESTION} {n}") for replica in (pair.other, pair.other, pair.one)]
        if replies[0]["rag"]["cached"]:
            break

    assert not searched["rag"]["cached"]
    assert [said["rag"]["cached"] for said in replies] == [True, True, True]
    assert [lasting(said) for said in replies] == [lasting(searched)] * 3
    assert searched["debug"]["chunks"]
    assert "thirty-one" in searched["answer"]


def test_mcp_requests_of_one_client_reach_either(pair: Pair, session: str) -> None:
    """No request depends on the one before: what one lists and finds, the other reads."""

    def call(replica: Service, method: str, **params: object) -> Any:
        sent = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return replica.client.post("/mcp", json=sent, headers=head).json()["result"]

    place(pair.one, session)
    head = {"Accept": "application/json, text/event-stream", "X-Ibid-Session": session}
    assert "search" in {tool["name"] for tool in call(pair.one, "tools/list")["tools"]}
    found = call(pair.other, "tools/call", name="search", arguments={"query": QUESTION})
    first = found["structuredContent"]["results"][0]
    read = call(pair.one, "resources/read", uri=first["url"])
    fetched = call(pair.other, "tools/call", name="fetch", arguments={"id": first["id"]})
    assert "thirty-one" in read["contents"][0]["text"]
    assert fetched["structuredContent"]["text"] == read["contents"][0]["text"]


def test_without_the_cache_both_answer_as_before(pair: Pair, redis: RedisServer, session: str) -> None:
    """Hung or gone, it is missed by nobody: nothing is degraded, both stay ready."""
    place(pair.one, session)
    searched = ask(pair.one, session, "What carries thirty-one lanterns?")
    redis.stop_answering()
    try:
        said = ask(pair.other, session, "What carries thirty-one lanterns?")
        assert pair.other.client.get("/readyz").status_code == 200
    finally:
        redis.resume()
    assert not said["rag"]["cached"]
    assert said["degraded"] == []
    assert lasting(said) == lasting(searched)


@pytest.mark.timeout(300)
def test_one_dies_and_the_other_goes_on(pair: Pair, session: str) -> None:
    """`kill -9` in the middle of reading a document in: questions are answered, the work is taken over."""
    place(pair.one, session)
    long = text_pdf([f"# Voyage {n}\n\n" + f"Barge {n} carried salt past the weir. " * 12 for n in range(80)])
    sent = pair.one.upload("voyages.pdf", long, session_id=session, wait="0")
    assert sent.status_code == 202
    worker = "SELECT worker FROM ibid.job WHERE document_id = $1"
    wait_for(lambda: pair.query(worker, sent.json()["id"]))
    holder = str(pair.query(worker, sent.json()["id"])).split(":")[0]
    dies, lives = (pair.one, pair.other) if int(holder) == pair.one.process.pid else (pair.other, pair.one)

    dies.process.kill()
    dies.process.wait()

    assert pair.query("SELECT state FROM ibid.document WHERE id = $1", sent.json()["id"]) == "processing"
    assert "thirty-one" in ask(lives, session)["answer"]
    # The dead one's lease would run out by itself, half a minute later.
    pair.query(EXPIRED)
    path = f"/api/documents/{sent.json()['id']}"
    wait_for(lambda: lives.client.get(path).json()["state"] == "ready", TAKEN_OVER_SECONDS)
    said = ask(lives, session, "What did barge 67 carry past the weir?")
    assert "voyages.pdf" in cited(said)


def test_a_second_service_with_embedded_engines_is_refused(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Two would refill each other for ever. The first goes on, and the second starts once it has ended."""
    folder, name = tmp_path_factory.mktemp("embedded"), "embedded"
    admin = Pair(None, None, cluster.places.dsn("postgres", "postgres"))  # type: ignore[arg-type]
    admin.query(f"CREATE DATABASE {name} TEMPLATE ibid OWNER ibid")
    dsn = cluster.places.dsn("ibid", name)
    try:
        with service(folder / "one", POSTGRES_DSN=dsn) as one:
            place(one, "s")
            with (
                pytest.raises(AssertionError, match=r"Set QDRANT_URL and CHROMA_URL"),
                service(folder / "other", POSTGRES_DSN=dsn),
            ):
                pass
            assert "thirty-one" in ask(one, "s")["answer"]
            wait_for(partial(whole, one), 30)
        with service(folder / "other", POSTGRES_DSN=dsn) as other:
            assert "thirty-one" in ask(other, "s")["answer"]
        log = (folder / "one.log").read_text()
        assert "refilled" not in log
    finally:
        admin.query(f"DROP DATABASE {name} WITH (FORCE)")
