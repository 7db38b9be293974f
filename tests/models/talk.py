"""Talking to the chat model through a fake server, for the tests of its parts."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from app.answer import Prompt, Role, Turn
from app.models.base import Delta
from app.models.chat import OpenAIChat, chat_server, open_chat
from app.settings import Chat, Settings
from tests.fakes.model import ModelServer
from tests.fakes.wire import Request, read_request

PROMPT = Prompt("Be brief.", "Hello?", turns=(Turn(Role.USER, "Before"), Turn(Role.ASSISTANT, "Yes")))
REPLY = "The bridge is  closed\n\nuntil March. 日本 🙂"

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"
Answer = Callable[[asyncio.StreamWriter, int], Awaitable[None]]
"""Writes the answer to the n-th request, from 1; the connection is closed after it."""


def event(text: str, finish: str | None = None) -> bytes:
    """A delta as a server sends it."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


def framed(*pieces: bytes) -> bytes:
    """Each as an HTTP chunk."""
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


WHOLE = CHUNKED + framed(event("ok", "stop"), DONE, b"")


class Scripted:
    """A server that says what a test makes it say, byte by byte."""

    def __init__(self, answer: Answer, *, kept: int = 0) -> None:
        self.answer = answer
        self.kept = kept
        """Requests after which the connection stays open."""
        self.requests: list[Request] = []
        self.open: list[asyncio.Task[None]] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self.open.append(task)
        try:
            while request := await read_request(reader):
                self.requests.append(request)
                await self.answer(writer, len(self.requests))
                await writer.drain()
                if len(self.requests) > self.kept:
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client or the test has left
        finally:
            writer.close()


@asynccontextmanager
async def scripted(
    answer: Answer, *, kept: int = 0, **chat: Any
) -> AsyncIterator[tuple[OpenAIChat, Scripted]]:
    """The chat model as wired to a scripted server."""
    fake = Scripted(answer, kept=kept)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    settings = Settings(chat=Chat(base_url=fake.url, **chat))
    at = chat_server(settings)
    assert at
    try:
        async with open_chat(settings, at) as model:
            yield model, fake
    finally:
        server.close()
        for task in fake.open:
            task.cancel()
        await asyncio.gather(*fake.open, return_exceptions=True)


@asynccontextmanager
async def chat_with(fake: ModelServer, **chat: Any) -> AsyncIterator[OpenAIChat]:
    """The chat model as wired to a fake server."""
    settings = Settings(chat=Chat(base_url=fake.url, **chat))
    at = chat_server(settings)
    assert at
    async with open_chat(settings, at) as model:
        yield model


async def said(
    chat: OpenAIChat,
    prompt: Prompt = PROMPT,
    *,
    model: str | None = None,
    heard: list[Delta] | None = None,
    pause: float = 0.0,
) -> list[Delta]:
    """A whole answer; `heard` keeps what came before a fault, `pause` is the reader's between two reads."""
    deltas: list[Delta] = [] if heard is None else heard
    async with chat.open(prompt, model=model) as stream:
        await asyncio.sleep(pause)
        async for delta in stream:
            deltas.append(delta)
            await asyncio.sleep(pause)
    return deltas
