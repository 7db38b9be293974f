"""API keys, stored as SHA-256 (docs/adr/0011 says why a fast hash is enough), and a cache of look-ups.

A key is `ibid_<tenant>_<48 hex digits>`, shown once. The cache (SIZE entries, the least recently confirmed
evicted) saves a query per request and bridges an outage: `Unavailable` if Postgres does not answer and the
key was not confirmed within OUTAGE seconds.
"""

import asyncio
import hashlib
import math
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

import asyncpg

from app.answer import new_id
from app.breaker import Breaker
from app.db.documents import TENANT
from app.db.pool import RETRY_SECONDS, Pool, postgres_faults
from app.db.rows import is_id, transaction
from app.errors import StartError, Unavailable
from app.types import DEFAULT_TENANT


@dataclass(frozen=True, slots=True)
class ApiKey:
    id: str
    tenant: str
    user: str | None
    """The user it acts for; None for a tenant key."""
    name: str
    prefix: str
    """First characters, to tell keys apart."""
    created_at: datetime
    revoked_at: datetime | None = None


LETTERS = {r"[a-z]": 26, r"[A-Z]": 26, r"\d": 10}
"""Character classes and their sizes."""
WORD = re.compile(r"[A-Za-z]?[a-z]{3,}|[A-Z]{4,}|(?<![A-Za-z\d])[A-Za-z]{2,3}(?![A-Za-z\d])")
WORD_BITS, WORD_MOST = 2.0, 11.0
"""Bits of a letter in a word (English has 1 to 1.5, Shannon 1951; random letters rarely look like words), and
most bits of a whole word: an attacker's list has some thousands."""
NUMBER = re.compile(r"(?<![A-Za-z\d])\d{2,4}(?![A-Za-z\d])|(?<=[a-z]{3})\d{2,4}(?!\d|[A-Za-z])")
"""A year or a number behind a word."""
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "azertyuiop")


def guess_bits(key: str) -> float:
    """Estimate of the key's entropy in bits. Punctuation counts 0, as do repeated or consecutive characters
    (aaa, 345, a keyboard row, a pair that occurred before). A word has at most WORD_MOST."""
    each = math.log2(sum(size for kind, size in LETTERS.items() if re.search(kind, key)) or 1)
    bits = [each if char.isalnum() else 0.0 for char in key]
    for word in WORD.finditer(key):
        size = len(word[0])
        bits[slice(*word.span())] = [min(WORD_BITS, WORD_MOST / size)] * size
    for number in NUMBER.finditer(key):
        bits[slice(*number.span())] = [WORD_BITS] * len(number[0])
    pairs: set[str] = set()
    for at, pair in enumerate(map("".join, zip(key.lower(), key.lower()[1:], strict=False)), 1):
        if pair in pairs or abs(ord(pair[0]) - ord(pair[1])) <= 1 or any(pair in row for row in ROWS):
            bits[at] = 0.0
        pairs.add(pair)
    return sum(bits)


@dataclass(frozen=True, slots=True)
class Caller:
    tenant: str
    user: str | None
    """The user of a user key; None for a tenant key, which acts for any user of the tenant."""
    key: str = field(default="", compare=False)
    """The key's id, by which it is limited; "": not limited."""


SIZE = 10_000

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


class TimedCache(Generic[Name, Value]):
    """Confirmed values with the time of their confirmation."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[Name, tuple[Value, float]] = OrderedDict()

    def put(self, name: Name, value: Value) -> None:
        self._kept[name] = (value, self._clock())
        self._kept.move_to_end(name)
        if len(self._kept) > SIZE:
            self._kept.popitem(last=False)

    def drop(self, name: Name) -> None:
        self._kept.pop(name, None)

    def clear(self) -> None:
        self._kept.clear()

    def get(self, name: Name, *, seconds: float) -> Value | None:
        value, at = self._kept.get(name, (None, 0.0))
        return value if self._clock() - at <= seconds else None


FRESH = 2.0
"""Seconds in which a key is not looked up again: every replica notices a revocation this soon."""
LOOKUP_SECONDS = 1.0
"""Deadline of a look-up: every request waits for it."""
OUTAGE = 60.0
"""Seconds for which a confirmed key is accepted while Postgres is down."""
PAUSE = 2.0
"""Seconds after a failed look-up without another; then one at a time, so that not every request waits for
it."""
BOOTSTRAP_LENGTH = 20
BOOTSTRAP_BITS = 60
"""Least estimated entropy in bits: 2^60 guesses take 36 years at a billion a second. 24 random hex digits
have 96."""
PREFIX_DIGITS = 4
LONGEST = 512

FIND = "SELECT id, tenant, user_id FROM ibid.api_key WHERE sha256 = $1 AND revoked_at IS NULL"
ANY = "SELECT EXISTS (SELECT FROM ibid.api_key)"
"""Revoked keys count: revoking the last key must not open the service."""
COLUMNS = 'id, tenant, user_id AS "user", name, prefix, created_at, revoked_at'
ADD = f"""
    INSERT INTO ibid.api_key (id, tenant, user_id, sha256, prefix, name) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (sha256) DO NOTHING RETURNING {COLUMNS}
"""  # noqa: S608 - a constant of ours
ALL = f"SELECT {COLUMNS} FROM ibid.api_key WHERE $1::text IS NULL OR tenant = $1 ORDER BY id"  # noqa: S608
REVOKE = """
    UPDATE ibid.api_key SET revoked_at = now()
    WHERE id = $1 AND ($2::text IS NULL OR tenant = $2) AND revoked_at IS NULL RETURNING id
"""

Known = TypeVar("Known")


class KeyStore:
    def __init__(self, pool: Pool, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._callers: TimedCache[bytes, Caller] = TimedCache(clock)
        self._closed: TimedCache[str, bool] = TimedCache(clock)
        self._breaker = Breaker(clock, failures=1, seconds=PAUSE)

    async def find(self, key: str) -> Caller | None:
        if not key or len(key) > LONGEST:
            return None
        digest = hashed(key)
        if caller := self._callers.get(digest, seconds=FRESH):
            return caller
        try:
            rows = await self._looked_up(FIND, digest)
        except Unavailable:
            return bridged(self._callers.get(digest, seconds=OUTAGE))
        if not rows:
            self._callers.drop(digest)
            return None
        caller = Caller(rows[0]["tenant"], rows[0]["user_id"], rows[0]["id"])
        self._callers.put(digest, caller)
        return caller

    async def any(self) -> bool:
        """True if a key was ever created, live or revoked; otherwise the service is open."""
        known = self._closed.get("any", seconds=FRESH)
        if known is not None:
            return known
        try:
            [[known]] = await self._looked_up(ANY)
        except Unavailable:
            return bridged(self._closed.get("any", seconds=OUTAGE))
        self._closed.put("any", bool(known))
        return bool(known)

    async def _looked_up(self, sql: str, *arguments: object) -> Sequence[asyncpg.Record]:
        """Raises `Unavailable`, at once if Postgres has just failed."""
        if self._breaker.refuses:
            raise Unavailable
        with self._breaker.attempt(), postgres_faults():
            async with asyncio.timeout(LOOKUP_SECONDS):
                return await self._pool.fetch(sql, *arguments)

    async def create(self, tenant: str, *, user: str | None = None, name: str = "") -> tuple[ApiKey, str]:
        shown = re.sub(r"[^a-z0-9]", "", tenant.lower())[:12] or "key"
        front = f"ibid_{shown}_"
        key = front + secrets.token_hex(24)
        made = await self._add(key, tenant, user, name, prefix=key[: len(front) + PREFIX_DIGITS])
        assert made is not None  # noqa: S101 - 192 random bits are new
        return made, key

    async def bootstrap(self, key: str) -> None:
        """Make `key` a tenant key of the tenant `default`, once; a revoked one stays revoked. `StartError`
        for a key that could be guessed."""
        if len(key) < BOOTSTRAP_LENGTH:
            raise StartError(f"IBID_BOOTSTRAP_KEY must have {BOOTSTRAP_LENGTH} characters or more")
        if guess_bits(key) < BOOTSTRAP_BITS:
            raise StartError(
                "IBID_BOOTSTRAP_KEY is easy to guess (repeats, sequences or words); use a random one:"
                " openssl rand -hex 24"
            )
        await self._add(key, DEFAULT_TENANT, None, "bootstrap", prefix=key[:PREFIX_DIGITS])

    async def list(self, tenant: str | None = None) -> list[ApiKey]:
        with postgres_faults():
            rows = await self._pool.fetch(ALL, tenant)
        return [ApiKey(**row) for row in rows]

    async def revoke(self, key_id: str, tenant: str | None = None) -> bool:
        if not is_id(key_id):
            return False
        with postgres_faults():
            found = await self._pool.fetchval(REVOKE, key_id, tenant)
        self._callers.clear()
        self._closed.clear()
        return found is not None

    async def _add(self, key: str, tenant: str, user: str | None, name: str, *, prefix: str) -> ApiKey | None:
        async with transaction(self._pool) as connection:
            await connection.execute(TENANT, tenant)
            row = await connection.fetchrow(ADD, new_id(), tenant, user, hashed(key), prefix, name)
        self._closed.clear()
        return ApiKey(**row) if row else None


def bridged(known: Known | None) -> Known:
    if known is None:
        raise Unavailable("keys cannot be looked up", retry_after=RETRY_SECONDS)
    return known


def hashed(key: str) -> bytes:
    """A lone surrogate is no valid key but must not raise."""
    return hashlib.sha256(key.encode(errors="surrogatepass")).digest()
