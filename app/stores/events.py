"""`ibid.project_event`: a row for every change of the projects' tables, folded before there are many.

Triggers add them, whoever writes (alembic 0012), so that no writer waits for another; the version of a part
is made of the marks of its events. Those of a part are put together as one that has the marks of all: the
version stays as it is. Here too, since nobody tells of it: what was derived of rows that other tools removed.
Raises `Unavailable`.
"""

from app.clients.pool import Pool
from app.retrieval.project_tables import CHUNK, CONVERSATION
from app.stores.named import UUID
from app.stores.shape import shape
from app.stores.transaction import Connection, transaction

MANY = 100
"""Events of a part that are left alone: reading them takes some 0.2 ms, 50,000 take 90 (busy machine)."""
FOLD_SECONDS = 60.0
NAME = "hashtextextended('ibid.project_event', 0)"
ALONE = f"SELECT pg_try_advisory_xact_lock({NAME})"
UNFOLDED = f"SELECT pg_advisory_xact_lock_shared({NAME})"
FOLD = """
    WITH many AS (
        SELECT tenant, kind, owner, project FROM ibid.project_event GROUP BY 1, 2, 3, 4 HAVING count(*) > $1
    ),
    gone AS (
        DELETE FROM ibid.project_event AS event USING many
        WHERE (event.tenant, event.kind, event.owner, event.project)
            = (many.tenant, many.kind, many.owner, many.project) RETURNING event.*
    )
    INSERT INTO ibid.project_event (tenant, kind, owner, project, mark)
    SELECT tenant, kind, owner, project, bit_xor(mark) FROM gone GROUP BY 1, 2, 3, 4
"""
# By the index of the ids alone. Who keeps terms holds on to their row, so both are seen or neither.
ORPHANS = """
    DELETE FROM ibid.project_words AS words WHERE kind = $1
    AND NOT EXISTS (SELECT FROM {table} AS held WHERE held.{id} = words.id::uuid)
"""
OWN = """
    DELETE FROM ibid.project_event
    WHERE tenant = $1 AND owner = $2 AND kind = $3 AND (xmin = pg_current_xact_id()::xid
        OR project NOT IN (SELECT left(coalesce(project::text, ''), 200) FROM {table} WHERE {where}))
"""
"""What a transaction has told of itself, and of parts without a row of `where`: who wrote a row while its
erasure waited has told of it."""


class EventStore:
    """See the module."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def fold(self) -> None:
        """Parts with many events have one. One process at a time, and none while somebody is erased."""
        async with transaction(self._pool) as connection:
            if await connection.fetchval(ALONE):
                await connection.execute(FOLD, MANY, timeout=FOLD_SECONDS)

    async def tidy(self) -> None:
        """Terms of rows that are there no more are dropped."""
        for table in (CONVERSATION, CHUNK):
            async with transaction(self._pool) as connection:
                if (await shape(connection, table.name))[table.id].type == UUID:  # others have none kept
                    orphans = ORPHANS.format(table=table.name, id=table.id)
                    await connection.execute(orphans, table.kind, timeout=FOLD_SECONDS)


async def unfolded(connection: Connection) -> None:
    """Until the transaction ends nothing is folded: an erasure takes every event that it sees."""
    await connection.execute(UNFOLDED)
