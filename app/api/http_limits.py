"""uvicorn's HTTP protocol, with limits on what a client may send before there is a request.

Limits the size, number and time of headers, and the number of connections without complete headers, since no
key was checked by then. Requests that httptools refuses (an unknown method, an invalid Content-Length, a path
with forbidden bytes) get a problem document instead of uvicorn's plain text. Received data is neither
repeated nor logged. The connection ends with the answer. Sizes are bytes, times seconds.
"""

import asyncio
import http
from weakref import WeakKeyDictionary

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from app.answer import new_id
from app.api.bodies import encoded
from app.api.middleware import LINGER_SECONDS
from app.errors import BadInput, HeadersTooLarge, Stalled, UriTooLong
from app.logging import HEADER
from app.problems import MEDIA, problem_of

HEAD_BYTES = 32 << 10
"""Request line, headers and trailers together. Browsers and proxies stay under 16 KiB."""
HEADERS = 100
"""Header lines of one request. Browsers send about 20."""
HEAD_SECONDS = 10.0
"""From the connection, or the first byte of a later request, until the headers are complete."""
WAITING = 256
"""Connections without complete headers. The oldest are closed first."""
SWEEP_SECONDS = 0.1
"""Delay of enforcing WAITING, so that clients that connect in one burst can send their headers."""
PIPELINED = 32
"""Requests that may wait on one connection while the first is answered."""
CHUNKS = 16_000
"""Chunks of a body in one read of up to 256 KB; the parser takes microseconds for each."""

log = structlog.get_logger(__name__)


class Waiting:
    """Connections of one server whose headers are not complete, oldest first."""

    def __init__(self) -> None:
        self._protocols: dict[Protocol, None] = {}
        self._sweep: asyncio.TimerHandle | None = None

    def add(self, protocol: "Protocol") -> None:
        """Add a connection. If there are too many, the oldest are closed soon."""
        self.discard(protocol)
        self._protocols[protocol] = None
        if len(self._protocols) > WAITING and self._sweep is None:
            self._sweep = protocol.loop.call_later(SWEEP_SECONDS, self._close_oldest)

    def discard(self, protocol: "Protocol") -> None:
        self._protocols.pop(protocol, None)

    def _close_oldest(self) -> None:
        self._sweep = None
        over = len(self._protocols) - WAITING
        if over > 0:
            log.warning("connections without headers closed", count=over)
            for protocol in list(self._protocols)[:over]:
                self.discard(protocol)
                protocol.transport.abort()


SERVERS: WeakKeyDictionary[ServerState, Waiting] = WeakKeyDictionary()


class Protocol(HttpToolsProtocol):
    _waiting: Waiting
    _timer: asyncio.TimerHandle | None = None
    """Runs while the headers are not complete, and after a refusal until the connection is closed."""
    _in_head = False
    _head_bytes = _head_lines = 0
    """Of the request line, headers and trailers, as reported by the parser."""
    _reported = False
    _silent_bytes = 0
    """Bytes since the parser last reported anything. It reports a header once it is complete, and neither
    blank lines nor chunk extensions."""
    _chunks = 0
    """Chunks in the current read."""
    _refusal: BadInput | None = None
    _refused = False
    """True once the answer was written; further bytes are dropped."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waiting = SERVERS.setdefault(self.server_state, Waiting())
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse in pieces no larger than the limit, which is checked after each."""
        self._chunks = 0
        for start in range(0, len(data), HEAD_BYTES):
            if self._refused or self.transport.is_closing():
                return
            piece = data[start : start + HEAD_BYTES]
            self._reported = False
            super().data_received(piece)
            self._silent_bytes = 0 if self._reported else self._silent_bytes + len(piece)
            if self._silent_bytes > HEAD_BYTES:
                self._refuse(HeadersTooLarge(size_limit(HEAD_BYTES)))
        if self._timer is None and not self.transport.is_closing():
            if self._is_idle():
                self._wait()
            elif self.cycle.more_body:
                self.flow.pause_reading()  # one read per turn of the loop

    def on_message_begin(self) -> None:
        self._reported = self._in_head = True
        self._head_bytes = self._head_lines = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url), UriTooLong)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer: trailers are counted and dropped."""
        self._head_lines += 1
        self._count(len(name) + len(value), HeadersTooLarge)
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._reported, self._in_head = True, False
        self._stop_waiting()
        if len(self.pipeline) >= PIPELINED:
            raise ValueError("too many requests ahead of their answers")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._reported = True
        self._chunks += 1
        if self._chunks > CHUNKS:
            raise ValueError("chunks of almost nothing")
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._reported = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer and close; uvicorn calls this when the parser or a callback above raised."""
        given = new_id()
        error = self._refusal or BadInput("The request is not valid HTTP/1.1, or not supported.")
        log.info("unreadable request", request_id=given, status=error.status)
        self._refused = True
        if self._is_idle() or self._can_still_answer():
            self.transport.write(refusal(error, given, self.server_state.default_headers))
            self._linger()
        else:
            self.transport.close()

    def _count(self, size: int, kind: type[BadInput]) -> None:
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES:
            self._refusal = kind(size_limit(HEAD_BYTES))
        elif self._head_lines > HEADERS:
            self._refusal = kind(f"A request may have at most {HEADERS} headers.")
        if self._refusal:
            raise ValueError(self._refusal.slug)

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _can_still_answer(self) -> bool:
        """True if no response has begun: two must not be mixed."""
        return not self.cycle.response_started and not self.pipeline

    def _wait(self) -> None:
        self._waiting.add(self)
        self._timer = self.loop.call_later(HEAD_SECONDS, self._late)

    def _stop_waiting(self) -> None:
        self._waiting.discard(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        """The headers were late. A client that sent nothing gets no answer."""
        self._stop_waiting()
        if self._in_head or self._silent_bytes:
            self._refuse(Stalled(f"The headers did not come within {HEAD_SECONDS:.0f} seconds."))
        else:
            self.transport.close()

    def _refuse(self, error: BadInput) -> None:
        self._refusal = error
        self.send_400_response("")

    def _linger(self) -> None:
        """Close in two steps: closing at once while the client still sends would reset the connection, and
        the client would never see the answer (RFC 9112 §9.6)."""
        if self.cycle is not None:  # the application must not answer the refused request too
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._stop_waiting()
        self._waiting.add(self)
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)
        self.transport.write_eof()


def refusal(error: BadInput, given: str, common: list[tuple[bytes, bytes]]) -> bytes:
    """The whole response. `given` is the request's id, `common` the headers of every response."""
    status = http.HTTPStatus(error.status)
    body = encoded(problem_of(error, given))
    headers = [
        *common,
        (HEADER, given.encode()),
        (b"content-type", MEDIA.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    first = f"HTTP/1.1 {status} {status.phrase}".encode()
    return b"\r\n".join([first, *(name + b": " + value for name, value in headers), b"", body])


def size_limit(limit: int) -> str:
    return f"At most {limit >> 10} KiB of request line and headers are taken."
