"""The record of memories (`domain/memory.Memories`): `ibid.memory`, and the version of each user's.

Writers of one user take turns by an advisory lock, so that `place` counts without gaps or doubles on any
number of replicas. A memory is searchable when its transaction is committed; triggers enter it in the outbox
for Qdrant. Raises `Unavailable`, `NoRoom`, `RemovedMeanwhile`, `InvalidField` (a cursor).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from app.clients.points import DIGITS
from app.clients.pool import Pool
from app.domain.days import noted
from app.domain.errors import RemovedMeanwhile
from app.domain.memory import Draft, Memory, Outcome, Written, memory_id
from app.domain.passage import Embedding, Scope, day_of
from app.retrieval.postings import pack
from app.stores.cursor import closed, opened
from app.stores.reach import is_id
from app.stores.register import COLUMNS, KNOWN, bump, decided, hold, memory, row_of
from app.stores.text import storable
from app.stores.transaction import transaction

ERASED = "SELECT erased_at > $3 FROM ibid.memory_user WHERE tenant = $1 AND user_id = $2"
# What is there under the id is a card that this one replaces.
WRITE = f"""
    INSERT INTO ibid.memory (tenant, space, {COLUMNS}, embedding, terms, days)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
    ON CONFLICT (id) DO UPDATE SET space = excluded.space, text = excluded.text, tokens = excluded.tokens,
        created_at = excluded.created_at, kind = excluded.kind, tags = excluded.tags,
        origin = excluded.origin, vantage_id = excluded.vantage_id, thread_id = excluded.thread_id,
        place = excluded.place, fields = excluded.fields, embedding = excluded.embedding,
        terms = excluded.terms, days = excluded.days, revision = excluded.revision
"""  # noqa: S608 - a constant of ours
REMOVE = """
    DELETE FROM ibid.memory WHERE id = $1 AND tenant = $2 AND ($3::text IS NULL OR user_id = $3)
    RETURNING user_id
"""
VOTES = "DELETE FROM ibid.memory_vote WHERE tenant = $1 AND user_id = $2 AND memory_id = $3"
GET = f"""
    SELECT {COLUMNS} FROM ibid.memory
    WHERE id = $1 AND tenant = $2 AND ($3::text IS NULL OR user_id = $3)
"""  # noqa: S608 - constants of ours
PAGE = f"""
    SELECT {COLUMNS} FROM ibid.memory
    WHERE tenant = $1 AND user_id = $2
    AND ($3::timestamptz IS NULL OR created_at < $3 OR (created_at = $3 AND id > $4))
    ORDER BY created_at DESC, id LIMIT $5
"""  # noqa: S608 - constants of ours


@dataclass(frozen=True, slots=True)
class Analysed:
    """What is read of a text before its transaction begins."""

    terms: bytes
    day: date | None
    """When it is said, as far as is known before it is written."""
    days: list[int]
    """What is noted of the days it speaks of (`domain/days.py`)."""

    @classmethod
    def of(cls, draft: Draft | Memory) -> "Analysed":
        """CPU: about half a millisecond."""
        text, day = storable(draft.text), day_of(draft.created_at or datetime.now(UTC))
        return cls(pack(text), day, noted(text, day) if day else [])

    def days_of(self, memory: Memory) -> list[int] | None:
        """The same, unless midnight has passed since."""
        return self.days if day_of(memory.created_at) == self.day else None


class MemoryStore:
    """The memories."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def admit(
        self,
        scope: Scope,
        drafts: Sequence[Draft],
        embeddings: Sequence[Embedding],
        tokens: Sequence[int],
        space: str,
        *,
        since: datetime,
    ) -> list[Written]:
        """Those whose words are new to the user, in order, all or none; see `domain/memory.Memories`."""
        tenant, user = whose(scope)
        ids = [memory_id(tenant, user, draft) for draft in drafts]
        analysed = await asyncio.to_thread(lambda: [Analysed.of(draft) for draft in drafts])
        terms = [each.terms for each in analysed]
        self._pool.check_room(sum(map(len, (*terms, *embeddings, *(draft.text for draft in drafts)))))
        async with transaction(self._pool) as connection:
            await hold(connection, tenant, user)
            if await connection.fetchval(ERASED, tenant, user, since):
                raise RemovedMeanwhile("all that was kept of this user was erased meanwhile")
            written = await decided(connection, (tenant, user), drafts, ids, tokens)
            rows = [
                (tenant, space, *row_of(each.memory), vector, found.terms, found.days_of(each.memory))
                for each, vector, found in zip(written, embeddings, analysed, strict=True)
                if each.memory and each.outcome is Outcome.CREATED
            ]
            if rows:
                await connection.executemany(WRITE, rows)
                await bump(connection, tenant, user)
            return written

    async def clock(self) -> datetime:
        """Postgres's, as `erased_at` is."""
        with self._pool.asking():
            now: datetime = await self._pool.fetchval("SELECT clock_timestamp()")
        return now

    async def known(self, scope: Scope, drafts: Sequence[Draft]) -> Mapping[str, Memory]:
        """By id, those whose words the user has already."""
        tenant, user = whose(scope)
        ids = {memory_id(tenant, user, draft) for draft in drafts}
        with self._pool.asking():
            rows = await self._pool.fetch(KNOWN, tenant, user, list(ids))
        return {row["id"]: memory(row) for row in rows}

    async def get(self, scope: Scope, memory_id: str) -> Memory | None:
        """A memory of the scope's tenant, and of its user where it has one."""
        if not is_name(memory_id):
            return None
        with self._pool.asking():
            row = await self._pool.fetchrow(GET, memory_id, scope.tenant, scope.user_id)
        return memory(row) if row else None

    async def list(self, scope: Scope, *, cursor: str | None, limit: int) -> tuple[list[Memory], str | None]:
        """The user's, newest first, and the cursor of the next page."""
        at, after = opened(cursor) if cursor else (None, "")
        with self._pool.asking():
            rows = await self._pool.fetch(PAGE, *whose(scope), at, after, limit + 1)
        found = [memory(row) for row in rows[:limit]]
        return found, closed(found[-1].created_at, found[-1].id) if len(rows) > limit else None

    async def remove(self, scope: Scope, memory_id: str) -> bool:
        """Gone with its votes. False: not there."""
        if not is_name(memory_id):
            return False
        async with transaction(self._pool) as connection:
            user = await connection.fetchval(REMOVE, memory_id, scope.tenant, scope.user_id)
            if user is not None:
                await connection.execute(VOTES, scope.tenant, user, memory_id)
                await bump(connection, scope.tenant, user)
        return user is not None


def is_name(text: str) -> bool:
    """Whether a text can be a memory's id: a UUID, or the number that an older tool gave it."""
    return is_id(text) or (text.isascii() and text.isdigit() and len(text) <= DIGITS)


def whose(scope: Scope) -> tuple[str, str]:
    """Tenant and user. A scope without a user is a caller's fault."""
    if scope.user_id is None:
        raise ValueError("memories are a user's")
    return scope.tenant, scope.user_id
