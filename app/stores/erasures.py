"""The record of erasures (`domain/holding.Erasures`), in the user's row of `ibid.memory_user`.

Whoever writes for a user asks `ibid.user_stands` (alembic 0006), or reads `erased_at` under the user's own
lock (`stores/memories.py`): so both locks are taken here. Times are Postgres's. Raises `Unavailable`.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import asyncpg

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.holding import Due, Mark
from app.domain.passage import Scope
from app.stores.transaction import transaction

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
READ = "SELECT dirty, dirty_at, compacted_at FROM ibid.memory_user WHERE tenant = $1 AND user_id = $2"
BEGIN = """
    INSERT INTO ibid.memory_user AS known (tenant, user_id, version, erased_at, dirty, dirty_at)
    SELECT $1, $2, 1, at, $3::text[], at FROM (SELECT clock_timestamp() AS at) AS this
    ON CONFLICT (tenant, user_id) DO UPDATE SET version = known.version + 1,
        erased_at = excluded.erased_at, dirty = excluded.dirty, dirty_at = excluded.dirty_at
    RETURNING erased_at
"""
# The version again: a search that began between the two may have found what was not yet gone. Where the mark
# is another's by now (a later erasure, a compaction that took it along), it stays as it is.
BUMP = "UPDATE ibid.memory_user SET version = version + 1 WHERE tenant = $1 AND user_id = $2"
END = """
    UPDATE ibid.memory_user SET dirty = $3, dirty_at = $4
    WHERE tenant = $1 AND user_id = $2 AND dirty_at = $5
"""
# A purge has yet to take a removed document away, or a repair a memory: rewriting files would keep them.
DUE = """
    SELECT tenant, user_id, dirty, dirty_at FROM ibid.memory_user AS known
    WHERE dirty_at IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM ibid.document AS document
        WHERE document.tenant = known.tenant AND document.owner = known.user_id
        AND document.removed_at IS NOT NULL)
    AND NOT EXISTS (
        SELECT FROM ibid.memory AS memory
        WHERE memory.tenant = known.tenant AND memory.user_id = known.user_id
        AND memory.removed_at IS NOT NULL)
    ORDER BY dirty_at LIMIT 1000
"""
DONE = """
    UPDATE ibid.memory_user AS known SET dirty = NULL, dirty_at = NULL, compacted_at = clock_timestamp()
    FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS done (tenant, user_id, dirty_at)
    WHERE known.tenant = done.tenant AND known.user_id = done.user_id AND known.dirty_at = done.dirty_at
"""


class ErasureStore:
    """Keeps `domain/holding.Erasures`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, scope: Scope, holdings: Collection[str]) -> Mark:
        """Mark the user; what was dirty before."""
        who = whose(scope)
        async with transaction(self._pool) as connection:
            for name in ("ibid.memory", "ibid.user"):
                await connection.execute(LOCK, "\x1f".join((name, *who)))
            before = await connection.fetchrow(READ, *who)
            row = await connection.fetchrow(BEGIN, *who, list(holdings))
        assert row is not None  # noqa: S101 - it was written in this very transaction
        return Mark(row["erased_at"], **dirt(before))

    async def end(self, scope: Scope, mark: Mark, dirty: Collection[str]) -> Mark:
        """These held something, and what was dirty before still is."""
        who, names = whose(scope), sorted({*dirty, *mark.dirty})
        at = mark.erased_at if dirty else mark.dirty_at
        async with transaction(self._pool) as connection:
            await connection.execute(BUMP, *who)
            await connection.execute(END, *who, names or None, at, mark.erased_at)
            row = await connection.fetchrow(READ, *who)
        return replace(mark, **dirt(row))

    async def due(self) -> list[Due]:
        """Whose erasures can be compacted now."""
        with postgres_faults():
            rows = await self._pool.fetch(DUE)
        return [
            Due(row["tenant"], row["user_id"], tuple(row["dirty"] or ()), row["dirty_at"]) for row in rows
        ]

    async def compacted(self, done: Collection[Due]) -> None:
        """Those, unless they were erased again meanwhile."""
        columns = zip(*((each.tenant, each.user_id, each.dirty_at) for each in done), strict=True)
        with postgres_faults():
            await self._pool.execute(DONE, *map(list, columns))


def whose(scope: Scope) -> tuple[str, str]:
    """Tenant and user."""
    if not scope.user_id:
        raise ValueError("an erasure names its user")
    return scope.tenant, scope.user_id


def dirt(row: asyncpg.Record | None) -> dict[str, Any]:
    """How the user's files stand."""
    if row is None:
        return {"dirty": (), "dirty_at": None, "compacted_at": None}
    return {
        "dirty": tuple(row["dirty"] or ()),
        "dirty_at": row["dirty_at"],
        "compacted_at": row["compacted_at"],
    }
