"""A stream that breaks anywhere is resumed without a lost or doubled token, and an answer in progress can be
stopped: at the replica that gives it, at another one, after a restart."""

import json
import signal
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.chromas import chroma_server
from tests.fakes.model import Fault, ModelServer, model_server
from tests.fakes.process import Service, family, kill, service, wait_for
from tests.fakes.qdrant import qdrant_server
from tests.fakes.server import Event, event, told
from tests.integration.conftest import EVERY, Host
from tests.integration.test_answer import GARDEN, QUESTION

REPLY = "It gave 412 crates [garden.pdf#1] of apples 🍎, they say [other.pdf#7]; the press made cider."
SLOW = Fault(pace=0.02)


@dataclass
class Pair:
    """Two replicas on one Postgres, and the model that both ask."""

    one: Service
    other: Service
    model: ModelServer
    shared: dict[str, str]
    """Settings of a further replica."""


@pytest.fixture(scope="module")
def replicas(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with (
        chroma_server(tmp_path_factory.mktemp("chroma")) as chroma,
        qdrant_server(tmp_path_factory.mktemp("qdrant")) as qdrant,
        host.beside(model_server()) as model,
    ):
        shared = EVERY | {"CHROMA_URL": chroma.url, "QDRANT_URL": qdrant.url, "CHAT_BASE_URL": model.url}
        with host(**shared) as one, host(**(shared := shared | {"POSTGRES_DSN": one.dsn})) as other:
            key(one)
            key(other)
            assert one.upload("garden.pdf", GARDEN).status_code == 201
            yield Pair(one, other, model, shared)


@pytest.fixture
def pair(replicas: Pair) -> Pair:
    replicas.model.reply, replicas.model.fault = REPLY, SLOW
    return replicas


def blocks(response: httpx.Response) -> Iterator[Event]:
    """Events as they come, without pings."""
    text = ""
    for piece in response.iter_text():
        text += piece
        *whole, text = text.split("\n\n")
        yield from (event(block) for block in whole if not block.startswith(":"))


@contextmanager
def asking(replica: Service, path: str = "/api/chat", **body: Any) -> Iterator[Iterator[Event]]:
    sent = {"message": QUESTION, "session_id": "s", "on_disconnect": "continue", "history": []} | body
    with replica.client.stream("POST", path, json=sent) as response:
        assert response.status_code == 200, response.read()
        yield blocks(response)


@contextmanager
def following(replica: Service, last: str) -> Iterator[Iterator[Event]]:
    path = f"/answers/{last.partition(':')[0]}/events"
    with replica.client.stream("GET", path, headers={"Last-Event-ID": last}) as response:
        assert response.status_code == 200, response.read()
        yield blocks(response)


def resumed(replica: Service, last: str | None, answer_id: str = "") -> list[Event]:
    """The rest after the event with this id."""
    answer_id = answer_id or str(last).partition(":")[0]
    headers = {"Last-Event-ID": last} if last else {}
    with replica.client.stream("GET", f"/answers/{answer_id}/events", headers=headers) as response:
        assert response.status_code in (200, 204), response.read()
        return list(blocks(response))


def recorded(events: list[Event]) -> list[Event]:
    """As an answer's record has them: the prompt is not kept."""
    head, *others = events
    kept = {name: item for name, item in head.data.items() if name not in {"debug", "system_prompt"}}
    return [replace(head, data=kept), *others]


def broken(first: Service, then: Service, at: int, **body: Any) -> list[Event]:
    """A stream that breaks after `at` events, and what the other replica says after them."""
    with asking(first, **body) as stream:
        begun = [one for one, _ in zip(stream, range(at), strict=False)]
    return begun + resumed(then, begun[-1].id)


def intact(events: list[Event], finish: str = "stop") -> None:
    """Numbered without a gap, and the text is the answer's."""
    answer_id = events[0].data["answer_id"]
    assert [one.id for one in events] == [f"{answer_id}:{n}" for n in range(1, len(events) + 1)]
    names = [one.name for one in events]
    assert names == ["meta", *["token"] * (len(names) - 3), "citations", "done"]
    assert events[-1].data["finish_reason"] == finish


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(1, 22), where=st.sampled_from(["here", "there"]))
def test_a_stream_that_breaks_is_resumed_while_the_answer_runs(pair: Pair, at: int, where: str) -> None:
    got = broken(pair.one, pair.one if where == "here" else pair.other, at)
    intact(got)
    kept = pair.one.client.get(f"/answers/{got[0].data['answer_id']}").json()
    assert "".join(one.data["text"] for one in got if one.name == "token") == kept["answer"]
    assert recorded(got) == recorded(resumed(pair.other, None, kept["answer_id"]))


@pytest.mark.parametrize("reply", [REPLY, "", "Many.", "One\n\ntwo [garden.pdf#1, garden.pdf#2]"])
def test_every_rest_of_an_ended_answer_is_as_it_was(pair: Pair, reply: str) -> None:
    """From the record, at the other replica."""
    pair.model.reply, pair.model.fault = reply, Fault()
    with asking(pair.one) as stream:
        whole = list(stream)
    intact(whole)
    assert recorded(resumed(pair.other, None, whole[0].data["answer_id"])) == recorded(whole)
    for n, one in enumerate(whole, 1):
        assert resumed(pair.other, one.id) == whole[n:]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/rag/query", {"user_id": "ada", "stream": True}),
        ("/vantage/query", {"user_id": "eve", "stream": True}),
    ],
)
def test_the_other_endpoints_say_the_same_again(pair: Pair, path: str, body: dict[str, Any]) -> None:
    """Their `meta` has the texts of memories, which the record has not: they are read where they are."""
    pair.model.fault = Fault()
    text = "I keep the orchard's crates of apples in the north barn."
    stored = pair.one.client.post("/memories", json={"user_id": body["user_id"], "text": text})
    assert stored.status_code == 201, stored.text
    sent = {"message": "Where do I keep my crates of apples?"} | body
    with pair.one.client.stream("POST", path, json=sent) as response:
        whole = list(blocks(response))
    assert [item["text"] for item in whole[0].data["memory_used"]] == [text]
    got = resumed(pair.other, None, whole[0].data["answer_id"])
    assert recorded(got) == recorded(whole)


def test_a_forgotten_memory_is_not_said_again(pair: Pair) -> None:
    pair.model.fault = Fault()
    text = "My bees winter in the walled garden."
    memory = pair.one.client.post("/memories", json={"user_id": "bo", "text": text}).json()
    sent = {"message": "Where do my bees spend the winter?", "user_id": "bo", "stream": True}
    with pair.one.client.stream("POST", "/rag/query", json=sent) as response:
        whole = list(blocks(response))
    assert pair.one.client.delete(f"/memories/{memory['memory']['id']}").status_code == 204
    [used] = resumed(pair.one, None, whole[0].data["answer_id"])[0].data["memory_used"]
    assert used["text"] == ""


def test_an_error_is_said_again(pair: Pair) -> None:
    """But for `instance`, the id of the request that reads it."""
    pair.model.fault = Fault(error_after=3)
    with asking(pair.one) as stream:
        whole = list(stream)
    assert [one.name for one in whole[-2:]] == ["token", "error"]
    for n, one in enumerate(whole[:-1], 1):
        got = resumed(pair.other, one.id)
        assert got[:-1] == whole[n:-1]
        assert (got[-1].id, got[-1].data["type"]) == (whole[-1].id, whole[-1].data["type"])
    assert resumed(pair.other, whole[-1].id) == []


def test_a_client_that_leaves_still_cancels(pair: Pair) -> None:
    """What it had, and what was about to come, is there again, with the cancelled end."""
    pair.model.fault = Fault(pace=0.1)
    with asking(pair.one, on_disconnect="cancel") as stream:
        begun = [next(stream), next(stream)]
    request = pair.model.asked("/chat/completions")[-1]
    wait_for(lambda: request.closed_at is not None)
    intact(begun + resumed(pair.one, begun[-1].id), "cancelled")


def test_an_answer_that_somebody_follows_goes_on(pair: Pair) -> None:
    """Until the last one leaves."""
    pair.model.fault = Fault(pace=0.1)
    with ExitStack() as follower:
        with asking(pair.one, on_disconnect="cancel") as stream:
            begun = [next(stream), next(stream)]
            rest = follower.enter_context(following(pair.one, begun[-1].id))
            begun.append(next(rest))
        intact([*begun, *rest])
    with asking(pair.one, on_disconnect="cancel") as stream:
        begun = [next(stream), next(stream)]
        follower.enter_context(following(pair.one, begun[-1].id))
    follower.close()
    wait_for(lambda: pair.model.asked("/chat/completions")[-1].closed_at is not None)
    intact(begun + resumed(pair.one, begun[-1].id), "cancelled")


def test_a_stopped_answer_ends_in_good_order(pair: Pair) -> None:
    """Its stream gets citations and `done`; the same again changes nothing."""
    pair.model.fault = Fault(pace=0.1)
    with asking(pair.one) as stream:
        begun = [next(stream), next(stream)]
        stopped = pair.one.client.post(f"/answers/{begun[0].data['answer_id']}/stop")
        whole = [*begun, *stream]
    intact(whole, "cancelled")
    assert (stopped.status_code, stopped.json()["finish_reason"]) == (200, "cancelled")
    assert stopped.json()["answer"] == "".join(one.data["text"] for one in whole if one.name == "token")
    wait_for(lambda: pair.model.asked("/chat/completions")[-1].closed_at is not None)
    again = pair.one.client.post(f"/answers/{begun[0].data['answer_id']}/stop")
    assert again.json() == stopped.json()
    assert recorded(resumed(pair.other, None, begun[0].data["answer_id"])) == recorded(whole)


def test_an_ended_answer_is_not_stopped(pair: Pair) -> None:
    pair.model.fault = Fault()
    with asking(pair.one) as stream:
        *_, end = stream
    stopped = pair.one.client.post(f"/answers/{end.data['answer_id']}/stop")
    assert (stopped.status_code, stopped.json()["finish_reason"]) == (200, "stop")


def test_an_answer_is_stopped_from_another_replica(pair: Pair) -> None:
    pair.model.fault = Fault(pace=0.1)
    with asking(pair.one) as stream:
        begun = [next(stream), next(stream)]
        stopped = pair.other.client.post(f"/answers/{begun[0].data['answer_id']}/stop")
        intact([*begun, *stream], "cancelled")
    assert (stopped.status_code, stopped.json()["finish_reason"]) == (200, "cancelled")


def test_a_reader_at_another_replica_keeps_it_going(pair: Pair) -> None:
    """Long enough for the request to be renewed, with events larger than a notification."""
    pair.model.reply = "".join(f"Wort{n} " + "ß" * 9_000 + " " for n in range(3)) + REPLY
    pair.model.fault = Fault(pace=0.5)
    with ExitStack() as follower:
        with asking(pair.one, on_disconnect="cancel") as stream:
            begun = [next(stream), next(stream)]
            rest = follower.enter_context(following(pair.other, begun[-1].id))
            begun.append(next(rest))
        intact([*begun, *rest])


def test_another_users_answer_is_not_there(pair: Pair) -> None:
    """Neither to follow nor to stop, at either replica, whether it runs or has ended; an id that was never
    given looks the same."""
    pair.model.fault = Fault(pace=0.5)
    ada, bob = ({"Authorization": f"Bearer {pair.one.key(user=user)}"} for user in ("ada", "bob"))
    sent = {"message": QUESTION, "on_disconnect": "continue"}
    with pair.one.client.stream("POST", "/api/chat", json=sent, headers=ada) as response:
        answer_id = next(blocks(response)).data["answer_id"]
        told(pair.one.client.get(f"/answers/{answer_id}/events", headers=bob), 404, "not-found")
        told(pair.other.client.post(f"/answers/{answer_id}/stop", headers=bob), 404, "not-found")
        stopped = pair.other.client.post(f"/answers/{answer_id}/stop", headers=ada)
    assert stopped.json()["finish_reason"] == "cancelled"
    for unknown in (answer_id, uuid.uuid4()):
        assert pair.other.client.get(f"/answers/{unknown}/events", headers=bob).status_code == 404


@pytest.mark.parametrize("last", ["x", ":1", "01998f3a-9d21-7e40-a4b3-0c9d6f0b7a55:1", "1"])
def test_an_event_of_another_answer_is_refused(pair: Pair, last: str) -> None:
    path = f"/answers/{uuid.uuid4()}/events"
    problem = told(pair.one.client.get(path, headers={"Last-Event-ID": last}), 422, "validation")
    assert problem["errors"][0]["field"] == "header.last-event-id"


def test_answers_are_resumed_after_a_restart(pair: Pair, tmp_path: Path) -> None:
    """One that had ended, and one that the stop of the service broke off: its error is its end."""
    pair.model.fault = Fault(pace=0.1)
    with service(tmp_path / "data", **pair.shared) as first:
        key(first)
        with asking(first) as stream:
            whole = list(stream)
        pair.model.fault = Fault(pace=0.1, stall_after=4)
        with asking(first) as stream, following(pair.other, next(stream).id) as rest:
            begun = [next(stream), next(rest)]
            first.process.send_signal(signal.SIGTERM)
            cut, followed = [begun[0], *stream], [begun[1], *rest]
    assert (cut[-1].name, cut[-1].data["type"]) == ("error", "urn:ibid:problem:unavailable")
    assert [one.id for one in followed] == [one.id for one in cut]
    with service(tmp_path / "data", **pair.shared) as again:
        key(again)
        assert recorded(resumed(again, None, whole[0].data["answer_id"])) == recorded(whole)
        assert resumed(again, whole[4].id) == whole[5:]
        assert [one.id for one in resumed(again, cut[0].id)] == [one.id for one in cut[1:]]


def test_a_replica_that_dies_is_told(pair: Pair, tmp_path: Path) -> None:
    """Its answer is lost; the reader's last event is still the one to resume after."""
    pair.model.fault = Fault(pace=0.3)
    with service(tmp_path / "data", **pair.shared) as owner:
        key(owner)
        with asking(owner) as stream:
            first = next(stream)
            with pair.other.client.stream("GET", f"/answers/{first.data['answer_id']}/events") as response:
                lines = response.iter_lines()
                assert next(lines) == f"id: {first.id}"
                kill(family(owner.lock.pid))
                text = "\n".join(lines)
        problem = json.loads(text.rpartition("event: error\ndata: ")[2])
        assert problem["type"] == "urn:ibid:problem:unavailable"
        assert not text.rpartition("event: error")[0].rstrip("\n").rpartition("\n")[2].startswith("id:")


def key(replica: Service) -> None:
    replica.client.headers["Authorization"] = f"Bearer {replica.lock.token}"
