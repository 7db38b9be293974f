"""Follow-ups, sessions, traces and early leavers against the whole service."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.fakes.model import Fault, model_server
from tests.fakes.pdfs import text_pdf
from tests.integration.conftest import Host, Talk

SLOOP = text_pdf("The sloop Marie carries four people and costs 90 pounds a day.")
KETCH = text_pdf("The ketch Anna carries eight people. Her engine is a Bolinder of 1931.")
LISTED = "The yard has two [sloop.pdf#1]:\n1. the sloop Marie\n2. the ketch Anna"


@pytest.fixture(scope="module")
def yard(host: Host) -> Iterator[Talk]:
    """A service whose chat and embedding models are a server of ours."""
    with (
        host.beside(model_server(dim=256)) as model,
        host(
            CHAT_BASE_URL=model.url,
            EMBED_BASE_URL=model.url,
            EMBED_MODEL="fake-embedder",
        ) as running,
    ):
        yield Talk(running, model)


@pytest.fixture(autouse=True)
def calm(yard: Talk) -> Iterator[None]:
    """No fault is left from the test before."""
    yard.model.reply = LISTED
    yield
    yard.model.fault = Fault()


def boats(talk: Talk, session: str) -> str:
    """Two documents; the second one's id."""
    talk.service.upload("sloop.pdf", SLOOP, session_id=session)
    return str(talk.service.upload("ketch.pdf", KETCH, session_id=session).json()["id"])


def turns(talk: Talk, session: str) -> list[dict[str, Any]]:
    return list(talk.service.client.get(f"/api/sessions/{session}/turns").json()["items"])


def left(talk: Talk, session: str, message: str, seconds: float) -> None:
    """Ask, and go away before there is an answer."""
    body = {"message": message, "session_id": session}
    patience = httpx.Timeout(30, read=seconds)
    with pytest.raises(httpx.ReadTimeout):
        talk.service.client.post("/api/chat", json=body, timeout=patience)


def test_a_follow_up_finds_what_it_refers_to(yard: Talk) -> None:
    """`and the second one?` is searched by its name; the trace and the notes say so at once."""
    boats(yard, "follow")
    yard.service.chat("Which boats does the yard have?", session_id="follow")
    said = yard.service.chat("and the second one?", session_id="follow")
    trace = yard.service.client.get(f"/answers/{said['answer_id']}").json()
    assert trace["searched"] == "Which boats does the yard have? the ketch Anna and the second one?"
    assert f'Searched with "{trace["searched"]}"' in said["notes"]
    assert said["citations"][0]["label"] == "ketch.pdf#1"


def test_the_trace_tells_of_every_candidate(yard: Talk) -> None:
    """As soon as the answer is done: packed ones and the others, as the reply's figures say."""
    boats(yard, "trace")
    said = yard.service.chat("What does the sloop Marie cost a day?", session_id="trace", top_k=1)
    trace = yard.service.client.get(f"/answers/{said['answer_id']}").json()
    verdicts = [item["verdict"] for item in trace["candidates"]]
    assert verdicts.count("packed") == said["rag"]["passages"] == 1
    assert len(verdicts) == 2
    assert trace["rag"] == said["rag"]
    assert (trace["answer"], trace["citations"]) == (said["answer"], said["citations"])
    assert all(len(item["sha256"]) == 64 for item in trace["candidates"])


def test_a_session_is_listed_read_and_removed(yard: Talk) -> None:
    """Its documents, its turns; then nothing of it: not in the next answer, not in the cache, not by id."""
    client = yard.service.client
    document = boats(yard, "gone")
    question = {"message": "What does the sloop Marie cost?", "session_id": "gone"}
    said = yard.service.chat(**question)
    assert said["rag"]["used"]
    listed = {item["session_id"]: item for item in client.get("/api/sessions").json()["items"]}
    assert (listed["gone"]["documents"], listed["gone"]["turns"]) == (2, 2)
    assert [turn["role"] for turn in turns(yard, "gone")] == ["user", "assistant"]

    assert client.delete("/api/sessions/gone").status_code == 204
    assert client.delete("/api/sessions/gone").status_code == 404
    assert turns(yard, "gone") == []
    assert client.get(f"/answers/{said['answer_id']}").status_code == 404
    assert client.get(f"/api/documents/{document}").status_code == 404
    again = yard.service.chat(**question)
    assert (again["rag"]["reason"], again["rag"]["cached"]) == ("empty", False)
