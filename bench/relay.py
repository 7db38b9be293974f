"""The floor of any service between a client and its model: an ASGI app that forwards the model's bytes.

usage: python -m bench.relay PORT MODEL_PORT [parse]. uvicorn, one worker, no framework, no search; the
connections to the model are kept. Its cost is part of every service on uvicorn. With `parse` it reads each
event, through aiohttp as services do, and writes one of its own with the same text.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import uvicorn

Message = MutableMapping[str, Any]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]

REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: model\r\ncontent-length: %d\r\n\r\n%b"


class Relay:
    """The app."""

    def __init__(self, port: int, *, parse: bool = False) -> None:
        self.port = port
        self.parse = parse
        self.idle: list[Connection] = []
        self.client: aiohttp.ClientSession | None = None

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Body in, body out."""
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        head = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        async for data in self.parsed(body) if self.parse else self.forwarded(body):
            await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def forwarded(self, body: bytes) -> AsyncIterator[bytes]:
        """The model's bytes."""
        async with self.connection() as (reader, writer):
            writer.write(REQUEST % (len(body), body))
            await reader.readuntil(b"\r\n\r\n")
            async for data in chunks(reader):
                yield data

    async def parsed(self, body: bytes) -> AsyncIterator[bytes]:
        """Events with the model's texts."""
        url = f"http://127.0.0.1:{self.port}/v1/chat/completions"
        self.client = self.client or aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        async with self.client.post(url, data=body) as answer:
            async for line in answer.content:
                if line.startswith(b"data: "):
                    yield b"data: %b\n\n" % told(line[6:].strip())

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """One to the model, kept for the next request if this one ends well."""
        held = self.idle.pop() if self.idle else await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield held
        except BaseException:
            held[1].close()
            raise
        self.idle.append(held)


def told(data: bytes) -> bytes:
    if data == b"[DONE]":
        return data
    event = orjson.loads(data)
    choice: dict[str, Any] = (event.get("choices") or [{}])[0]
    text, finish = choice.get("delta", {}).get("content"), choice.get("finish_reason")
    return orjson.dumps({"text": text or "", "model": event.get("model"), "finish": finish})


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The payload of a chunked body."""
    while size := int(await reader.readline(), 16):
        yield (await reader.readexactly(size + 2))[:-2]
    await reader.readline()


if __name__ == "__main__":
    uvicorn.run(
        Relay(int(sys.argv[2]), parse="parse" in sys.argv),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_level="warning",
        lifespan="off",
    )
