"""What is told of a project whatever is asked (`domain/project.KnowledgeRecord`): ibid.project_knowledge.

A row is the tenant's and the project's; no user has one of his own. Writers of one project take turns, so
that a part written beside another is never lost. Raises `Unavailable` (`get`: `RetrievalError`), `TooMany`.
"""

import json
from collections.abc import Mapping, Sequence

import asyncpg

from app.clients.pool import Pool
from app.domain.passage import Scope
from app.domain.project import Knowledge, KnowledgeChange, KnowledgeNote, merged
from app.stores.text import storable
from app.stores.transaction import Connection, transaction

GET = "SELECT overview, rules, notes FROM ibid.project_knowledge WHERE tenant = $1 AND project = $2"
PUT = """
    INSERT INTO ibid.project_knowledge (tenant, project, overview, rules, notes, updated_at)
    VALUES ($1, $2, $3, $4, $5, clock_timestamp())
    ON CONFLICT (tenant, project) DO UPDATE
    SET overview = excluded.overview, rules = excluded.rules, notes = excluded.notes,
        updated_at = excluded.updated_at
"""
PROJECTS = 'SELECT project FROM ibid.project_knowledge WHERE tenant = $1 ORDER BY project COLLATE "C"'
REMOVE = "DELETE FROM ibid.project_knowledge WHERE tenant = $1 AND project = $2 RETURNING 1"
# An advisory lock, because there may be no row to lock yet; readers never wait for it.
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"


class KnowledgeStore:
    """The knowledge of all projects."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, scope: Scope) -> Knowledge | None:
        """The scope's project's; None: nobody wrote any, or the scope names no project."""
        with self._pool.reading():
            row = await self._pool.fetchrow(GET, *place(scope))
        return knowledge(row) if row else None

    async def put(self, scope: Scope, knowledge: Knowledge) -> None:
        """Replaces."""
        async with transaction(self._pool) as connection:
            await hold(connection, scope)
            await write(connection, scope, knowledge)

    async def merge(self, scope: Scope, change: KnowledgeChange) -> Knowledge:
        """What is given replaces what was there, note by note; what it is now."""
        async with transaction(self._pool) as connection:
            await hold(connection, scope)
            row = await connection.fetchrow(GET, *place(scope))
            changed = merged(knowledge(row) if row else Knowledge(), change)
            await write(connection, scope, changed)
        return changed

    async def remove(self, scope: Scope) -> bool:
        """Gone from the next answer on; False: there was none."""
        async with transaction(self._pool) as connection:
            await hold(connection, scope)
            return bool(await connection.fetchval(REMOVE, *place(scope)))

    async def projects(self, scope: Scope) -> Sequence[str]:
        """Those of the tenant that have any, by name."""
        with self._pool.asking():
            return [row["project"] for row in await self._pool.fetch(PROJECTS, scope.tenant)]


def place(scope: Scope) -> tuple[str, str]:
    """The key of a row."""
    return scope.tenant, scope.project or ""


async def hold(connection: Connection, scope: Scope) -> None:
    """Writers of one project's take turns until the transaction ends."""
    await connection.execute(LOCK, "\x1f".join(("ibid.knowledge", *place(scope))))


async def write(connection: Connection, scope: Scope, told: Knowledge) -> None:
    """All of it."""
    notes = [{"title": storable(note.title), "text": storable(note.text)} for note in told.notes]
    texts = (storable(told.overview), storable(told.rules), json.dumps(notes))
    await connection.execute(PUT, *place(scope), *texts)


def knowledge(row: asyncpg.Record | Mapping[str, str]) -> Knowledge:
    """A row as what it says."""
    notes = tuple(KnowledgeNote(note["title"], note["text"]) for note in json.loads(row["notes"]))
    return Knowledge(row["overview"], row["rules"], notes)
