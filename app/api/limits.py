"""How much a request may send, and how long it may pause: raw ASGI, so that it holds for every route.

A declared length over the limit is refused before a byte is read, a chunked body as soon as it passes the
limit: 413. A client that stops in the middle gets a 408. A client that is refused while it still sends is
listened to for a moment, else the reset of its connection would swallow the answer (RFC 9112 §9.6).
Sizes are bytes, times seconds.
"""

import asyncio
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import problems
from app.errors import TooLarge

MIB = 1 << 20
JSON_BYTES = 2 * MIB
"""32,000 characters of message, escaped, and a long history; nobody types more."""
FORM_BYTES = 64 << 10
"""Boundaries and fields around an uploaded file."""
STALL_SECONDS = 60.0
"""A pause in the middle of a body that is no slow line any more."""
LINGER_SECONDS = 5.0
"""How long a refused client is listened to: enough for what is already under way."""


class BodyLimit:
    """Gives each path its size: `paths` for those that POST more than `limit`."""

    def __init__(self, app: ASGIApp, *, limit: int = JSON_BYTES, paths: Mapping[str, int]) -> None:
        self.app = app
        self.limit = limit
        self.paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.paths.get(scope["path"], self.limit) if scope["method"] == "POST" else self.limit
        headers = Headers(scope=scope)
        exchange = Exchange(receive, send, limit, whole=not has_body(headers))
        if declared(headers) > limit:
            refusal = problems.response(TooLarge(told(limit)), scope)
            await refusal(scope, exchange.receive, exchange.send)
        else:
            await self.app(scope, exchange.receive, exchange.send)


class Exchange:
    """One request and its response, with the body counted."""

    def __init__(self, receive: Receive, send: Send, limit: int, *, whole: bool) -> None:
        self._receive = receive
        self._send = send
        self._limit = limit
        self._taken = 0
        self._whole = whole
        """Nothing of the body is outstanding; from here on both directions pass straight through."""

    async def receive(self) -> Message:
        """The next message of the body. 413 and 408 travel as the one exception FastAPI lets through."""
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout(STALL_SECONDS):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408, f"Nothing came for {STALL_SECONDS:.0f} seconds.") from None
        self._taken += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._taken > self._limit:
            raise HTTPException(413, told(self._limit))
        return message

    async def send(self, message: Message) -> None:
        """Pass on; an answer that overtakes its request says so and waits for the rest to drain."""
        if self._whole:
            await self._send(message)
        elif message["type"] == "http.response.start":
            closing = (b"connection", b"close")
            await self._send({**message, "headers": [*message.get("headers", ()), closing]})
        elif message.get("more_body", False):
            await self._send(message)
        else:
            await self._send({**message, "more_body": True})
            await self._drain()
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _drain(self) -> None:
        """Read and drop what still comes, for a moment."""
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while not self._whole:
                    message = await self._receive()
                    self._whole = not message.get("more_body", False)
        except TimeoutError:
            return


def has_body(headers: Headers) -> bool:
    """Whether a body is announced (RFC 9112 §6)."""
    return "transfer-encoding" in headers or declared(headers) > 0


def declared(headers: Headers) -> int:
    """Content-Length; 0 where there is none. The server has refused what is not a number."""
    length = headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else 0


def told(limit: int) -> str:
    """For the reader."""
    return f"At most {limit // MIB} MiB are taken here."
