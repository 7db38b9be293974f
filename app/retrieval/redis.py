"""Redis or Valkey (CACHE_URL): what replicas share. Implements `types.Shared`; every fault of it is a miss.

An answer waits PATIENCE for it at most, whatever it does. A call that takes longer runs on, so that a slow
first connection is there for the next; after three failures in a row it is left alone for some seconds.
Times are seconds. Raises `StartError` for an address that is none, and nothing else.
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
from app.types import VALUE_BYTES

if TYPE_CHECKING:
    from redis.asyncio import Redis as Vendor

PREFIX = "ibid:retrieval:"
"""Of every key, so that a server may hold other things too."""
CONNECTIONS = 16
CALLS = 256
"""Under way at once, most of them waiting for a connection; what is more is not asked and not kept."""
PATIENCE = 0.04
"""What an answer gives it: on a network of its own it takes a millisecond."""
TURNS = 5
"""Of the loop after that: a busy one sees its clock before it sees the answer that has come meanwhile."""
CALL_SECONDS = 1.0
"""A call's own deadline, connecting included."""

log = structlog.get_logger(__name__)


class Redis:
    """One server. For one event loop."""

    def __init__(self, vendor: "Vendor", faults: tuple[type[Exception], ...]) -> None:
        self._vendor = vendor
        self._faults = faults
        """What a call raises when the server is down, slow or refuses."""
        self._breaker = Breaker(time.monotonic)
        self._calls: set[asyncio.Task[object]] = set()
        self._alone = False
        """Whether it was said that it is left alone."""

    async def get(self, key: str) -> bytes | None:
        """What is kept; None: nothing, too much, or not within PATIENCE."""
        # One byte more than it may have tells that it has too many; the rest is never sent.
        call = self._call(lambda: self._vendor.getrange(PREFIX + key, 0, VALUE_BYTES))
        if call is None:
            return None
        await asyncio.wait({call}, timeout=PATIENCE)
        for _ in range(0 if call.done() else TURNS):
            await asyncio.sleep(0)
        found = call.result() if call.done() and not call.cancelled() else None
        return found if isinstance(found, bytes) and 0 < len(found) <= VALUE_BYTES else None

    def put(self, key: str, value: bytes, *, seconds: float) -> None:
        self._call(lambda: self._vendor.set(PREFIX + key, value, px=max(1, round(seconds * 1000))))

    def _call(self, command: Callable[[], Awaitable[object]]) -> asyncio.Task[object] | None:
        """A command under way; None: the server is left alone, or there are too many."""
        if self._breaker.refuses or len(self._calls) >= CALLS:
            return None
        call = asyncio.create_task(self._answered(command))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return call

    async def _answered(self, command: Callable[[], Awaitable[object]]) -> object:
        try:
            with self._breaker.attempt():
                async with asyncio.timeout(CALL_SECONDS):
                    found = await command()
        except self._faults as error:
            # Said once, however many calls were under way when it fell silent.
            if not self._breaker.closed and not self._alone:
                log.warning("the shared cache is left alone", fault=type(error).__name__)
            self._alone = not self._breaker.closed
            return None
        self._alone = False
        return found

    async def ping(self) -> Mapping[str, str]:
        """Its kind and version; `Unavailable` if it does not answer."""
        try:
            async with asyncio.timeout(CALL_SECONDS):
                told = await self._vendor.info("server")
        except self._faults as error:
            raise Unavailable(f"the cache does not answer ({type(error).__name__})") from error
        kind = "valkey" if "valkey_version" in told else "redis"
        return {"server": kind, "version": str(told.get(f"{kind}_version", ""))}

    async def aclose(self) -> None:
        """End what is under way."""
        calls = list(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self._vendor.aclose()


class RedisProbe:
    """Whether it answers, for /readyz (`models/base.py`, Probe)."""

    name = "cache"

    def __init__(self, redis: Redis) -> None:
        self.redis = redis

    async def check(self) -> Mapping[str, str | int | float]:
        """Kind and version; `Unavailable` if it does not answer."""
        return await self.redis.ping()


@asynccontextmanager
async def open_cache(settings: Settings) -> AsyncIterator[Redis | None]:
    """The server of CACHE_URL, which need not be there yet; None: this process alone."""
    if settings.cache.url is None:
        yield None
        return
    redis = connected(settings.cache.url.get_secret_value())
    try:
        yield redis
    finally:
        await redis.aclose()


def connected(url: str) -> Redis:
    """A client; the first call connects."""
    # The vendor takes half a second to import, and a service of its own does without.
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
        # It connects to nothing, but looks at the address's options.
        pool.make_connection()  # type: ignore[no-untyped-call]
    except (ValueError, TypeError):  # their text may quote the password
        raise StartError("CACHE_URL is not of the form redis://user:password@host:port/0") from None
    return Redis(Vendor.from_pool(pool), (RedisError, OSError))
