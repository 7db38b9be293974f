"""ASGI middleware: observes requests, answers what went wrong, limits the size of bodies and the time between
their parts.

A declared length over the limit is refused before a byte is read, a chunked body as soon as it exceeds the
limit: 413. A client that stops in the middle gets a 408. After a refusal the service reads on for a moment,
because closing the connection while the client still sends would reset it, and the client would never see the
answer (RFC 9112 §9.6). Sizes are bytes, times seconds.
"""

import asyncio
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import structlog
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import problems
from app.errors import TooLarge
from app.logging import QUIET, request_id
from app.metrics import CURRENT, UNKNOWN, Observation, method_of
from app.problems import CLIENT_GONE, stopping, unexpected
from app.services.services import Services
from app.tracing import TRACER, Tracer

log = structlog.get_logger(__name__)

MIB = 1 << 20
JSON_BYTES = 2 * MIB
"""Enough for 32,000 characters of message, escaped, and a long history."""
FORM_BYTES = 64 << 10
"""Boundaries and fields around an uploaded file."""
STALL_SECONDS = 60.0
"""Longest pause within a body."""
LINGER_SECONDS = 5.0
"""Seconds of reading after a refusal: enough for data already on its way."""


class Requests:
    """Counts each request in the service's metrics, begins its trace, and sets both for the code below.
    Limits bodies to `limit` bytes, or for a POST to one of `paths` to that path's own limit. An uncaught
    exception becomes a 500 problem, a cancelled request (the service is stopping) a 503 problem."""

    def __init__(
        self, app: ASGIApp, *, limit: int = JSON_BYTES, paths: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        self.app = app
        self.limit = limit
        self.paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.paths.get(scope["path"], self.limit) if scope["method"] == "POST" else self.limit
        opened: Services | None = getattr(scope["app"].state, "services", None)
        exchange = Exchange(scope, receive, send, limit)
        if opened is None:
            await exchange.run(self.app)
            return
        started, current = time.perf_counter(), CURRENT.set(Observation(opened.metrics))
        try:
            with traced(opened.tracer, exchange):
                await exchange.run(self.app)
        finally:
            await exchange.end_grant()
            CURRENT.reset(current)
            seconds = time.perf_counter() - started
            opened.metrics.count_request(scope["method"], route_of(scope), exchange.status, seconds)


@contextmanager
def traced(tracer: Tracer | None, exchange: "Exchange") -> Iterator[None]:
    """The span of a request; probes have none."""
    scope = exchange.scope
    if tracer is None or scope["path"] in QUIET:
        yield
        return
    method, current = method_of(scope["method"]), TRACER.set(tracer)
    span = tracer.request(method, exchange.headers)
    try:
        with tracer.current(span):
            yield
    finally:
        TRACER.reset(current)
        route = route_of(scope)
        span.update_name(f"{method} {route}" if route else method)
        span.set_attribute("http.route", route or UNKNOWN)
        span.set_attribute("http.response.status_code", exchange.status)
        span.set_attribute("url.scheme", scope["scheme"])
        span.set_attribute("ibid.request_id", request_id(scope))
        if exchange.status >= 500:
            tracer.fail(span, str(exchange.status))
        span.end()


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


class Exchange:
    """One request and its response."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        self.scope = scope
        self.headers = Headers(scope=scope)
        self.status = CLIENT_GONE
        self._receive = receive
        self._send = send
        self._limit = limit
        self._taken = 0
        self._whole = "transfer-encoding" not in self.headers and not declared(self.headers)
        """True once the whole body was received, or is not waited for."""
        self._begun = False

    async def run(self, app: ASGIApp) -> None:
        """Once the head was sent, an error cuts the connection: a truncated body must not look whole."""
        if declared(self.headers) > self._limit:
            app = problems.response(TooLarge(limit_text(self._limit)), self.scope)
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            self._whole = True  # a service that is stopping does not wait for the rest of a body
            if not self._begun:
                await problems.response(stopping(), self.scope)(self.scope, self.receive, self.send)
            raise
        except Exception:
            if self._begun:
                raise
            log.exception("request failed")
            await problems.response(unexpected(), self.scope)(self.scope, self.receive, self.send)

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
        """Adds the headers of the key's limits (`services/limits.py`), and ends the request's grant before
        the last bytes: whoever has them may ask again at once. If the response precedes the end of its
        request, reads the rest, then closes the connection."""
        if message["type"] == "http.response.start":
            self._begun, self.status = True, message["status"]
            more = [] if self._whole else [(b"connection", b"close")]
            if grant := self.scope["state"].get("grant"):
                more += grant.headers
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        elif not message.get("more_body", False):
            await self.end_grant()
            if not self._whole:
                await self._send({**message, "more_body": True})
                await self._drain()
                message = {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)

    async def end_grant(self) -> None:
        grant, observation = self.scope["state"].get("grant"), CURRENT.get()
        if grant and observation:
            await grant.end(observation.tokens)

    async def _drain(self) -> None:
        """Read and drop the rest of the request, for LINGER_SECONDS at most."""
        try:
            async with asyncio.timeout(LINGER_SECONDS):
                while not self._whole:
                    message = await self._receive()
                    self._whole = not message.get("more_body", False)
        except TimeoutError:
            return


def declared(headers: Headers) -> int:
    """Content-Length, or 0. The server has already refused one that is not a number."""
    length = headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else 0


def limit_text(limit: int) -> str:
    return f"This path accepts at most {limit // MIB} MiB."
