"""The SSE grammar of an answer, byte by byte."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from app.api.events import EventStream
from app.errors import ModelTimeout
from tests.fakes.logged import Lines
from tests.fakes.server import Event, events
from tests.fakes.services import FakeReply

ASK = {"message": "hi", "session_id": "s"}
SECRET = "the patient's name is Ada"


async def raw(reply: FakeReply, *, every: float = 15) -> str:
    """The whole stream of a reply."""
    sent: list[bytes] = []
    forever = asyncio.Event()

    async def receive() -> Message:
        await forever.wait()
        return {}

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    await EventStream(reply, "request-1", every=every)({"type": "http"}, receive, send)
    return b"".join(sent).decode()


async def told(reply: FakeReply) -> list[Event]:
    """Its events."""
    return events(await raw(reply))


async def test_each_event_has_a_running_id() -> None:
    """`<answer_id>:<n>`, from 1."""
    found = await told(FakeReply(answer_id="A"))

    assert [event.id for event in found] == ["A:1", "A:2", "A:3", "A:4", "A:5"]


async def test_meta_comes_before_the_first_token_is_asked_for() -> None:
    """Sources are shown while the model still thinks."""
    reply = FakeReply(pause=30)
    got = asyncio.Event()

    async def send(message: Message) -> None:
        if b"event: meta" in message.get("body", b""):
            got.set()

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {}

    task = asyncio.create_task(EventStream(reply, "r")({"type": "http"}, receive, send))
    async with asyncio.timeout(1):
        await got.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert reply.said == 0


async def test_the_head_keeps_proxies_from_buffering(app: FastAPI, client: httpx.AsyncClient) -> None:
    """Limits and defaults of the body."""
    headers = (await client.post("/api/chat", json=ASK)).headers

    assert headers["content-type"] == "text/event-stream"
    assert headers["cache-control"] == "no-store"
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers


async def test_silence_is_filled_with_comments() -> None:
    """Which clients pass over."""
    text = await raw(FakeReply(tokens=["late"], pause=0.1), every=0.02)

    assert text.count(": ping\n\n") >= 2
    assert [event.name for event in events(text)] == ["meta", "token", "citations", "done"]


@given(st.text(max_size=80))
async def test_any_text_arrives_as_it_was_said(text: str) -> None:
    """Line breaks, quotes, ends of lines of other alphabets: none ends an event."""
    found = await told(FakeReply(tokens=[text]))

    assert found[1].data == {"text": text}


@pytest.mark.parametrize("half", ["\ud83d", "a\udc00b"], ids=["high", "low"])
async def test_half_a_character_does_not_break_the_stream(half: str) -> None:
    """Some servers cut emoji between two deltas; each half is JSON's own escape of it."""
    text = await raw(FakeReply(tokens=[half]))

    assert json.loads(text.split("data: ")[2].split("\n")[0]) == {"text": half}


async def test_a_problem_ends_the_stream() -> None:
    """As the document it would have been; its instance is the request."""
    found = await told(FakeReply(error=ModelTimeout("60 s of silence")))

    assert [event.name for event in found] == ["meta", "token", "token", "error"]
    assert found[-1].data == {
        "type": "urn:ibid:problem:model-timeout",
        "title": "The model did not answer in time",
        "status": 504,
        "detail": "60 s of silence",
        "instance": "request-1",
    }


async def test_any_other_fault_ends_it_as_an_internal_problem(lines: Lines) -> None:
    """The stream's last resort: told to the client without its text, and to the log with its place."""
    found = await told(FakeReply(error=RuntimeError(SECRET)))

    assert (found[-1].name, found[-1].data["type"]) == ("error", "urn:ibid:problem:internal")
    assert SECRET not in json.dumps(found[-1].data)
    (line,) = lines.of("answer failed")
    assert (line["error"], line["answer_id"]) == ("RuntimeError", "answer-1")
    assert SECRET not in lines.getvalue()


async def test_what_no_json_can_hold_is_an_internal_problem() -> None:
    """NaN would stop every browser at that event."""
    reply = FakeReply()
    reply.tokens = [float("nan")]  # type: ignore[list-item] # a fault of ours, acted out

    assert (await told(reply))[-1].name == "error"


async def test_the_texts_of_an_answer_are_not_logged(client: httpx.AsyncClient, lines: Lines) -> None:
    """Neither the question nor what was said."""
    await client.post("/api/chat", json=ASK | {"message": SECRET})

    assert lines.of("request")
    assert SECRET not in lines.getvalue()
    assert "Revenue" not in lines.getvalue()


async def test_an_answer_left_in_the_middle_is_ended(client: httpx.AsyncClient) -> None:
    """A slow client's answer waits inside a send; its generator is closed, not forgotten."""
    reply, blocked, leave = FakeReply(endless=True), asyncio.Event(), asyncio.Event()

    async def send(message: Message) -> None:
        if b"event: token" in message.get("body", b""):
            blocked.set()
            await asyncio.Event().wait()

    async def receive() -> Message:
        await leave.wait()
        return {"type": "http.disconnect"}

    task = asyncio.create_task(EventStream(reply, "r")({"type": "http"}, receive, send))
    await blocked.wait()
    leave.set()
    async with asyncio.timeout(1):
        await task

    assert reply.said == 1
    assert reply.ended


async def cut(reply: FakeReply, mark: str) -> list[Event]:
    """What a client hears whose stream is cancelled, as by the service's end, when it has heard `mark`."""
    sent: list[Message] = []
    heard = asyncio.Event()

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {}

    async def send(message: Message) -> None:
        sent.append(message)
        if f"event: {mark}".encode() in message.get("body", b""):
            heard.set()
            await asyncio.sleep(0)

    task = asyncio.create_task(EventStream(reply, "r")({"type": "http"}, receive, send))
    await heard.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert reply.ended
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False} or mark == "done"
    return events(b"".join(message.get("body", b"") for message in sent).decode())


async def test_the_end_of_the_service_is_the_last_event() -> None:
    """And the stream ends as streams do."""
    found = await cut(FakeReply(endless=True), "token")

    assert [found[0].name, found[-1].name] == ["meta", "error"]
    assert found[-1].data["type"] == "urn:ibid:problem:unavailable"


async def test_nothing_follows_done() -> None:
    """Whenever the service ends."""
    assert [event.name for event in await cut(FakeReply(), "done")][-1] == "done"


async def test_what_is_ready_at_once_leaves_in_one_send() -> None:
    """Events stay events; their number of sends is nobody's promise."""
    bodies: list[bytes] = []

    async def send(message: Message) -> None:
        bodies.append(message.get("body", b""))

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {}

    class Hasty(FakeReply):
        """Its second word is there already when the first one leaves."""

        async def events(self) -> AsyncIterator[tuple[str, dict[str, object]]]:
            """Two words."""
            self.more = True
            yield "token", {"text": "a"}
            self.more = False
            yield "token", {"text": "b"}

    await EventStream(Hasty(), "r")({"type": "http"}, receive, send)

    assert [body.count(b"event: token") for body in bodies if b"event: token" in body] == [2]
    assert [event.name for event in events(b"".join(bodies).decode())][:3] == ["meta", "token", "token"]
