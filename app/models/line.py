"""A line to a chat server: one POST, and its answer read as the bytes arrive.

aiohttp and not the vendor's client, which costs ten times as much a request and a token
(docs/decisions/0023-speed.md). What goes wrong is one of `Line.faults`; a status other than 2xx, a
redirect too, is `Refused`, which `models/openai.py` reads like the vendor's own errors. Times are seconds.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import orjson

from app.domain.errors import RetrievalError, StartError
from app.models.openai import CONNECT_SECONDS, CONNECTIONS, Contact, Server

if TYPE_CHECKING:
    from types import SimpleNamespace

    from aiohttp import ClientResponse, ClientSession, TraceConfig

REFUSAL_BYTES, REFUSAL_SECONDS = 64 << 10, 1.0
"""Read of what a server says with a refusal, and how long it may take to say it."""
LIST_BYTES = 1 << 20
"""Of a list of models; the longest known one has a third of that."""
IDLE_SECONDS = 4.0
"""A connection is kept for the next request; uvicorn, and so vLLM, closes it after 5."""
LOOK_SECONDS = 0.5
"""Between two looks at a connection that may have been closed without a word to its reader."""
HEAD_BYTES, HEAD_LINES = 64 << 10, 1024
"""Of a line of a response head, and its lines: gateways add more than aiohttp takes by itself."""


class Refused(Exception):
    """A status other than 2xx, with what `openai.told` and `Contact.learn` look at."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(body.decode("utf-8", "replace"))
        self.status_code = status
        self.headers = headers
        self.code = code(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Contact):
    """An open pool of connections to a chat server."""

    session: "ClientSession"
    address: str = field(repr=False)
    dropped: tuple[type[Exception], ...]
    """Those of the faults that mean: the connection was closed before an answer."""

    @asynccontextmanager
    async def post(self, body: bytes, patience: float) -> AsyncIterator["ClientResponse"]:
        """Entered when the response head is there; left, the connection is closed unless the answer was
        read out. Raises `faults`; no head within `patience` is a `TimeoutError`."""
        async with asyncio.timeout(patience):
            response = await self.head(body)
        try:
            if not 200 <= response.status < 300:
                raise Refused(response.status, response.headers, await self.refusal(response))
            yield response
        finally:
            response.close()

    async def get(self, patience: float) -> bytes:
        """The body of a GET, at most LIST_BYTES of it. Raises `faults`, as `post`."""
        async with (
            asyncio.timeout(patience),
            self.session.get(self.address, allow_redirects=False) as response,
        ):
            if not 200 <= response.status < 300:
                raise Refused(response.status, response.headers, await self.refusal(response))
            said = bytearray()
            async for piece in response.content.iter_any():
                said += piece
                if len(said) >= LIST_BYTES:
                    break
            return bytes(said[:LIST_BYTES])

    async def knock(self, patience: float) -> None:
        """Whether anybody answers a GET there, if only to refuse. Raises `RetrievalError`."""
        try:
            async with (
                asyncio.timeout(patience),
                self.session.get(self.address, allow_redirects=False) as response,
            ):
                status = response.status
        except self.timeouts as error:
            raise RetrievalError("timeout") from error
        except self.faults as error:
            raise RetrievalError("unavailable") from error
        if status >= 500:
            raise RetrievalError("unavailable")

    async def head(self, body: bytes) -> "ClientResponse":
        """Ask; once more only where the server closed an idle connection just as it was used again.
        Redirects are not followed: the prompt would go to a host that nobody has set."""
        seen: dict[str, bool] = {}
        try:
            return await self.session.post(
                self.address, data=body, allow_redirects=False, trace_request_ctx=seen
            )
        except self.dropped:
            if not seen:
                raise
            return await self.session.post(self.address, data=body, allow_redirects=False)

    async def refusal(self, response: "ClientResponse") -> bytes:
        """What a server says with a refusal, as far as it can be read: the status counts without it."""
        pieces, said = Bytes(response, REFUSAL_SECONDS), b""
        try:
            with suppress(*self.faults):
                while len(said) < REFUSAL_BYTES and (piece := await pieces.next()):
                    said += piece
        finally:
            pieces.close()
        return said[:REFUSAL_BYTES]


class Bytes:
    """An answer's body, piece by piece. One timer watches over all of it: a deadline a piece would cost more
    than the piece."""

    def __init__(self, response: "ClientResponse", patience: float) -> None:
        self.content = response.content
        self.connection = response.connection
        self.patience = patience
        """Seconds waited, all together, until the next word that counts."""
        self.loop = asyncio.get_running_loop()
        self.since: float | None = None
        """When somebody began to wait."""
        self.waited = 0.0
        """Waited before that, in vain."""
        self.timer = self.loop.call_later(min(patience, LOOK_SECONDS), self.look)

    async def next(self) -> bytes:
        """The next piece, b"" at the end. `TimeoutError` after `patience` of silence, `ConnectionError` where
        the connection was closed; what had arrived before a fault comes first."""
        self.since = self.loop.time()
        try:
            return self.rest() or await self.content.readany()
        except RuntimeError as error:  # aiohttp's for a reader who comes after the connection's end
            raise ConnectionError from error
        finally:
            self.waited += self.loop.time() - self.since
            self.since = None

    def rest(self) -> bytes:
        """What arrived before a fault: aiohttp tells the fault first, and would not give it any more."""
        fault = self.content.exception()
        if fault is None:
            return b""
        self.content.set_exception(None)  # type: ignore[arg-type]  # sets what read_nowait() looks at
        rest = self.content.read_nowait()
        self.content.set_exception(fault)
        return rest

    def heard(self) -> None:
        """The last piece had words that count; the silence begins anew."""
        self.waited = 0.0

    def look(self) -> None:
        """Whether it has been silent for too long, or will be for ever."""
        waited = self.waited
        if self.since is not None:
            waited += self.loop.time() - self.since
            if waited >= self.patience:
                return self.content.set_exception(TimeoutError())
            if self.lost():
                return self.content.set_exception(ConnectionError())
        left = max(self.patience - waited, 0.01)
        self.timer = self.loop.call_later(min(left, LOOK_SECONDS), self.look)
        return None

    def lost(self) -> bool:
        """Whether no more can come: after a broken chunk aiohttp hangs up and tells its reader nothing."""
        gone = self.connection is not None and self.connection.closed
        return gone and not self.content.is_eof()

    def hurry(self, patience: float) -> None:
        """Wait less from now on."""
        self.patience = patience
        self.waited = 0.0
        self.timer.cancel()
        self.timer = self.loop.call_later(min(patience, LOOK_SECONDS), self.look)

    def close(self) -> None:
        """Nobody reads on."""
        self.timer.cancel()


def code(body: bytes) -> object:
    """The server's error code of a refusal's body."""
    try:
        said: Any = orjson.loads(body)
    except ValueError:
        return None
    error = said.get("error") if isinstance(said, dict) else None
    return error.get("code") if isinstance(error, dict) else None


def proxy(address: str) -> str | None:
    """The proxy on the way there, as the system or the environment tells; found once, not at each request.
    `StartError` for one that cannot be spoken to: passing it by would send prompts where they must not go."""
    parts = urlsplit(address)
    if proxy_bypass(parts.netloc):
        return None
    known = getproxies()
    name = parts.scheme if known.get(parts.scheme) else "all"
    found = known.get(name)
    if not found:
        return None
    found = found if "://" in found else f"http://{found}"
    if urlsplit(found).scheme not in ("http", "https"):
        raise StartError(f"{name.upper()}_PROXY: only http:// and https:// proxies can be used.")
    return found


def reuse() -> "TraceConfig":
    """Notes in a request's `trace_request_ctx` that it went out on a connection used before."""
    import aiohttp  # noqa: PLC0415 - heavy vendor, opened late

    async def note(_session: object, request: "SimpleNamespace", _what: object) -> None:
        if request.trace_request_ctx is not None:
            request.trace_request_ctx["reused"] = True

    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(note)
    return trace


@asynccontextmanager
async def open_line(
    server: Server, address: str | None = None, *, accept: str = "text/event-stream"
) -> AsyncIterator[Line]:
    """A pool of kept-alive connections, with proxies and certificates as the vendor's client has them.
    `address`: another than that of the server's chat."""
    import aiohttp  # noqa: PLC0415 - heavy vendor, opened late
    import httpx2  # noqa: PLC0415 - heavy vendor, opened late

    way = proxy(server.url)
    secure = server.url.startswith("https:")
    verified: Any = httpx2.create_ssl_context() if secure else True
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=verified, keepalive_timeout=IDLE_SECONDS)
    headers = {
        "Authorization": f"Bearer {server.key}",
        "Content-Type": "application/json",
        "Accept": accept,
    }
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        headers=headers,
        cookie_jar=jar,
        proxy=way,
        trace_configs=[reuse()],
        max_line_size=HEAD_BYTES,
        max_field_size=HEAD_BYTES,
        max_headers=HEAD_LINES,
    ) as session:
        faults = (Refused, aiohttp.ClientError, TimeoutError, ConnectionError)
        yield Line(
            server=server,
            faults=faults,
            session=session,
            address=address or f"{server.url.rstrip('/')}/chat/completions",
            dropped=(aiohttp.ServerDisconnectedError, aiohttp.ClientOSError),
        )


async def whole(response: "ClientResponse", patience: float, most: int) -> bytes:
    """An answer's body, read out; `ValueError` where it has more than `most` bytes."""
    pieces, said = Bytes(response, patience), bytearray()
    try:
        while piece := await pieces.next():
            said += piece
            if len(said) > most:
                raise ValueError("too long")
    finally:
        pieces.close()
    return bytes(said)
