"""The record of erasures (`domain/holding.Erasures`), in the user's row of `ibid.memory_user`.

Whoever writes for a user asks `ibid.user_stands` (alembic 0006), or reads `erased_at` under the user's own
lock (`stores/memories.py`): so both locks are taken here. Times are Postgres's. Raises `Unavailable`.
"""

from collections.abc import Collection
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from typing import Any

import asyncpg

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.holding import Due, Mark
from app.domain.passage import Scope
from app.retrieval.index_cache import IndexCache
from app.stores.bell import Bell
from app.stores.transaction import transaction

CHANNEL = "ibid_erased"
"""Notified with tenant and user when somebody is erased, so that no replica keeps an index of theirs."""
ERASED = "SELECT pg_notify($1, $2)"
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
READ = "SELECT dirty, dirty_at, compacted_at FROM ibid.memory_user WHERE tenant = $1 AND user_id = $2"
BROKEN_OFF = "interval '10 minutes'"
"""After its beginning an erasure that has not ended is taken for one that never will."""
BEGIN = f"""
    INSERT INTO ibid.memory_user AS known (tenant, user_id, version, erased_at, dirty, dirty_at, due_at)
    SELECT $1, $2, 1, at, $3::text[], at, at + {BROKEN_OFF} FROM (SELECT clock_timestamp() AS at) AS this
    ON CONFLICT (tenant, user_id) DO UPDATE SET version = known.version + 1,
        erased_at = excluded.erased_at, dirty = excluded.dirty, dirty_at = excluded.dirty_at,
        due_at = excluded.due_at, ended_at = NULL
    RETURNING erased_at
"""  # noqa: S608 - a constant of ours
# The version again: a search that began between the two may have found what was not yet gone.
BUMP = """
    UPDATE ibid.memory_user SET version = version + 1,
        ended_at = CASE WHEN erased_at = $3 THEN clock_timestamp() ELSE ended_at END
    WHERE tenant = $1 AND user_id = $2 RETURNING dirty, dirty_at, compacted_at
"""
# Always with a time of its own: a compaction that is under way began before these deletes, and clears no mark
# that is later than what it was told. A later erasure that is under way decides when all of it is due.
HELD = """
    UPDATE ibid.memory_user SET dirty_at = clock_timestamp(),
        dirty = ARRAY(
            SELECT DISTINCT unnest($3::text[] || CASE WHEN dirty_at <> $4 THEN dirty END) ORDER BY 1),
        due_at = CASE WHEN ended_at IS NULL THEN due_at ELSE clock_timestamp() END
    WHERE tenant = $1 AND user_id = $2
"""
NOTHING = """
    UPDATE ibid.memory_user SET dirty = $3::text[], dirty_at = $4::timestamptz,
        due_at = CASE WHEN ended_at IS NULL THEN due_at
            WHEN $4::timestamptz IS NOT NULL THEN clock_timestamp() END
    WHERE tenant = $1 AND user_id = $2
"""
# A purge has yet to take a removed document away, or an engine a vector: rewriting files would keep them.
# Reference texts are their tenant's; one that waits for its collection keeps nobody's erasure back.
DUE = """
    SELECT tenant, user_id, dirty, dirty_at FROM ibid.memory_user AS known
    WHERE due_at <= clock_timestamp() AND dirty_at IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM ibid.document AS document
        WHERE document.tenant = known.tenant
        AND (document.owner = known.user_id OR document.users @> ARRAY[known.user_id])
        AND document.removed_at IS NOT NULL)
    AND NOT EXISTS (
        SELECT FROM ibid.outbox AS entry WHERE written_at <= known.dirty_at
        AND (entry.engine = 'chroma' OR entry.collection = 'memory_raw' OR entry.item = ''))
    ORDER BY due_at LIMIT 1000
"""
LISTEN_SECONDS = 60.0
LATER = "interval '1 hour'"
"""Files that could not be rewritten are looked at again."""
# Under the mark of an erasure that is under way, too, which may yet find nothing: whoever waits for the files
# asks again and again. `left` then knows by this time that what was dirty before no longer is.
TOLD = """
    UPDATE ibid.memory_user AS known SET compacted_at = greatest(known.compacted_at, done.dirty_at)
    FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
        AS done (tenant, user_id, kept, dirty_at)
    WHERE known.tenant = done.tenant AND known.user_id = done.user_id AND known.dirty_at >= done.dirty_at
    AND kept = ''
"""
DONE = f"""
    UPDATE ibid.memory_user AS known SET dirty = nullif(string_to_array(kept, ','), '{{}}'),
        dirty_at = CASE WHEN kept <> '' THEN known.dirty_at END,
        due_at = CASE WHEN kept <> '' THEN clock_timestamp() + {LATER} END,
        compacted_at = CASE WHEN kept <> '' THEN known.compacted_at ELSE clock_timestamp() END
    FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
        AS done (tenant, user_id, kept, dirty_at)
    WHERE known.tenant = done.tenant AND known.user_id = done.user_id AND known.dirty_at = done.dirty_at
"""  # noqa: S608 - a constant of ours
# Nothing was ever kept of these names. The row stays until nothing that was asked for before it can still be
# written, and no cache (a day at most) still holds a result under a version that would come again.
BLANK = """
    DELETE FROM ibid.memory_user AS known
    WHERE ended_at < clock_timestamp() - interval '2 days' AND compacted_at IS NULL AND dirty_at IS NULL
    AND NOT EXISTS (
        SELECT FROM ibid.memory AS memory
        WHERE memory.tenant = known.tenant AND memory.user_id = known.user_id)
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
        async with transaction(self._pool) as connection:
            now = await connection.fetchrow(BUMP, *who, mark.erased_at)
            if dirty:
                await connection.execute(HELD, *who, names, mark.erased_at)
            elif now is not None:
                await connection.execute(NOTHING, *who, *left(mark, now))
            await connection.execute(ERASED, CHANNEL, "\x1f".join(who))
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
        """Those, unless they were erased again meanwhile; `dirty` of each is what is left of it."""
        rows = [(each.tenant, each.user_id, ",".join(each.dirty), each.dirty_at) for each in done]
        async with transaction(self._pool) as connection:
            for statement in (TOLD, DONE):
                await connection.execute(statement, *map(list, zip(*rows, strict=True)))

    async def sweep(self) -> None:
        """Drop the marks of names of whom nothing was ever kept, two days after the last asking."""
        with postgres_faults():
            await self._pool.execute(BLANK)


async def evict_erased(pool: Pool, indexes: IndexCache) -> None:
    """Drop the indexes of erased users for as long as the service lives. One that is not heard of is never
    asked for again at its old version, and goes as others come."""

    def heard(payload: str) -> None:
        tenant, _, user = payload.partition("\x1f")
        indexes.evict(lambda key: {tenant, user} <= named(key[1]))

    async with Bell(pool, CHANNEL, heard) as bell:
        while True:
            await bell.wait(seconds=LISTEN_SECONDS)


def named(scope: object) -> set[object]:
    """What the key of an index names: fields of a dataclass, or the items of a tuple."""
    if isinstance(scope, tuple):
        return {*scope}
    return {getattr(scope, item.name) for item in fields(scope)} if is_dataclass(scope) else {scope}


def whose(scope: Scope) -> tuple[str, str]:
    """Tenant and user."""
    if not scope.user_id:
        raise ValueError("an erasure names its user")
    return scope.tenant, scope.user_id


def left(mark: Mark, now: asyncpg.Record) -> tuple[list[str] | None, datetime | None]:
    """What is dirty, and since when, after an erasure that found nothing. A mark that is another's by now
    stays; else it is as before, unless that was rewritten meanwhile."""
    if now["dirty_at"] != mark.erased_at:
        return now["dirty"], now["dirty_at"]
    if not mark.dirty_at or (now["compacted_at"] and now["compacted_at"] >= mark.dirty_at):
        return None, None
    return sorted(mark.dirty), mark.dirty_at


def dirt(row: asyncpg.Record | None) -> dict[str, Any]:
    """How the user's files stand."""
    if row is None:
        return {"dirty": (), "dirty_at": None, "compacted_at": None}
    return {
        "dirty": tuple(row["dirty"] or ()),
        "dirty_at": row["dirty_at"],
        "compacted_at": row["compacted_at"],
    }
