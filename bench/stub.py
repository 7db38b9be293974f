"""A model that costs nothing but time: 50 ms to the first token, then 32 tokens 10 ms apart.

A process of its own (`python -m bench.stub PORT [SCALE [TOKENS]]`) on raw sockets, events encoded once, one
timer a stream, so that it is never what limits a run. SCALE multiplies the waits; 0 answers at once. Head and
first token go out together. `GET /stats` tells {requests, bytes} of what it was asked.
"""

import asyncio
import json
import sys
from typing import cast

import uvloop

FIRST_SECONDS = 0.05
NEXT_SECONDS = 0.01
TOKENS = 32
MARK = b"zq"
"""Occurs in every token and in no text of `bench/corpus.py`: its count shows that an answer is whole."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
USAGE = {"prompt_tokens": 8_000, "completion_tokens": TOKENS, "total_tokens": 8_000 + TOKENS}


def event(delta: dict[str, str], finish: str | None = None, **more: object) -> bytes:
    """One server-sent event of the OpenAI protocol."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "stub"}
    return (
        b"data: " + json.dumps(chunk | {"choices": [choice]} | more, separators=(",", ":")).encode() + b"\n\n"
    )


def framed(body: bytes) -> bytes:
    """One HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(body), body)


def script(count: int = TOKENS) -> list[bytes]:
    """Output, in order: head with the first token, the other tokens, the end."""
    tokens = [framed(event({"content": f" {MARK.decode()}{n:02}"})) for n in range(count)]
    end = framed(event({}, "stop", usage=USAGE) + b"data: [DONE]\n\n") + b"0\r\n\r\n"
    return [HEAD + tokens[0], *tokens[1:], end]


SCRIPT = script()


class Stats:
    """Requests of all connections together."""

    requests = 0
    bytes = 0


class Stub(asyncio.Protocol):
    """One connection: requests one after another, kept alive."""

    def __init__(self, stats: Stats, scale: float, said: list[bytes] = SCRIPT) -> None:
        self.loop = asyncio.get_running_loop()
        self.said = said
        self.stats, self.scale = stats, scale
        self.transport: asyncio.Transport | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.head = b""
        self.left = -1
        """Bytes of the body still to come; -1 while the head is."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is none of its kin

    def connection_lost(self, exc: Exception | None) -> None:
        """The client went: so does its stream."""
        self.transport = None
        if self.timer:
            self.timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Heads are kept until whole, bodies are counted and dropped."""
        if self.left < 0:
            head, end, data = (self.head + data).partition(b"\r\n\r\n")
            if not end:
                self.head = head
                return
            self.head, self.left = b"", length(head)
            if head.startswith(b"GET "):
                self.tell()
                return
        self.stats.bytes += len(data)
        self.left -= len(data)
        if self.left <= 0:
            self.left = -1
            self.stats.requests += 1
            self.begin()

    def begin(self) -> None:
        """The stream, on a clock of its own: late tokens do not make the next ones later."""
        if not self.scale and self.transport:
            self.transport.writelines(self.said)
            return
        due = self.loop.time() + FIRST_SECONDS * self.scale
        self.timer = self.loop.call_at(due, self.step, 0, due)

    def step(self, n: int, due: float) -> None:
        """Piece `n`, and the next one's timer."""
        if self.transport is None:
            return
        self.transport.write(self.said[n])
        if n + 1 < len(self.said):
            due += NEXT_SECONDS * self.scale
            self.timer = self.loop.call_at(due, self.step, n + 1, due)

    def tell(self) -> None:
        """The counts."""
        self.left = -1
        body = json.dumps({"requests": self.stats.requests, "bytes": self.stats.bytes}).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        if self.transport:
            self.transport.write(head + body)


def length(head: bytes) -> int:
    """The body's length; every client of Ibid names it."""
    _, _, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.partition(b"\r\n")[0] or 0)


async def serve(port: int, scale: float = 1.0, count: float = TOKENS) -> None:
    """Until the process is ended."""
    stats, said = Stats(), script(int(count))
    server = await asyncio.get_running_loop().create_server(
        lambda: Stub(stats, scale, said), "127.0.0.1", port, backlog=1_024
    )
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), *map(float, sys.argv[2:])))
