"""Responses in pieces: events, pings, clients that leave."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import cast

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message

from app.answering.live import Numbered
from app.answering.stream import Reply
from app.api import sse
from app.api.chat import SHAPES
from app.api.documents import DocumentEvents
from app.api.sse import EventStream, Resumed, Wire, download, unless_gone
from app.errors import ModelTimeout, Unavailable
from tests.fakes.logged import Lines
from tests.fakes.server import Event, events
from tests.fakes.services import FakeReply

ASK = {"message": "hi", "session_id": "s"}
SECRET = "the patient's name is Ada"


def wire(reply: FakeReply) -> Wire:
    return SHAPES.events(cast(Reply, reply), "request-1")


class Client:
    """The other end: what it got, whether it reads, when it leaves."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.ended = False
        self.reads = asyncio.Event()
        self.reads.set()
        self.left = asyncio.Event()

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Takes what comes while it reads; like a server, refuses what comes after the end."""
        if message["type"] == "http.response.body":
            await self.reads.wait()
            assert not self.ended, "sent after the end"
            self.got.append(message["body"])
            self.ended = not message["more_body"]

    async def hear(self, reply: FakeReply, *, watch: bool = True) -> None:
        """The stream of a reply."""
        stream = EventStream(cast(Reply, reply), wire(reply), watch=watch)
        await stream({"type": "http"}, self.receive, self.send)

    @property
    def names(self) -> list[str]:
        return [event.name for event in events(b"".join(self.got).decode())]


async def raw(reply: FakeReply) -> str:
    """The whole stream of a reply."""
    client = Client()
    await client.hear(reply)
    return b"".join(client.got).decode()


async def told(reply: FakeReply) -> list[Event]:
    return events(await raw(reply))


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

    task = asyncio.create_task(EventStream(cast(Reply, reply), wire(reply))({"type": "http"}, receive, send))
    async with asyncio.timeout(1):
        await got.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert reply.said == 0


async def test_the_head_keeps_proxies_from_buffering(app: FastAPI, client: httpx.AsyncClient) -> None:
    headers = (await client.post("/api/chat", json=ASK)).headers

    assert headers["content-type"] == "text/event-stream"
    assert headers["cache-control"] == "no-store"
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers


async def test_silence_is_filled_with_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "PING_SECONDS", 0.02)
    text = await raw(FakeReply(tokens=["late"], pause=0.1))

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

    task = asyncio.create_task(EventStream(cast(Reply, reply), wire(reply))({"type": "http"}, receive, send))
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

    task = asyncio.create_task(EventStream(cast(Reply, reply), wire(reply))({"type": "http"}, receive, send))
    await heard.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert reply.ended
    assert not sent[-1]["more_body"]
    return events(b"".join(message.get("body", b"") for message in sent).decode())


ALL = ["meta", "token", "token", "citations", "done"]


@pytest.mark.parametrize("hold", range(5))
async def test_a_slow_client_loses_nothing(monkeypatch: pytest.MonkeyPatch, hold: int) -> None:
    """Nothing piles up for it, and no ping that waited for it comes after the end."""
    monkeypatch.setattr(sse, "PING_SECONDS", 0.005)
    client, reply = Client(), FakeReply(pause=0.005)
    task = asyncio.create_task(client.hear(reply))
    await asyncio.sleep(0.004 * hold)
    client.reads.clear()
    await asyncio.sleep(0.05)
    client.reads.set()

    await task

    assert (client.names, client.got[-1]) == (ALL, b"")


async def test_a_client_that_never_reads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "PING_SECONDS", 0.01)
    monkeypatch.setattr(sse, "STALL_SECONDS", 0.05)
    client, reply = Client(), FakeReply(endless=True, pause=0.01)
    task = asyncio.create_task(client.hear(reply))
    await asyncio.sleep(0.005)
    client.reads.clear()

    async with asyncio.timeout(5):
        await task

    assert reply.ended


async def test_a_cancelled_response_takes_its_tasks_along() -> None:
    before = asyncio.all_tasks()
    task = asyncio.create_task(Client().hear(FakeReply(pause=30)))
    await asyncio.sleep(0.01)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert asyncio.all_tasks() == before


class Peer:
    def __init__(self) -> None:
        self.left = asyncio.Event()
        self.messages: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive(self) -> Message:
        """What it still sends, then its leaving."""
        if self.messages:
            return self.messages.pop(0)
        await self.left.wait()
        return {"type": "http.disconnect"}


async def slow(ended: list[str], seconds: float = 30) -> str:
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        ended.append("cancelled")
        raise
    return "done"


@dataclass
class Held:
    """Work that ends when it is told to, and a slow close of what it opened."""

    moment: asyncio.Event = field(default_factory=asyncio.Event)
    closed: list[str] = field(default_factory=list)

    async def work(self) -> str:
        await self.moment.wait()
        return "opened"

    async def close(self, result: str) -> None:
        """What was opened is closed, a little later."""
        await asyncio.sleep(0.01)
        self.closed.append(result)


@pytest.mark.parametrize("turns", range(6))
async def test_a_result_that_nobody_gets_is_closed(turns: int) -> None:
    """Whenever we are cancelled as it comes: it has one owner, or it is closed."""
    opening = Held()
    task = asyncio.create_task(unless_gone(Peer().receive, opening.work(), lost=opening.close))
    await asyncio.sleep(0.01)
    opening.moment.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})

    got = [] if task.cancelled() else [task.result()]
    assert got + opening.closed == ["opened"]


async def test_a_download_that_nobody_reads_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """And its pieces are closed: it would hold memory for as long as the client likes."""
    monkeypatch.setattr(sse, "STALL_SECONDS", 0.05)
    closed = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"piece"
        finally:
            closed.set()

    client = Client()
    client.reads.clear()
    response = await download(pieces(), headers={}, media_type="application/pdf")
    async with asyncio.timeout(5):
        await response({"type": "http"}, client.receive, client.send)
        await closed.wait()
    assert not client.ended


async def test_a_document_that_is_followed_is_no_answer_in_the_log(lines: Lines) -> None:
    async def stops() -> AsyncIterator[Numbered]:
        raise Unavailable("the service is stopping")
        yield 0, "progress", {}

    client, events = Client(), DocumentEvents("d1", "request-1")
    stream = EventStream(Resumed("d1", stops()), events, what="document")
    await stream({"type": "http"}, client.receive, client.send)
    assert b"".join(client.got).startswith(b"event: error\n")
    (line,) = lines.of("following a document broke off")
    assert (line["document_id"], "answer_id" in line) == ("d1", False)
