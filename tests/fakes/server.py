"""The app behind a real socket: uvicorn in the test's own loop, on a free port, stopped when the block ends;
a client whose every byte is the test's, as httpx would repair or refuse some; what every problem document
must be."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from app.api.http_limits import Protocol
from app.cli.serve import ReadyServer

GRACE_SECONDS = 2
"""What requests under way are given when the test is over; a test that needs it has left something open."""


@asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[str]:
    """Serve `app` as `ibid serve` does; gives its address, `http://127.0.0.1:41234`."""
    config = uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = ReadyServer(config)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        task = asyncio.create_task(server.serve(sockets=[bound]))
        ready = asyncio.create_task(server.ready.wait())
        await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            ready.cancel()
            server.should_exit = True
            await task


@asynccontextmanager
async def browsing(app: FastAPI, peer: str = "127.0.0.1") -> AsyncIterator[httpx.AsyncClient]:
    """An HTTP client of the app without a socket; faults of the app are answers, not exceptions."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False, client=(peer, 50_000))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@dataclass
class Answer:
    """A response read off a socket."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Wire:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, *parts: bytes) -> None:
        self.writer.writelines(parts)
        await self.writer.drain()

    async def head(self) -> Answer:
        """Status and headers; the body is left unread."""
        text = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = text.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return Answer(int(first.split(" ")[1]), headers, b"")

    async def answer(self) -> Answer:
        """A response whose length is told."""
        head = await self.head()
        head.body = await self.reader.readexactly(int(head.headers["content-length"]))
        return head

    async def leave(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Wire]:
    """A connection to `http://host:port`, closed when the block ends."""
    target = httpx.URL(address)
    reader, writer = await asyncio.open_connection(target.host, target.port)
    try:
        yield Wire(reader, writer)
    finally:
        writer.transport.abort()


def post(path: str, body: bytes, content_type: str = "application/json", *lines: str) -> bytes:
    """A request with its length told."""
    return request_head(path, f"Content-Type: {content_type}", f"Content-Length: {len(body)}", *lines) + body


def request_head(path: str, *lines: str) -> bytes:
    """The head of a POST; the body is up to the test."""
    head = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *lines, "", ""]
    return "\r\n".join(head).encode("latin-1")


@dataclass(frozen=True)
class Event:
    id: str
    name: str
    data: Any


def events(text: str) -> list[Event]:
    """The events of a whole stream, which must be nothing but events and comments."""
    *blocks, rest = text.split("\n\n")
    assert rest == "", "the stream breaks off in the middle of an event"
    return [event(block) for block in blocks if not block.startswith(":")]


def event(block: str) -> Event:
    """One event: id, event, data; in that order, one line each."""
    number, name, data = block.split("\n")
    assert (number[:4], name[:7], data[:6]) == ("id: ", "event: ", "data: ")
    return Event(number[4:], name[7:], json.loads(data[6:]))


def told(response: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """The problem document of a response, after checking that it is one (RFC 9457)."""
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    problem: dict[str, Any] = response.json()
    assert problem["type"] == f"urn:ibid:problem:{slug}"
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    assert problem["instance"] == response.headers["x-request-id"]
    return problem
