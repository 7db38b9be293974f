"""Feedback and votes over whole services: two replicas on one Postgres and one Qdrant, a restart, an outside
memory service, and a Postgres that dies. The tests go on with what those before them left."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.fakes.chromas import chroma_server
from tests.fakes.model import ModelServer, model_server
from tests.fakes.outside import Ill, OutsideServer, outside_server
from tests.fakes.postgres import PostgresServer, postgres_server
from tests.fakes.process import Service, wait_for
from tests.fakes.qdrant import qdrant_server
from tests.fakes.server import told
from tests.integration.conftest import Host

QUESTION = "On which day do I swim in the lake?"
WORDS = ("I swim in the lake on Tuesday morning.", "I swim in the lake on Thursday morning.")
POINT = "6f9619ff-8b86-d011-b42d-00cf4fc964ff"
"""Of a memory that an older tool wrote."""


@dataclass
class World:
    """What the services share, and those that run."""

    host: Host
    settings: dict[str, str]
    postgres: PostgresServer
    outside: OutsideServer
    model: ModelServer
    one: Service = field(init=False)
    other: Service = field(init=False)
    ones: ExitStack = field(default_factory=ExitStack)

    def start(self, **more: str) -> None:
        """The one, again on what is kept; the other runs on."""
        self.ones.close()
        self.one = self.ones.enter_context(self.host(**self.settings, **more))


def said_by_model(body: dict[str, Any]) -> str:
    """A sentiment behind a thought, or an answer."""
    return (
        "Is it positive?\n</think>\n\nNegative."
        if body["model"] == "judge"
        else "On Tuesday, and on Thursday."
    )


@pytest.fixture(scope="module")
def world(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Ada and Bob have the same two memories."""
    with (
        postgres_server(tmp_path_factory.mktemp("postgres")) as postgres,
        chroma_server(tmp_path_factory.mktemp("chroma")) as chroma,
        qdrant_server(tmp_path_factory.mktemp("qdrant")) as qdrant,
        host.beside(outside_server()) as outside,
        host.beside(model_server(said_by_model)) as model,
    ):
        settings = {"POSTGRES_DSN": postgres.dsn, "RAG_DEBUG_MODE": "true"}
        settings |= {"CHROMA_URL": chroma.url, "QDRANT_URL": qdrant.url}
        found = World(host, settings, postgres, outside, model)
        with found.ones, host(**settings) as found.other:
            found.start()
            for user in ("ada", "bob"):
                for text in WORDS:
                    kept = found.one.client.post("/memories", json={"user_id": user, "text": text})
                    assert kept.status_code == 201, kept.text
            yield found


def ask(replica: Service, user: str = "ada", **fields: str) -> dict[str, Any]:
    """The reply to the question."""
    body = {"user_id": user, "message": QUESTION} | fields
    answer = replica.client.post("/rag/query", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def say(replica: Service, message: str = "Thanks, perfect!", **fields: str) -> httpx.Response:
    return replica.client.post("/rag/feedback", json={"user_id": "ada", "message": message} | fields)


def vote(
    replica: Service, memory: str, signal: int, user: str = "ada", answer: str | None = None
) -> httpx.Response:
    """A vote, without an answer or about one."""
    body = {"user_id": user, "memory_id": memory, "signal": signal, "answer_id": answer}
    return replica.client.post("/memory_feedback", json=body)


def ranking(said: dict[str, Any]) -> list[tuple[object, ...]]:
    """What was told, in its order, with its figures."""
    return [(item["id"], item["score"], item["boosts"]) for item in said["memory_used"]]


def counts(replica: Service, *ids: str, user: str = "ada") -> dict[str, Any]:
    found = replica.client.get("/memory_feedback", params={"user_id": user, "ids": ",".join(ids)})
    return dict(found.json())


def test_feedback_given_to_another_replica_counts_once(world: World) -> None:
    """For each memory of the answer: a repeat changes nothing, a change of mind replaces; and it is seen by
    the replica that answered."""
    said = ask(world.one)
    ids = [item["id"] for item in said["memory_used"]]
    assert len(ids) == 2
    effects = [say(world.other, word).json() for word in ("Thanks!", "Thank you!", "That's wrong.")]
    assert [(it["sentiment"], it["decided_by"], it["applied"]) for it in effects] == [
        ("positive", "marker", 2),
        ("positive", "marker", 0),
        ("negative", "marker", 2),
    ]
    assert all((it["answer_id"], it["memory_ids"]) == (said["answer_id"], ids) for it in effects)
    assert effects[0]["persona_refreshed"]
    assert counts(world.one, *ids) == {key: {"positive": 0, "negative": 1} for key in ids}
    assert all(item["boosts"]["feedback"] < 1 for item in ask(world.one)["memory_used"])
    say(world.one, rating="up", answer_id=said["answer_id"])
    assert counts(world.other, *ids) == {key: {"positive": 1, "negative": 0} for key in ids}


def test_votes_move_the_next_ranking_and_taking_them_back_restores_it(world: World) -> None:
    """On every replica, to the last digit, and so do opposite ones; nobody else's ranking moves."""
    before, bobs = ranking(ask(world.one)), ranking(ask(world.one, "bob"))
    last = str(before[-1][0])
    for n in range(20):
        assert vote(world.other, last, 1, answer=f"answer {n}").json()["applied"]
    moved = [ranking(ask(replica)) for replica in (world.one, world.other)]
    assert moved[0] == moved[1]
    assert [item[0] for item in moved[0]] == [last, before[0][0]]
    for n in range(20):
        if n % 2:
            assert vote(world.one, last, 0, answer=f"answer {n}").json()["applied"]
        else:
            vote(world.one, last, -1, answer=f"another {n}")
    assert ranking(ask(world.one)) == ranking(ask(world.other)) == before
    assert ranking(ask(world.one, "bob")) == bobs


def test_a_memory_of_an_older_tool_takes_votes(world: World) -> None:
    """Of the user whom it names alone: the index vouches for it, the record does not know it."""
    found = world.one.client.get("/readyz").json()["checks"]
    assert next(check["ok"] for check in found if check["name"] == "qdrant")
    url = f"{world.settings['QDRANT_URL']}/collections/memory_raw"
    with httpx.Client(trust_env=False) as client:
        wait_for(lambda: client.get(url).is_success)  # the outbox makes it
        shape = client.get(url).json()["result"]["config"]["params"]["vectors"]
        vector = {name: [1.0] + [0.0] * (facts["size"] - 1) for name, facts in shape.items()}
        payload = {"user_id": "ada", "text": "An older tool kept this.", "source": "frontend/chat:user"}
        point = {"id": POINT, "vector": vector, "payload": payload}
        client.put(f"{url}/points?wait=true", json={"points": [point]}).raise_for_status()
    told(vote(world.one, POINT, 1, "bob"), 404, "not-found")
    assert vote(world.one, POINT, 1).status_code == 200
    assert counts(world.other, POINT) == {POINT: {"positive": 1, "negative": 0}}


def test_after_a_restart_with_an_outside_service(world: World) -> None:
    """The last answer takes feedback, votes are where they were. The outside service is asked for its own
    counts, told of every change, and stood in for while it is ill: said in `degraded`."""
    said, kept = ask(world.one), ranking(ask(world.one))
    ids = [item["id"] for item in said["memory_used"]]
    world.outside.ill = Ill(500)
    world.start(MEMORY_SERVICE_URL=world.outside.url, CHAT_BASE_URL=world.model.url, FEEDBACK_MODEL="judge")

    again = ask(world.one)
    assert ranking(again) == kept
    assert again["degraded"] == [{"source": "memory_service", "reason": "unavailable"}]
    told(say(world.one, answer_id=said["answer_id"]), 503, "unavailable")
    checks = world.one.client.get("/readyz").json()["checks"]
    assert [check["ok"] for check in checks if check["name"] == "memory_service"] == [False]

    world.outside.ill = Ill()
    wait_for(lambda: ask(world.one)["degraded"] == [], 20)
    assert [say(world.one, answer_id=said["answer_id"]).json()["applied"] for _ in range(2)] == [2, 0]
    sent = {"user_id": "ada", "signal": 1, "answer_id": said["answer_id"]}
    assert world.outside.told == [sent | {"memory_id": key} for key in sorted(ids)]
    heard = ask(world.one)
    assert heard["meta_explanation"]["temporal"]["bucket"] == world.outside.moment["bucket"]
    assert heard["meta_explanation"]["feedback"] == {"positive": 2, "negative": 0, "net": 2}
    for told_of in (world.one.client.get("/users/dora/export"), world.one.client.delete("/users/dora")):
        [note] = told_of.json()["notes"]
        assert "outside memory service" in note
    assert world.other.client.delete("/users/dora").json()["notes"] == []


def test_a_model_decides_where_no_marker_does(world: World) -> None:
    """FEEDBACK_MODEL at the chat model's server; of a reasoning model the word behind its thoughts."""
    said = ask(world.one)
    effect = say(world.one, "I had hoped for the one about the sea", answer_id=said["answer_id"]).json()
    assert (effect["sentiment"], effect["decided_by"], effect["applied"]) == ("negative", "model", 2)
    assert world.model.asked("/chat/completions")[-1].body["model"] == "judge"


def test_without_postgres_feedback_is_refused(world: World) -> None:
    """As a problem that says when to ask again; nothing is kept."""
    said = ask(world.one)
    world.postgres.kill()
    for refused in (
        say(world.one, answer_id=said["answer_id"]),
        say(world.one),
        vote(world.one, said["memory_used"][0]["id"], 1),
    ):
        assert told(refused, 503, "unavailable")
        assert int(refused.headers["retry-after"]) > 0
    world.postgres.start()
    wait_for(lambda: say(world.one, answer_id=said["answer_id"]).status_code == 200, 30)
