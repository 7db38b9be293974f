"""Files of the embedded PostgreSQL rewritten, so that deleted rows are in none of them.

`VACUUM FULL` writes a table anew; statistics hold samples of texts; the log (WAL) holds every row that was
written since the last checkpoint, and is begun anew (`wal_recycle=off` in `cluster.py`: old segments are
removed, not kept for reuse). A table waits for its turn at most LOCK_SECONDS, and is then locked while it is
rewritten, about a second for 100 MB. Seconds. Raises `Unavailable`. Tried on whole folders: decisions/0032.
"""

import asyncio
from collections.abc import Sequence

import asyncpg

from app.clients.faults import postgres_faults
from app.domain.errors import Unavailable

CONNECT_SECONDS = 5.0
TABLE_SECONDS = 600.0
LOCK_SECONDS = 2.0
"""Whoever comes later queues behind the wait for a lock, so it is short, and tried again."""
TRIES = 30
OLD_SECONDS = 60.0
"""For statements that began before: what they may still see, a rewritten table would keep."""

XID = "SELECT pg_current_xact_id()::xid"
# age() counts back from now: an older snapshot has the greater age.
OLDER = """
    SELECT count(*) FROM pg_stat_activity
    WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND age(backend_xmin) > age($1::text::xid)
"""
STATISTICS = "pg_catalog.pg_statistic"


async def compact(dsn: str, tables: Sequence[str]) -> None:
    """Rewrite these tables, the statistics and the log. `dsn`: of the server's own superuser."""
    with postgres_faults():
        connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS, command_timeout=TABLE_SECONDS)
        try:
            await connection.execute(f"SET lock_timeout = {round(LOCK_SECONDS * 1000)}")
            await unseen(connection)
            for table in (*tables, STATISTICS):
                await rewritten(connection, table)
            # The rest of the segment is zeroed by the switch; the checkpoint removes what is before it.
            await connection.execute("SELECT pg_switch_wal()")
            await connection.execute("CHECKPOINT")
        finally:
            await connection.close(timeout=CONNECT_SECONDS)


async def unseen(connection: asyncpg.Connection) -> None:
    """Until no statement is under way that may still see what was deleted before now."""
    now = str(await connection.fetchval(XID))
    async with asyncio.timeout(OLD_SECONDS):
        while await connection.fetchval(OLDER, now):  # noqa: ASYNC110 - nobody tells us
            await asyncio.sleep(0.1)


async def rewritten(connection: asyncpg.Connection, table: str) -> None:
    """One table with its indexes, and its statistics. Names are ours, never a client's."""
    for left in reversed(range(TRIES)):
        try:
            await connection.execute(f"VACUUM (FULL, ANALYZE) {table}")
            return
        except asyncpg.LockNotAvailableError:
            if not left:
                raise Unavailable(f"{table} is in use") from None
            await asyncio.sleep(0.2)
