"""`useChat` of the AI SDK, and eventsource-parser: packages of npm, unchanged, against the service."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model import Fault
from tests.fakes.node import node
from tests.fakes.process import wait_for
from tests.fakes.server import event, told
from tests.integration.conftest import Talk
from tests.integration.test_answer import GARDEN, QUESTION

REPLY = "It gave 412 crates [garden.pdf#1], and the press made 3,100 litres of cider [garden.pdf#1]."


@pytest.fixture(autouse=True)
def garden(talk: Talk) -> None:
    assert talk.service.upload("garden.pdf", GARDEN).status_code in {200, 201}
    talk.model.reply, talk.model.fault = REPLY, Fault()


def chat(talk: Talk, **told: Any) -> Any:
    """What the chat has in the end. The session is `s`, unless `told` says another body."""
    url = talk.service.lock.url.removesuffix("/")
    return node("ui.mjs", url, json.dumps({"id": uuid.uuid4().hex, "body": {"session_id": "s"}} | told))


def texts(message: dict[str, Any]) -> list[str]:
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


def test_use_chat_shows_text_and_sources(talk: Talk) -> None:
    found = chat(talk, asks=[QUESTION])
    assert (found["status"], found["error"]) == ("ready", None)
    _, answer = found["messages"]
    assert texts(answer) == [REPLY]
    assert talk.service.client.get(f"/answers/{answer['id']}").json()["answer"] == REPLY
    [source] = [part for part in answer["parts"] if part["type"] == "source-document"]
    assert (source["sourceId"], source["filename"]) == ("garden.pdf#1", "garden.pdf")
    assert source["mediaType"] == "application/pdf"
    cited = source["providerMetadata"]["ibid"]
    assert cited["page"] == 1
    assert talk.service.client.get(cited["url"]).status_code == 200
    marks = [part["data"] for part in answer["parts"] if part["type"] == "data-citation"]
    assert [REPLY[mark["start"] : mark["end"]] for mark in marks] == ["[garden.pdf#1]"] * 2
    assert answer["metadata"]["rag"]["reason"] == "ok"
    assert answer["metadata"]["finish_reason"] == "stop"


def test_react_renders_the_answer_as_it_comes(talk: Talk) -> None:
    """And a page that was opened again renders the whole one, with its source."""
    talk.model.fault = Fault(pace=0.1)
    url, page = talk.service.lock.url.removesuffix("/"), {"id": uuid.uuid4().hex}
    sent = page | {"body": {"session_id": "s", "on_disconnect": "continue"}}
    found = node("react.mjs", url, json.dumps(sent | {"asks": [QUESTION]}))
    asked, answer = found["shown"]
    assert (asked["type"], asked["children"]) == ("user", [QUESTION])
    assert (answer["type"], answer["children"][0]) == ("assistant", REPLY)
    assert [each["children"] for each in answer["children"][1:]] == [["garden.pdf"]]
    assert found["statuses"] == ["ready", "submitted", "streaming", "ready"]
    assert len(found["answers"]) > 3
    assert all(REPLY.startswith(text) for text in found["answers"])

    left = chat(talk, **sent, asks=[QUESTION], leaveAfter=4)
    resumed = node("react.mjs", url, json.dumps(sent | {"resume": True}))
    assert resumed["shown"]["props"]["id"] == left["messages"][1]["id"]
    assert resumed["shown"]["children"] == answer["children"]


def test_use_chat_asks_on_with_the_turns_it_has(talk: Talk) -> None:
    """Its own messages are the history, whatever the thread has."""
    talk.model.reply = "Good to know."
    chat(talk, asks=["My name is Ada, by the way.", "What is my name, please?"])
    shown = [turn["content"] for turn in talk.model.asked("/chat/completions")[-1].body["messages"][1:]]
    assert shown == ["My name is Ada, by the way.", "Good to know.", "What is my name, please?"]


def test_use_chat_stops(talk: Talk) -> None:
    """Aborting the request ends the answer."""
    talk.model.fault = Fault(pace=0.1)
    found = chat(talk, asks=[QUESTION], stopAfter=3)
    assert (found["status"], found["error"]) == ("ready", None)
    assert REPLY.startswith(texts(found["messages"][1])[0])
    wait_for(lambda: talk.model.asked("/chat/completions")[-1].closed_at is not None)


def test_use_chat_resumes(talk: Talk) -> None:
    """A page that is opened again shows the whole answer; later there is nothing to resume."""
    talk.model.fault = Fault(pace=0.15)
    page: dict[str, Any] = {"id": uuid.uuid4().hex}
    body = {"session_id": "s", "on_disconnect": "continue"}
    left = chat(talk, **page, body=body, asks=[QUESTION], leaveAfter=4)
    assert left["status"] == "streaming"
    found = chat(talk, **page, resume=True)
    assert (found["status"], found["error"]) == ("ready", None)
    [answer] = found["messages"]
    assert (answer["id"], texts(answer)) == (left["messages"][1]["id"], [REPLY])
    assert [part["type"] for part in answer["parts"]].count("source-document") == 1
    assert chat(talk, **page, resume=True) == {**found, "messages": [], "updates": 0}


@pytest.mark.parametrize("fault", [Fault(error_after=4), Fault(status=500)])
def test_use_chat_shows_errors(talk: Talk, fault: Fault) -> None:
    """Before the stream and in it."""
    talk.model.fault = fault
    found = chat(talk, asks=[QUESTION])
    assert found["status"] == "error"
    assert "model" in found["error"]


def test_the_head_and_the_end_are_the_protocols(talk: Talk) -> None:
    """Unknown fields and parts are ignored; system messages are notes."""
    parts = [{"type": "step-start"}, {"type": "text", "text": QUESTION, "state": "done"}]
    messages = [
        {"role": "system", "parts": [{"type": "text", "text": "Speak plainly."}]},
        {"id": "m1", "role": "user", "parts": parts, "metadata": {"any": 1}},
    ]
    sent: dict[str, Any] = {
        "id": "c1",
        "messages": messages,
        "trigger": "submit-message",
        "messageId": None,
        "tools": {},
    }
    response = talk.service.client.post("/api/chat/ui", json=sent | {"session_id": "s"})
    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert response.headers["content-type"] == "text/event-stream"
    assert response.text.endswith("\n\ndata: [DONE]\n\n")
    asked = talk.model.asked("/chat/completions")[-1].body["messages"]
    assert asked[0]["content"].endswith("Speak plainly.")
    assert [turn["role"] for turn in asked] == ["system", "user"]


@pytest.mark.parametrize("messages", [[{"role": "user", "parts": []}], [{"role": "assistant", "parts": []}]])
def test_a_chat_without_a_question_is_refused(talk: Talk, messages: list[Any]) -> None:
    response = talk.service.client.post("/api/chat/ui", json={"id": "c1", "messages": messages})
    assert told(response, 422, "validation")["errors"][0]["field"] == "body.message"


def test_eventsource_parser_reads_the_stream(talk: Talk) -> None:
    talk.model.reply = "Line one\n\nline two: “so” [garden.pdf#1]."
    body = {"message": QUESTION, "session_id": "s"}
    text = talk.service.client.post("/api/chat", json=body).text
    found = node("events.mjs", said=text)
    ours = [event(block) for block in text.removesuffix("\n\n").split("\n\n")]
    assert [(one["id"], one["event"], one["data"]) for one in found] == [
        (one.id, one.name, one.data) for one in ours
    ]


def test_the_guides_client_survives_a_network_that_breaks(talk: Talk) -> None:
    """The example of docs/guide/streams.md, as it is."""
    page = (Path(__file__).parents[2] / "docs" / "guide" / "streams.md").read_text(encoding="utf-8")
    example = page.partition("```js\n")[2].partition("```")[0]
    talk.model.reply, talk.model.fault = REPLY * 3, Fault(pace=0.02)
    body = json.dumps({"message": QUESTION, "session_id": "s"})
    found = node("guide.mjs", talk.service.lock.url.rstrip("/"), "{}", body, said=example)
    assert found["requests"] > 1
    assert "".join(one["data"]["text"] for one in found["events"] if one["name"] == "token") == REPLY * 3
    assert [one["name"] for one in found["events"][-2:]] == ["citations", "done"]
    assert found["events"][0]["name"] == "meta"
