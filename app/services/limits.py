"""Limits of each key (IBID_LIMIT_*): requests and tokens in a fixed window, and concurrent requests.

With CACHE_URL the counts are in Redis, checked and raised by one script, so that all replicas together allow
exactly the limit; without it, or while it is away, each process counts for itself. Tokens are charged when an
answer has ended; once they are spent, the next request is refused. A concurrent request is a lease that its
process renews. Times are in seconds. Headers: draft-ietf-httpapi-ratelimit-headers-10 (quota `q`, window `w`,
unit `qu`, remaining `r`, time `t`).
"""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import structlog

from app.answer import new_id
from app.breaker import CALLER, Breaker
from app.errors import RateLimited, RetrievalError
from app.retrieval.redis import vendor
from app.settings import Settings

if TYPE_CHECKING:
    from limits import RateLimitItem
    from redis.asyncio import Redis as Vendor

PREFIX = "ibid:limit:"
PATIENCE = 0.25
"""Most that a request waits for Redis."""
LEASE_SECONDS, RENEW_SECONDS = 60.0, 20.0
BUSY_SECONDS = 1
"""Retry-After where only the concurrent requests are too many."""

ADMIT = """
local function window(key)
    return tonumber(redis.call('GET', key) or 0), math.max(0, redis.call('PTTL', key))
end
local requests, length, tokens, most = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local used, ends = window(KEYS[1])
local spent, refilled = window(KEYS[2])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
local running = redis.call('ZCARD', KEYS[3])
local over = (requests > 0 and used >= requests) or (tokens > 0 and spent >= tokens)
if over or (most > 0 and running >= most) then
    return {0, used, ends, spent, refilled, running}
end
if requests > 0 then
    used = redis.call('INCR', KEYS[1])
    if used == 1 then
        redis.call('PEXPIRE', KEYS[1], length)
        ends = tonumber(length)
    end
end
if most > 0 then
    redis.call('ZADD', KEYS[3], now + ARGV[6], ARGV[5])
    redis.call('PEXPIRE', KEYS[3], ARGV[6])
end
return {1, used, ends, spent, refilled, running + 1}
"""
SETTLE = """
redis.call('ZREM', KEYS[2], ARGV[1])
local tokens = tonumber(ARGV[2])
if tokens > 0 and redis.call('INCRBY', KEYS[1], tokens) == tokens then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
"""
RENEW = """
local time = redis.call('TIME')
local ends = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1]
for i = 2, #ARGV do
    redis.call('ZADD', KEYS[1], 'XX', ends, ARGV[i])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
"""

T = TypeVar("T")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Quotas:
    """What one key may have; None: any number."""

    requests: "RateLimitItem | None"
    tokens: "RateLimitItem | None"
    concurrency: int | None

    @property
    def windows(self) -> "Mapping[str, RateLimitItem]":
        found = {"requests": self.requests, "tokens": self.tokens}
        return {name: item for name, item in found.items() if item is not None}

    def policy(self) -> str:
        """The value of RateLimit-Policy."""
        told = [
            f'"{name}";q={item.amount};w={item.get_expiry()}' + (';qu="tokens"' if name == "tokens" else "")
            for name, item in self.windows.items()
        ]
        told += [f'"concurrency";q={self.concurrency};qu="concurrent-requests"'] if self.concurrency else []
        return ", ".join(told)


@dataclass(frozen=True, slots=True)
class Counts:
    """Of a key, after an attempt to admit a request."""

    admitted: bool
    windows: Mapping[str, tuple[int, float]]
    """By limit: how much is used, and the seconds until the window ends."""
    running: int


class LocalCounter:
    """In this process, for one event loop: its awaits do not give way to other requests."""

    def __init__(self, quotas: Quotas) -> None:
        from limits.aio.storage import MemoryStorage  # noqa: PLC0415 - only if there are limits
        from limits.aio.strategies import FixedWindowRateLimiter  # noqa: PLC0415

        self._quotas = quotas
        self._windows = FixedWindowRateLimiter(MemoryStorage())
        self._running: defaultdict[str, set[str]] = defaultdict(set)

    async def admit(self, key: str, request: str) -> Counts:
        """Count the request, or refuse it and change nothing."""
        quotas, running = self._quotas, self._running[key]
        free = not quotas.concurrency or len(running) < quotas.concurrency
        admitted = free and all([await self._windows.test(item, key) for item in quotas.windows.values()])
        if admitted and quotas.requests:
            await self._windows.hit(quotas.requests, key)
        if admitted:
            running.add(request)
        windows = {name: await self._count(item, key) for name, item in quotas.windows.items()}
        return Counts(admitted, windows, len(running))

    async def _count(self, item: "RateLimitItem", key: str) -> tuple[int, float]:
        ends, left = await self._windows.get_window_stats(item, key)
        return item.amount - left, max(0.0, ends - time.time())

    async def settle(self, key: str, request: str, tokens: int) -> None:
        """The request has ended, and used so many tokens."""
        self._running[key].discard(request)
        if not self._running[key]:
            del self._running[key]
        if tokens and self._quotas.tokens:
            await self._windows.hit(self._quotas.tokens, key, cost=tokens)


class SharedCounter:
    """In Redis. Raises its errors, and `TimeoutError` after PATIENCE."""

    def __init__(self, redis: "Vendor", quotas: Quotas) -> None:
        self._redis = redis
        self._quotas = quotas
        self._admit, self._settle, self._renew = map(redis.register_script, (ADMIT, SETTLE, RENEW))
        self._leases: defaultdict[str, set[str]] = defaultdict(set)

    async def admit(self, key: str, request: str) -> Counts:
        requests, tokens, most = self._quotas.requests, self._quotas.tokens, self._quotas.concurrency or 0
        given: list[int | str] = [
            requests.amount if requests else 0,
            requests.get_expiry() * 1000 if requests else 0,
            tokens.amount if tokens else 0,
            most,
            request,
            round(LEASE_SECONDS * 1000),
        ]
        async with asyncio.timeout(PATIENCE):
            found = await self._admit(keys=self._keys(key), args=given)
        admitted, used, ends, spent, refilled, running = found
        if admitted and most:
            self._leases[key].add(request)
        windows = {"requests": (used, ends / 1000), "tokens": (spent, refilled / 1000)}
        return Counts(bool(admitted), windows, running)

    async def settle(self, key: str, request: str, tokens: int) -> bool:
        """Always true, unlike None of a call that failed (`Limiter._asked`)."""
        self._leases[key].discard(request)
        if not self._leases[key]:
            del self._leases[key]
        item = self._quotas.tokens
        charged, length = (tokens, item.get_expiry() * 1000) if item else (0, 0)
        if charged or self._quotas.concurrency:
            async with asyncio.timeout(PATIENCE):
                await self._settle(keys=self._keys(key)[1:], args=[request, charged, length])
        return True

    async def renew(self) -> None:
        for key, requests in list(self._leases.items()):
            async with asyncio.timeout(PATIENCE):
                await self._renew(keys=self._keys(key)[2:], args=[round(LEASE_SECONDS * 1000), *requests])

    async def ping(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._redis.ping()

    def _keys(self, key: str) -> list[str]:
        """Of the windows and the leases. Another limit begins another window; the braces keep a key's on one
        node of a cluster."""
        items = (self._quotas.requests, self._quotas.tokens)
        windows = [f"{PREFIX}{{{key}}}:{item.key_for() if item else ''}:{n}" for n, item in enumerate(items)]
        return [*windows, f"{PREFIX}{{{key}}}:running"]


@dataclass(slots=True)
class Grant:
    """A request that was counted, or refused; `end` it, whatever happened."""

    headers: list[tuple[bytes, bytes]]
    refused: tuple[str, ...] = ()
    """The limits that are used up."""
    retry_after: int = 0
    settle: Callable[[int], Awaitable[None]] | None = None
    """Ends it and charges tokens; None: it was refused."""
    _charged: int = -1

    async def end(self, tokens: int) -> None:
        """`tokens`: of its answers so far. Call it again if there were more: an answer whose client left is
        recorded after its last byte."""
        if self.settle and tokens > self._charged:
            charged, self._charged = max(0, self._charged), tokens
            await self.settle(tokens - charged)


class Limiter:
    """See the module. `shared` None: this process alone."""

    name = "limits"

    def __init__(
        self,
        quotas: Quotas | None = None,
        shared: SharedCounter | None = None,
        faults: tuple[type[Exception], ...] = (TimeoutError,),
    ) -> None:
        self.quotas = quotas
        self._policy = (b"ratelimit-policy", quotas.policy().encode()) if quotas else (b"", b"")
        self._local = LocalCounter(quotas) if quotas else None
        self._shared = shared
        self._faults = faults
        self.breaker = Breaker(time.monotonic)
        self._alone = False
        """True if the fall-back was logged."""

    async def admit(self, key: str) -> Grant | None:
        """Count a request of a key, or refuse it; None: nothing is limited."""
        if self.quotas is None or self._local is None:
            return None
        request, local = new_id(), self._local
        counts = await self._asked(lambda shared: shared.admit(key, request))
        alone = counts is None
        counts = counts or await local.admit(key, request)

        async def settle(tokens: int) -> None:
            if alone or not await self._asked(lambda shared: shared.settle(key, request, tokens)):
                await local.settle(key, request, tokens)

        return self._grant(self.quotas, counts, settle if counts.admitted else None)

    async def run(self) -> None:
        """Renew the leases of requests under way, for ever."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            await self._asked(lambda shared: shared.renew())

    async def check(self) -> Mapping[str, str | int | float]:
        """For /readyz. Raises `RetrievalError` while each process counts for itself."""
        if self._shared is None:
            return {"counted": "process"}
        try:
            await self._shared.ping()
        except self._faults as error:
            raise RetrievalError("degraded") from error
        return {"counted": "shared"}

    async def _asked(self, ask: Callable[[SharedCounter], Awaitable[T]]) -> T | None:
        """What Redis answers; None without it, and while it does not answer."""
        service = CALLER.set(("", ""))  # one circuit for all callers
        try:
            if self._shared is None or self.breaker.refuses:
                return None
            with self.breaker.attempt():
                found = await ask(self._shared)
        except self._faults as error:
            if not self._alone:
                log.warning("limits are counted by each process alone", fault=type(error).__name__)
            self._alone = True
            return None
        finally:
            CALLER.reset(service)
        self._alone = False
        return found

    def _grant(
        self, quotas: Quotas, counts: Counts, settle: Callable[[int], Awaitable[None]] | None
    ) -> Grant:
        told, refused, waits = [], [], [BUSY_SECONDS]
        for name, item in quotas.windows.items():
            used, ends = counts.windows[name]
            left, seconds = max(0, item.amount - used), math.ceil(ends)
            told.append(f'"{name}";r={left}' + (f";t={seconds}" if seconds else ""))
            if left == 0 and not counts.admitted:
                refused.append(name)
                waits.append(seconds)
        if quotas.concurrency:
            left = max(0, quotas.concurrency - counts.running)
            told.append(f'"concurrency";r={left}')
            refused += ["concurrency"] if left == 0 and not counts.admitted else []
        headers = [self._policy, (b"ratelimit", ", ".join(told).encode())]
        return Grant(headers, tuple(refused), max(waits), settle)


def refusal(quotas: Quotas, grant: Grant) -> RateLimited:
    """The problem of a request that was not admitted."""
    said = {
        name: f"{item.amount:,} {name} per {item.GRANULARITY.name}" for name, item in quotas.windows.items()
    }
    said["concurrency"] = f"{quotas.concurrency} requests at the same time"
    limits = " and ".join(said[name] for name in grant.refused)
    return RateLimited(f"This key may have {limits}.", retry_after=grant.retry_after)


def quotas_of(settings: Settings) -> Quotas | None:
    """None: nothing is limited."""
    requests, tokens = settings.ibid.limit_requests, settings.ibid.limit_tokens
    concurrency = settings.ibid.limit_concurrency
    if not (requests or tokens or concurrency):
        return None
    from limits import parse  # noqa: PLC0415 - only if there are limits

    return Quotas(parse(requests) if requests else None, parse(tokens) if tokens else None, concurrency)


@asynccontextmanager
async def open_limiter(settings: Settings) -> AsyncIterator[Limiter]:
    quotas, url = quotas_of(settings), settings.cache.url
    if quotas is None or url is None:
        yield Limiter(quotas)
        return
    redis, faults = vendor(url.get_secret_value())  # connections of its own: none waits behind the cache's
    try:
        yield Limiter(quotas, SharedCounter(redis, quotas), (*faults, TimeoutError))
    finally:
        await redis.aclose()
