"""The model and the client at fault, against the running service (docs/failures.md).

Each test asks a model by a name of its own: a breaker is a model's, so none is left open to the next test.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from tests.fakes.model import Fault, model_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service, family, is_alive, kill, meanwhile, service, wait_for
from tests.fakes.server import told
from tests.integration.conftest import Talk

CHAT = "/chat/completions"
QUESTION = "What does the ferry carry to the island?"
REPLY = "It carries barrels of herring, they say."
SILENCE = 1.0
"""Seconds after which the model is given up (CHAT_TIMEOUT_SECONDS)."""

serial = count()


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """A service with little patience with its model."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(model_server(REPLY)) as model,
        service(
            tmp_path_factory.mktemp("faults") / "data",
            CHAT_BASE_URL=model.url,
            CHAT_TIMEOUT_SECONDS=str(SILENCE),
        ) as running,
    ):
        ferry = text_pdf("The ferry carries barrels of herring to the island.")
        assert running.upload("ferry.pdf", ferry, scope="global").status_code == 201
        yield Talk(running, model)


@contextmanager
def broken(talk: Talk, fault: Callable[[str], Fault]) -> Iterator[str]:
    """A model that is at fault, by its name."""
    name = f"model-{next(serial)}-"
    talk.model.fault = fault(name)
    try:
        yield name
    finally:
        talk.model.fault = Fault()


def body(session: str, model: str, **fields: Any) -> dict[str, Any]:
    return {"message": QUESTION, "session_id": session, "model": model} | fields


def streamed(response: httpx.Response) -> list[tuple[str, dict[str, Any]]]:
    """(event, data) of a streamed answer."""
    blocks = [block.splitlines() for block in response.text.split("\n\n") if block.startswith("id: ")]
    return [
        (lines[1].removeprefix("event: "), json.loads(lines[2].removeprefix("data: "))) for lines in blocks
    ]


def turns(running: Service, session: str, least: int) -> list[tuple[str, str]]:
    """(role, content) of a session, once there are that many."""

    def kept() -> list[dict[str, Any]]:
        found = running.client.get(f"/api/sessions/{session}/turns?limit=200").json()
        return list(found.get("items", []))

    wait_for(lambda: len(kept()) >= least)
    return [(turn["role"], turn["content"]) for turn in kept()]


def finish(running: Service, session: str) -> str | None:
    """How the session's only answer ended, as it was kept."""
    [answer_id] = {
        turn["answer_id"] for turn in running.client.get(f"/api/sessions/{session}/turns").json()["items"]
    }
    reason: str | None = running.client.get(f"/answers/{answer_id}").json()["finish_reason"]
    return reason


@pytest.mark.parametrize(
    ("fault", "status", "slug", "stream"),
    [
        pytest.param(Fault(status=401), 502, "model-refused", True, id="401"),
        pytest.param(Fault(status=429, retry_after="7"), 503, "model-busy", True, id="429"),
        pytest.param(Fault(status=500), 502, "model-failed", False, id="500, whole"),
        pytest.param(Fault(garbage=True), 502, "model-failed", True, id="garbage"),
        pytest.param(Fault(head_delay=30), 504, "model-timeout", True, id="silent"),
    ],
)
def test_before_the_head_a_model_fault_is_a_status(
    talk: Talk, fault: Fault, status: int, slug: str, stream: bool
) -> None:
    """A problem with its own slug, a 429 with the server's Retry-After; the question is kept."""
    session = f"head-{next(serial)}"
    with broken(talk, lambda name: Fault(**{**vars(fault), "only": CHAT, "model": name})) as model:
        response = talk.service.client.post("/api/chat", json=body(session, model, stream=stream))
    told(response, status, slug)
    assert response.headers.get("retry-after") == fault.retry_after
    assert turns(talk.service, session, 1) == [("user", QUESTION)]
    assert finish(talk.service, session) is None


@pytest.mark.parametrize(
    ("fault", "slug"),
    [
        pytest.param(Fault(stall_after=2), "model-timeout", id="stalls"),
        pytest.param(Fault(close_after=2, pace=0.1), "model-failed", id="closes early"),
        pytest.param(Fault(error_after=2), "model-failed", id="error event"),
        pytest.param(Fault(garbage_after=2), "model-failed", id="garbage"),
        pytest.param(Fault(unfinished=True), "model-failed", id="never finished"),
    ],
)
def test_after_the_head_a_model_fault_is_an_event(talk: Talk, fault: Fault, slug: str) -> None:
    """What was said has left, then `error` with the problem and nothing after it; both turns are kept,
    without a finish. The next question is answered."""
    session = f"stream-{next(serial)}"
    with broken(talk, lambda name: Fault(**{**vars(fault), "only": CHAT, "model": name})) as model:
        response = talk.service.client.post("/api/chat", json=body(session, model))
        told_, last = streamed(response)[1:-1], streamed(response)[-1]
    said = "".join(data["text"] for name, data in told_ if name == "token")
    assert REPLY.startswith(said.strip())
    assert said
    assert (last[0], last[1]["type"]) == ("error", f"urn:ibid:problem:{slug}")
    kept = talk.service.client.get(f"/api/sessions/{session}/turns").json()["items"]
    assert [(turn["role"], turn["content"]) for turn in kept] == [("user", QUESTION), ("assistant", said)]
    assert finish(talk.service, session) is None
    assert talk.service.chat(QUESTION, session_id=session, model=model)["answer"].startswith(REPLY)


def test_a_whole_answer_that_breaks_off_is_a_status(talk: Talk) -> None:
    """Nothing has left yet: the fault in the middle is the problem that it would be before the head."""
    with broken(talk, lambda name: Fault(only=CHAT, model=name, close_after=2)) as model:
        response = talk.service.client.post("/api/chat", json=body("whole", model, stream=False))
    told(response, 502, "model-failed")


def test_a_dead_model_is_not_waited_for(talk: Talk) -> None:
    """After some seconds of silence in a row the next one is told at once, as 504 with Retry-After; nothing
    is sent to the server, and another of its models answers as before."""
    client = talk.service.client
    with broken(talk, lambda name: Fault(only=CHAT, model=name, head_delay=30)) as model:
        patience = time.monotonic() + 15
        while (response := client.post("/api/chat", json=body("dead", model))).elapsed.total_seconds() > 0.5:
            told(response, 504, "model-timeout")
            assert time.monotonic() < patience
        asked = len(talk.model.asked(CHAT))
        response = client.post("/api/chat", json=body("dead", model))
        told(response, 504, "model-timeout")
        assert 1 <= int(response.headers["retry-after"]) <= 5
        assert len(talk.model.asked(CHAT)) == asked
        assert client.post("/api/chat", json=body("dead", "another")).status_code == 200


def test_a_model_at_fault_delays_nobody_else(talk: Talk) -> None:
    """One waits for a head and one in the middle of its answer: another's first byte comes as before."""

    @contextmanager
    def held() -> Iterator[None]:
        with (
            broken(talk, lambda name: Fault(only=CHAT, model=name, stall_after=2)) as model,
            ExitStack() as both,
        ):
            arrived = len(talk.model.asked(CHAT))
            both.enter_context(
                meanwhile(lambda: talk.service.client.post("/api/chat", json=body("a", model)))
            )
            wait_for(lambda: len(talk.model.asked(CHAT)) == arrived + 1)
            talk.model.fault = Fault(only=CHAT, model=model, head_delay=30)
            both.enter_context(
                meanwhile(lambda: talk.service.client.post("/api/chat", json=body("b", model)))
            )
            wait_for(lambda: len(talk.model.asked(CHAT)) == arrived + 2)
            yield

    with held():
        assert talk.service.client.post("/api/chat", json=body("other", "quick")).status_code == 200


def left_at_the_head(running: Service, question: dict[str, Any]) -> None:
    """Ask, hear nothing for a while, go."""
    with suppress(httpx.ReadTimeout):
        httpx.post(f"{running.lock.url}/api/chat", json=question, timeout=0.4)


def left_in_the_middle(running: Service, question: dict[str, Any]) -> None:
    """Ask, read until something is said, go."""
    with httpx.stream("POST", f"{running.lock.url}/api/chat", json=question, timeout=10) as response:
        lines = response.iter_lines()
        while "event: token" not in next(lines):
            pass


@pytest.mark.parametrize(
    ("fault", "leave", "said"),
    [
        pytest.param(Fault(head_delay=30), left_at_the_head, [], id="before the head"),
        pytest.param(
            Fault(stall_after=2), left_in_the_middle, [("assistant", "It carries ")], id="in the middle"
        ),
    ],
)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_client_that_leaves_lets_the_model_go(
    talk: Talk,
    fault: Fault,
    leave: Callable[[Service, dict[str, Any]], None],
    said: list[tuple[str, str]],
    stream: bool,
) -> None:
    """The model's connection is closed at once, and the turn is kept as cancelled."""
    if not stream:
        leave = left_at_the_head  # a whole answer has no middle for its client
    session = f"left-{next(serial)}"
    with broken(talk, lambda name: Fault(**{**vars(fault), "only": CHAT, "model": name})) as model:
        leave(talk.service, body(session, model, stream=stream))
        asked = talk.model.asked(CHAT)[-1]
        wait_for(lambda: asked.closed_at, 5)
    kept = turns(talk.service, session, 1 + len(said))
    assert [(role, text.strip()) for role, text in kept] == [
        (role, text.strip()) for role, text in [("user", QUESTION), *said]
    ]
    assert finish(talk.service, session) == "cancelled"


def test_an_answer_may_be_finished_without_its_reader(talk: Talk) -> None:
    """`on_disconnect: continue`: the client has gone, the answer is said to its end and kept."""
    session = f"left-{next(serial)}"
    with broken(talk, lambda name: Fault(only=CHAT, model=name, pace=0.1)) as model:
        left_in_the_middle(talk.service, body(session, model, on_disconnect="continue"))
        [asked, said] = turns(talk.service, session, 2)
    assert asked == ("user", QUESTION)
    assert said[1].startswith(REPLY)
    assert finish(talk.service, session) == "stop"


def test_postgres_killed_in_the_middle_costs_no_answer_and_no_turn(talk: Talk) -> None:
    """kill -9 of the embedded server while three clients ask: it is started again, every answer is whole, at
    worst without documents and history, and afterwards every turn stands in the log, in its order."""
    postmaster = int((talk.service.folder / "postgres/data/postmaster.pid").read_text().split()[0])
    degraded: list[dict[str, str]] = []
    asked: dict[str, list[str]] = {f"killed-{n}": [] for n in range(3)}

    def ask(session: str) -> None:
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            question = f"{QUESTION} ({len(asked[session])})"
            reply = talk.service.chat(question, session_id=session)
            assert reply["answer"].startswith(REPLY)
            degraded.extend(reply["degraded"])
            asked[session].append(question)

    clients = [threading.Thread(target=ask, args=[session]) for session in asked]
    for client in clients:
        client.start()
    time.sleep(0.4)
    kill({postmaster})
    for client in clients:
        client.join()
    assert {item["source"] for item in degraded} <= {"documents", "postgres"}
    assert {item["reason"] for item in degraded} <= {"unavailable", "timeout"}
    for session, questions in asked.items():
        assert len(questions) > 1
        kept = turns(talk.service, session, 2 * len(questions))
        assert [text for role, text in kept if role == "user"] == questions
    wait_for(lambda: talk.service.chat(QUESTION)["degraded"] == [])


def embedder(talk: Talk) -> int:
    """The process that has the bundled model."""
    pids = [pid for pid in family(talk.service.lock.pid) if is_alive(pid)]
    [found] = [
        pid for pid in pids if b"app.models.bundled_child" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
    return found


def test_the_embedder_s_process_killed_costs_no_answer_its_meaning(talk: Talk) -> None:
    """While three clients ask: the next question starts another, and what was under way is asked of that."""
    first = embedder(talk)
    replies: list[dict[str, Any]] = []

    def ask(session: str) -> None:
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            replies.append(talk.service.chat(f"{QUESTION} {session} {next(serial)}", session_id=session))

    clients = [threading.Thread(target=ask, args=[f"embed-{n}"]) for n in range(3)]
    for client in clients:
        client.start()
    time.sleep(0.3)
    kill({first})
    before = len(replies)
    for client in clients:
        client.join()
    assert len(replies) > before
    assert [reply["degraded"] for reply in replies] == [[]] * len(replies)
    assert embedder(talk) != first


def test_the_embedder_s_process_silent_costs_the_meaning_until_it_answers(talk: Talk) -> None:
    """As a server's silence does. `/healthz` and known questions do not wait for it."""
    known = f"{QUESTION} known"
    assert talk.service.chat(known)["degraded"] == []
    hung = embedder(talk)
    os.kill(hung, signal.SIGSTOP)
    try:
        reply = talk.service.chat(f"{QUESTION} {next(serial)}", session_id="embed-hung")
        assert reply["degraded"] == [{"source": "embedding", "reason": "timeout"}]
        assert reply["answer"].startswith(REPLY)
        assert talk.service.chat(known)["degraded"] == []
        assert talk.service.client.get("/healthz").status_code == 200
    finally:
        os.kill(hung, signal.SIGCONT)
    assert talk.service.chat(f"{QUESTION} {next(serial)}", session_id="embed-hung")["degraded"] == []
