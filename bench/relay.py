"""The floor of any service between a client and its model: an ASGI app that forwards the model's bytes.

usage: python -m bench.relay PORT MODEL_PORT. uvicorn, one worker, no framework, no search; the connections to
the model are kept. Its cost is part of every service on uvicorn.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

Message = MutableMapping[str, Any]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]

REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nhost: model\r\ncontent-length: %d\r\n\r\n%b"


class Relay:
    """The app."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.idle: list[Connection] = []

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
        async with self.connection() as (reader, writer):
            writer.write(REQUEST % (len(body), body))
            await reader.readuntil(b"\r\n\r\n")
            await send({"type": "http.response.start", "status": 200, "headers": head})
            async for data in chunks(reader):
                await send({"type": "http.response.body", "body": data, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

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


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The payload of a chunked body."""
    while size := int(await reader.readline(), 16):
        yield (await reader.readexactly(size + 2))[:-2]
    await reader.readline()


if __name__ == "__main__":
    uvicorn.run(
        Relay(int(sys.argv[2])), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", lifespan="off"
    )
