"""Redis or Valkey (CACHE_URL), shared by replicas. Every fault is a miss; readers check what they get.

An answer waits at most PATIENCE for it. A slower call continues in the background, so that a first connection
is ready for the next; after three failures in a row the server is not asked for some seconds. Times are
seconds. Raises `StartError` for an invalid URL, and nothing else.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import structlog

from app.breaker import Breaker
from app.errors import StartError, Unavailable
from app.settings import Settings
from app.tasks import cancelled

if TYPE_CHECKING:
    from redis.asyncio import Redis as Vendor

VALUE_BYTES = 2 << 20
"""Most bytes of one value."""
PREFIX = "ibid:retrieval:"
"""Prefix of every key, so that the server may hold other data too."""
CONNECTIONS = 16
CALLS = 256
"""Most calls under way, most of them waiting for a connection; further ones are dropped."""
PATIENCE = 0.04
"""Most that an answer waits: on a local network a call takes a millisecond."""
TURNS = 5
"""Turns of a busy loop after that: its timer may fire before it has read a reply that has arrived."""
CALL_SECONDS = 1.0
"""Deadline of a call, connecting included."""

log = structlog.get_logger(__name__)


class Redis:
    """One server, for one event loop."""

    def __init__(self, vendor: "Vendor", faults: tuple[type[Exception], ...]) -> None:
        self._vendor = vendor
        self._faults = faults
        """Errors of a call when the server is down, slow or refuses."""
        self.breaker = Breaker(time.monotonic)
        self._calls: set[asyncio.Task[object]] = set()
        self._alone = False
        """True if the open breaker was logged."""

    async def get(self, key: str) -> bytes | None:
        """The value; None if missing, too large, or not there within PATIENCE."""
        # One byte more than allowed shows that a value is too large; the rest is never sent.
        call = self._call(lambda: self._vendor.getrange(PREFIX + key, 0, VALUE_BYTES))
        if call is None:
            return None
        await asyncio.wait({call}, timeout=PATIENCE)
        for _ in range(0 if call.done() else TURNS):
            await asyncio.sleep(0)
        found = call.result() if call.done() and not call.cancelled() else None
        return found if isinstance(found, bytes) and 0 < len(found) <= VALUE_BYTES else None

    def put(self, key: str, value: bytes, *, seconds: float) -> None:
        """Store it soon for `seconds`, or not at all; nobody waits for it."""
        self._call(lambda: self._vendor.set(PREFIX + key, value, px=max(1, round(seconds * 1000))))

    def _call(self, command: Callable[[], Awaitable[object]]) -> asyncio.Task[object] | None:
        """Start a command; None while the breaker is open or too many calls are under way."""
        if self.breaker.refuses or len(self._calls) >= CALLS:
            return None
        call = asyncio.create_task(self._answered(command))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return call

    async def _answered(self, command: Callable[[], Awaitable[object]]) -> object:
        try:
            with self.breaker.attempt():
                async with asyncio.timeout(CALL_SECONDS):
                    found = await command()
        except self._faults as error:
            # Logged once, however many calls were under way.
            if not self.breaker.closed and not self._alone:
                log.warning("the shared cache is left alone", fault=type(error).__name__)
            self._alone = not self.breaker.closed
            return None
        self._alone = False
        return found

    async def ping(self) -> Mapping[str, str]:
        """Kind and version; `Unavailable` if it does not answer."""
        try:
            async with asyncio.timeout(CALL_SECONDS):
                told = await self._vendor.info("server")
        except self._faults as error:
            raise Unavailable(f"the cache does not answer ({type(error).__name__})") from error
        kind = "valkey" if "valkey_version" in told else "redis"
        return {"server": kind, "version": str(told.get(f"{kind}_version", ""))}

    async def aclose(self) -> None:
        await cancelled(self._calls)
        await self._vendor.aclose()


class RedisProbe:
    name = "cache"

    def __init__(self, redis: Redis) -> None:
        self.redis = redis

    async def check(self) -> Mapping[str, str | int | float]:
        return await self.redis.ping()


@asynccontextmanager
async def open_cache(settings: Settings) -> AsyncIterator[Redis | None]:
    """The server of CACHE_URL, which may be down now; None without that setting."""
    if settings.cache.url is None:
        yield None
        return
    redis = connected(settings.cache.url.get_secret_value())
    try:
        yield redis
    finally:
        await redis.aclose()


def connected(url: str) -> Redis:
    """A client that connects at its first call."""
    return Redis(*vendor(url))


def vendor(url: str) -> tuple["Vendor", tuple[type[Exception], ...]]:
    """The vendor's client, with a pool of its own, and the errors of its calls."""
    # The vendor takes half a second to import, which a service without a cache need not pay.
    from redis.asyncio import BlockingConnectionPool  # noqa: PLC0415 - heavy vendor, opened late
    from redis.asyncio import Redis as Vendor  # noqa: PLC0415 - heavy vendor, opened late
    from redis.asyncio.retry import Retry  # noqa: PLC0415 - heavy vendor, opened late
    from redis.backoff import NoBackoff  # noqa: PLC0415 - heavy vendor, opened late
    from redis.exceptions import RedisError  # noqa: PLC0415 - heavy vendor, opened late

    # Its own retries and deadlines would only lengthen ours.
    own = {"timeout": None, "socket_timeout": None, "retry": Retry(NoBackoff(), 0)}
    try:
        pool = BlockingConnectionPool.from_url(
            re.sub("^valkey", "redis", url), max_connections=CONNECTIONS, **own
        )
        # It does not connect, but checks the URL's options.
        pool.make_connection()  # type: ignore[no-untyped-call]
    except (ValueError, TypeError):  # their text may quote the password
        raise StartError("CACHE_URL is not of the form redis://user:password@host:port/0") from None
    return Vendor.from_pool(pool), (RedisError, OSError)
