"""HTTP/1.1 as the load generator speaks it: one connection, one request after another, bodies kept as bytes.

Hand-written because a client library costs more processor than the servers it would measure. Reads chunked
bodies and those with a length. Times are seconds of `perf_counter` (uvloop's own clock ticks in
milliseconds). Raises `ConnectionError`.
"""

import asyncio
import json
from dataclasses import dataclass
from time import perf_counter
from typing import cast

END = b"\r\n\r\n"


@dataclass(slots=True)
class Response:
    """One answer, whole."""

    status: int
    began: float
    first: float
    """When the first byte of the body was there."""
    ended: float
    body: bytes


class Body:
    """A body being read: its framing taken off."""

    def __init__(self, head: bytes) -> None:
        lowered = head.lower()
        self.chunked = b"transfer-encoding: chunked" in lowered
        _, _, rest = lowered.partition(b"content-length:")
        self.left = int(rest.partition(b"\r\n")[0] or 0)
        """Of a body with a length: bytes to come."""
        self.pieces: list[bytes] = []
        self.rest = b""
        self.done = not self.chunked and not self.left

    def feed(self, data: bytes) -> None:
        """More of it."""
        if self.chunked:
            self.unframe(self.rest + data)
        else:
            self.pieces.append(data)
            self.left -= len(data)
            self.done = self.left <= 0

    def unframe(self, data: bytes) -> None:
        """Whole chunks off the front; what is left waits for the next piece."""
        at = 0
        while (line := data.find(b"\r\n", at)) >= 0:
            size = int(data[at:line].partition(b";")[0], 16)
            if len(data) < line + size + 4:
                break
            if not size:
                self.done = True
                break
            self.pieces.append(data[line + 2 : line + 2 + size])
            at = line + size + 4
        self.rest = data[at:]


class Connection(asyncio.Protocol):
    """A kept-alive connection to a server on loopback."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.waiting: asyncio.Future[Response] | None = None
        self.began = self.first = 0.0
        self.head = b""
        self.body: Body | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way out."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none of its kin

    def connection_lost(self, exc: Exception | None) -> None:
        """An answer cut short is none."""
        if self.waiting and not self.waiting.done():
            self.waiting.set_exception(ConnectionError("the server closed early"))

    def ask(self, request: bytes) -> asyncio.Future[Response]:
        """Send a request; its answer."""
        if self.transport is None or self.transport.is_closing():
            raise ConnectionError("closed")
        self.head, self.body, self.first, self.began = b"", None, 0.0, perf_counter()
        self.waiting = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.waiting

    def data_received(self, data: bytes) -> None:
        """Head, then body."""
        if self.body is None:
            self.head, end, data = (self.head + data).partition(END)
            if not end:
                return
            self.body = Body(self.head)
        if data:
            self.first = self.first or perf_counter()
            self.body.feed(data)
        if self.body.done and self.waiting and not self.waiting.done():
            now, status = perf_counter(), int(self.head.split(b" ", 2)[1])
            whole = b"".join(self.body.pieces)
            self.waiting.set_result(Response(status, self.began, self.first or now, now, whole))

    def close(self) -> None:
        """Hang up."""
        if self.transport:
            self.transport.abort()


async def connect(port: int) -> Connection:
    """To a port of this machine."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return connection


def post(path: str, body: object) -> bytes:
    """A request with a JSON body."""
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(content)}\r\n\r\n".encode() + content


def get(path: str) -> bytes:
    """A request without a body."""
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()
