"""HTTP/1.1 as the fake servers speak it: just enough, on asyncio streams, with every byte in our hands."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class Request:
    """One request as the server saw it."""

    path: str
    headers: dict[str, str]
    body: Json
    at: float
    """Loop time of its arrival."""
    closed_at: float | None = None
    """Loop time when the client went away in the middle of the answer; None: it did not."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request on a connection; None: there is none."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    path = head[0].split(" ")[1]
    return Request(path, headers, json.loads(body) if body else {}, asyncio.get_running_loop().time())


def write_head(writer: asyncio.StreamWriter, status: int, headers: dict[str, str | None]) -> None:
    """A response head; headers without a value are left out."""
    lines = [f"{name}: {value}" for name, value in headers.items() if value is not None]
    writer.write("\r\n".join([f"HTTP/1.1 {status} Scripted", *lines, "", ""]).encode("latin-1"))


def write_json(
    writer: asyncio.StreamWriter, body: Json, status: int, headers: dict[str, str | None] | None = None
) -> None:
    raw = json.dumps(body).encode()
    common = {"Content-Type": "application/json", "Content-Length": str(len(raw))}
    write_head(writer, status, {**common, **(headers or {})})
    writer.write(raw)


def write_event(writer: asyncio.StreamWriter, data: Json) -> None:
    write_chunk(writer, b"data: " + json.dumps(data).encode() + b"\n\n")


def write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    """One HTTP chunk; the empty one ends the body."""
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))


@asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """The free loopback port on which `serve` has each connection, until left; then none is open."""
    served: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        served.add(task)
        await task

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in served:
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)


@dataclass
class Conversing:
    """A server that keeps the requests it gets and answers them one after the other on a connection."""

    requests: list[Request] = field(default_factory=list, kw_only=True)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await read_request(reader):
                self.requests.append(request)
                await self.answer(request, writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError
