"""API keys, kept as SHA-256 (`ports.Keys`); why a fast hash is right here: docs/decisions/0014-keys.md.

A key is `ibid_<tenant>_<48 hex digits>`: 192 random bits, made here, shown once. Times are seconds.
Raises `Unavailable` when Postgres does not answer and the key was not seen within OUTAGE seconds.
"""

import asyncio
import hashlib
import re
import secrets
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import asyncpg

from app.clients.faults import RETRY_SECONDS, postgres_faults
from app.clients.pool import Pool
from app.domain.answer import new_id
from app.domain.breaker import Breaker
from app.domain.errors import StartError, Unavailable
from app.domain.key import ApiKey, guess_bits
from app.domain.passage import DEFAULT_TENANT
from app.domain.ports import Caller
from app.stores.memo import Memo
from app.stores.part import TENANT
from app.stores.reach import is_id
from app.stores.transaction import transaction

FRESH = 2.0
"""A key asked about again within this is not looked up: a revocation is seen by every replica this soon."""
LOOKUP_SECONDS = 1.0
"""A look-up's own deadline: every request waits for it."""
OUTAGE = 60.0
"""While Postgres is down a key seen this lately is honoured (DESIGN §6)."""
PAUSE = 2.0
"""After a failed look-up there is none for this long, then one at a time: not each request waits for it."""
BOOTSTRAP_LENGTH = 20
BOOTSTRAP_BITS = 60
"""Least estimated entropy in bits: 2^60 guesses take 36 years at a billion a second. 24 random hex digits
have 96."""
PREFIX_DIGITS = 4
LONGEST = 512

FIND = "SELECT tenant, user_id FROM ibid.api_key WHERE sha256 = $1 AND revoked_at IS NULL"
ANY = "SELECT EXISTS (SELECT FROM ibid.api_key)"
"""Revoked ones count: to take the last key away must not let everybody in."""
COLUMNS = "id, tenant, user_id, name, prefix, created_at, revoked_at"
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
    """The keys."""

    def __init__(self, pool: Pool, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._callers: Memo[bytes, Caller] = Memo(clock)
        self._closed: Memo[str, bool] = Memo(clock)
        self._breaker = Breaker(clock, failures=1, seconds=PAUSE)

    async def find(self, key: str) -> Caller | None:
        """Whom a key stands for; None: not known, or revoked."""
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
        caller = Caller(rows[0]["tenant"], rows[0]["user_id"])
        self._callers.keep(digest, caller)
        return caller

    async def any(self) -> bool:
        """Whether a key was ever made, live or revoked: if not, the service is open."""
        known = self._closed.get("any", seconds=FRESH)
        if known is not None:
            return known
        try:
            [[known]] = await self._looked_up(ANY)
        except Unavailable:
            return bridged(self._closed.get("any", seconds=OUTAGE))
        self._closed.keep("any", bool(known))
        return bool(known)

    async def _looked_up(self, sql: str, *arguments: object) -> Sequence[asyncpg.Record]:
        """The rows. Raises `Unavailable`, at once if Postgres has just failed."""
        if self._breaker.refuses:
            raise Unavailable
        with self._breaker.attempt(), postgres_faults():
            async with asyncio.timeout(LOOKUP_SECONDS):
                return await self._pool.fetch(sql, *arguments)

    async def create(self, tenant: str, *, user: str | None = None, name: str = "") -> tuple[ApiKey, str]:
        """A new key and its text, which is shown this once."""
        shown = re.sub(r"[^a-z0-9]", "", tenant.lower())[:12] or "key"
        front = f"ibid_{shown}_"
        key = front + secrets.token_hex(24)
        made = await self._add(key, tenant, user, name, prefix=key[: len(front) + PREFIX_DIGITS])
        assert made is not None  # noqa: S101 - 192 random bits are new
        return made, key

    async def bootstrap(self, key: str) -> None:
        """Make `key` a tenant key of the tenant `default`; again changes nothing, nor does it bring a
        revoked one back. Raises `StartError` for a key that could be guessed."""
        if len(key) < BOOTSTRAP_LENGTH:
            raise StartError(f"IBID_BOOTSTRAP_KEY must have {BOOTSTRAP_LENGTH} characters or more")
        if guess_bits(key) < BOOTSTRAP_BITS:
            raise StartError(
                "IBID_BOOTSTRAP_KEY is easy to guess (repeats, sequences or words); use a random one:"
                " openssl rand -hex 24"
            )
        await self._add(key, DEFAULT_TENANT, None, "bootstrap", prefix=key[:PREFIX_DIGITS])

    async def list(self, tenant: str | None = None) -> list[ApiKey]:
        """Keys of a tenant, or all, oldest first; revoked ones too."""
        with postgres_faults():
            rows = await self._pool.fetch(ALL, tenant)
        return [api_key(row) for row in rows]

    async def revoke(self, key_id: str, tenant: str | None = None) -> bool:
        """End a key; False: there is no such live key (of that tenant)."""
        if not is_id(key_id):
            return False
        with postgres_faults():
            found = await self._pool.fetchval(REVOKE, key_id, tenant)
        self._callers.clear()
        self._closed.clear()
        return found is not None

    async def _add(self, key: str, tenant: str, user: str | None, name: str, *, prefix: str) -> ApiKey | None:
        """Keep a key; None: it is there."""
        async with transaction(self._pool) as connection:
            await connection.execute(TENANT, tenant)
            row = await connection.fetchrow(ADD, new_id(), tenant, user, hashed(key), prefix, name)
        self._closed.clear()
        return api_key(row) if row else None


def bridged(known: Known | None) -> Known:
    """In an outage: what was known before it. Raises `Unavailable` if that is nothing."""
    if known is None:
        raise Unavailable("keys cannot be looked up", retry_after=RETRY_SECONDS)
    return known


def hashed(key: str) -> bytes:
    """What is kept of a key. A lone surrogate is no key of ours, but must not raise either."""
    return hashlib.sha256(key.encode(errors="surrogatepass")).digest()


def api_key(row: asyncpg.Record) -> ApiKey:
    """A row as the key it is."""
    return ApiKey(
        id=row["id"],
        tenant=row["tenant"],
        user=row["user_id"],
        name=row["name"],
        prefix=row["prefix"],
        created_at=row["created_at"],
        revoked_at=row["revoked_at"],
    )
