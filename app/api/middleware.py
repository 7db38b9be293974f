"""ASGI middleware: observes requests; limits the size of their bodies and the time between their parts.

A declared length over the limit is refused before a byte is read, a chunked body as soon as it exceeds the
limit: 413. A client that stops in the middle gets a 408. After a refusal the service reads on for a moment,
because closing the connection while the client still sends would reset it, and the client would never see the
answer (RFC 9112 §9.6). Sizes are bytes, times seconds.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import problems
from app.errors import TooLarge
from app.logging import QUIET, request_id
from app.metrics import CURRENT, UNKNOWN, Observation, method_of
from app.problems import CLIENT_GONE
from app.services.limits import Grant
from app.services.services import Services
from app.tracing import TRACER, Tracer

MIB = 1 << 20
JSON_BYTES = 2 * MIB
"""Enough for 32,000 characters of message, escaped, and a long history."""
FORM_BYTES = 64 << 10
"""Boundaries and fields around an uploaded file."""
STALL_SECONDS = 60.0
"""Longest pause within a body."""
LINGER_SECONDS = 5.0
"""Seconds of reading after a refusal: enough for data already on its way."""


class Observed:
    """Counts each request in the service's metrics, begins its trace, and sets both for the code below. Adds
    the headers of the key's limits (`services/limits.py`), and ends the request's grant before its last bytes
    are sent: whoever has them may ask again at once."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        opened: Services | None = scope["app"].state.services if scope["type"] == "http" else None
        if opened is None:
            await self.app(scope, receive, send)
            return
        started, status, observation = time.perf_counter(), CLIENT_GONE, Observation(opened.metrics)

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if grant := granted(scope):
                    message = {**message, "headers": [*message.get("headers", ()), *grant.headers]}
            elif not message.get("more_body", False):
                await end()
            await send(message)

        async def end() -> None:
            if grant := granted(scope):
                await grant.end(observation.tokens)

        current = CURRENT.set(observation)
        try:
            with traced(opened.tracer, scope, lambda: status):
                await self.app(scope, receive, noted)
        finally:
            CURRENT.reset(current)
            await end()
            seconds = time.perf_counter() - started
            opened.metrics.count_request(scope["method"], route_of(scope), status, seconds)


@contextmanager
def traced(tracer: Tracer | None, scope: Scope, status: Callable[[], int]) -> Iterator[None]:
    """The span of a request; probes have none."""
    if tracer is None or scope["path"] in QUIET:
        yield
        return
    method, current = method_of(scope["method"]), TRACER.set(tracer)
    span = tracer.request(method, Headers(scope=scope))
    try:
        with tracer.current(span):
            yield
    finally:
        TRACER.reset(current)
        route = route_of(scope)
        span.update_name(f"{method} {route}" if route else method)
        span.set_attribute("http.route", route or UNKNOWN)
        span.set_attribute("http.response.status_code", status())
        span.set_attribute("url.scheme", scope["scheme"])
        span.set_attribute("ibid.request_id", request_id(scope))
        if status() >= 500:
            tracer.fail(span, str(status()))
        span.end()


def granted(scope: Scope) -> Grant | None:
    found: Grant | None = scope["state"].get("grant")
    return found


def route_of(scope: Scope) -> str | None:
    """The template of the request's route, such as `/answers/{answer_id}`; None if its path has none. A body
    that is too large is refused before its route is found."""
    route = scope.get("route") or next(
        (each for each in scope["app"].routes if each.matches(scope)[0] is Match.FULL), None
    )
    path: str | None = getattr(route, "path", None)
    return path and CONVERTED.sub("}", path)


CONVERTED = re.compile(r":\w+\}")
"""How a template says what its parameter matches."""


class BodyLimit:
    """Limits bodies to `limit` bytes, or for a POST to one of `paths` to that path's own limit."""

    def __init__(self, app: ASGIApp, *, limit: int = JSON_BYTES, paths: Mapping[str, int]) -> None:
        self.app = app
        self.limit = limit
        self.paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.paths.get(scope["path"], self.limit) if scope["method"] == "POST" else self.limit
        headers = Headers(scope=scope)
        exchange = Exchange(receive, send, limit, whole=not has_body(headers))
        if declared(headers) > limit:
            refusal = problems.response(TooLarge(limit_text(limit)), scope)
            await refusal(scope, exchange.receive, exchange.send)
        else:
            await self.app(scope, exchange.receive, exchange.send)


class Exchange:
    """One request and its response; counts the body."""

    def __init__(self, receive: Receive, send: Send, limit: int, *, whole: bool) -> None:
        self._receive = receive
        self._send = send
        self._limit = limit
        self._taken = 0
        self._whole = whole
        """True once the whole body was received; then both directions pass straight through."""

    async def receive(self) -> Message:
        """Raises HTTPException (413, 408), the only type that FastAPI passes on while it reads a body."""
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
            raise HTTPException(413, limit_text(self._limit))
        return message

    async def send(self, message: Message) -> None:
        """If the response precedes the end of its request, reads the rest, then closes the connection."""
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
        """Read and drop the rest of the request, for LINGER_SECONDS at most."""
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while not self._whole:
                    message = await self._receive()
                    self._whole = not message.get("more_body", False)
        except TimeoutError:
            return


def has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or declared(headers) > 0


def declared(headers: Headers) -> int:
    """Content-Length, or 0. The server has already refused one that is not a number."""
    length = headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else 0


def limit_text(limit: int) -> str:
    return f"This path accepts at most {limit // MIB} MiB."
