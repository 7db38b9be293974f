"""A line to a chat server: one POST, and its answer read as the bytes arrive.

aiohttp and not the vendor's client, which costs ten times as much a request and a token
(docs/decisions/0023-speed.md). What goes wrong is one of `Line.faults`; a status other than 2xx is `Refused`,
which `models/openai.py` reads like the vendor's own errors. Times are seconds.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import orjson

from app.models.openai import CONNECT_SECONDS, CONNECTIONS, Contact, Server

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

REFUSAL_BYTES = 64 << 10
"""Read of what a server says with a refusal."""


class Refused(Exception):
    """A status other than 2xx, with what `openai.told` and `Contact.learn` look at."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(body.decode("utf-8", "replace"))
        self.status_code = status
        self.headers = headers
        self.response = self
        self.code = code(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Contact):
    """An open pool of connections to a chat server."""

    session: "ClientSession"
    address: str = field(repr=False)

    @asynccontextmanager
    async def post(self, body: bytes, patience: float) -> AsyncIterator["ClientResponse"]:
        """Entered when the response head is there; left, the connection is closed unless the answer was
        read out. Raises `faults`; no head within `patience` is a `TimeoutError`."""
        async with asyncio.timeout(patience):
            response = await self.session.post(self.address, data=body)
            if not response.ok:
                try:
                    said = await response.content.read(REFUSAL_BYTES)
                finally:
                    response.close()
                raise Refused(response.status, response.headers, said)
        try:
            yield response
        finally:
            response.close()


class Bytes:
    """An answer's body, piece by piece. One timer watches over all of it: a deadline a piece would cost more
    than the piece."""

    def __init__(self, response: "ClientResponse", patience: float) -> None:
        self.content = response.content
        self.patience = patience
        """Seconds until the next piece."""
        self.loop = asyncio.get_running_loop()
        self.since: float | None = None
        """When somebody began to wait."""
        self.timer = self.loop.call_later(patience, self.look)

    async def next(self) -> bytes:
        """The next piece, b"" at the end. `TimeoutError` after `patience` of silence."""
        self.since = self.loop.time()
        try:
            return await self.content.readany()
        finally:
            self.since = None

    def look(self) -> None:
        """Whether it has been silent for too long."""
        now = self.loop.time()
        due = (now if self.since is None else self.since) + self.patience
        if due > now:
            self.timer = self.loop.call_at(due, self.look)
        else:
            self.content.set_exception(TimeoutError())

    def hurry(self, patience: float) -> None:
        """Wait less from now on."""
        self.patience = patience
        self.timer.cancel()
        self.timer = self.loop.call_later(patience, self.look)

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
    """The proxy on the way there, as the system or the environment tells; found once, not at each request."""
    parts = urlsplit(address)
    if proxy_bypass(parts.netloc):
        return None
    known = getproxies()
    found = known.get(parts.scheme) or known.get("all")
    return found if found and found.startswith("http") else None


@asynccontextmanager
async def open_line(server: Server) -> AsyncIterator[Line]:
    """A pool of kept-alive connections, with proxies and certificates as the vendor's client has them."""
    import aiohttp  # noqa: PLC0415 - heavy vendor, opened late
    import httpx2  # noqa: PLC0415 - heavy vendor, opened late

    secure = server.url.startswith("https:")
    verified: Any = httpx2.create_ssl_context() if secure else True
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=verified)
    headers = {
        "Authorization": f"Bearer {server.key}",
        "Content-Type": "application/json",
        "Accept": "text/event-stream",
    }
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, headers=headers, cookie_jar=jar, proxy=proxy(server.url)
    ) as session:
        faults = (Refused, aiohttp.ClientError, TimeoutError, ConnectionError)
        yield Line(
            server=server,
            faults=faults,
            session=session,
            address=f"{server.url.rstrip('/')}/chat/completions",
        )
