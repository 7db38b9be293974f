"""Conversations and dreams as Ibid keeps them (`domain/conversation.Conversations`): conversation_index.

The table may be another tool's: an id of another type, no unique index, columns of theirs. So a row is
updated, and inserted where there was none to update (`roll.py`), by one writer of a tenant at a time. Texts
of a list are cut at BRIEF characters. What Ibid wrote has a hash; other tools' rows, adopted or not, are read
alone. Raises `Unavailable`, `NoRoom`, `Rejected`, `RemovedMeanwhile`, `KeptElsewhere`, `InvalidField`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import asyncpg

from app.clients.pool import Pool
from app.domain.conversation import Conversation, Entry, Known, Outcome, Written, derived
from app.domain.errors import KeptElsewhere, RemovedMeanwhile
from app.domain.passage import DEFAULT_TENANT, Embedding, Scope
from app.projects.profile import DREAMING
from app.retrieval.project_tables import (
    CONVERSATION,
    IN_PROJECT,
    REACHED,
    WHOSE,
    Analysed,
    conversation_analysed,
    forget,
    keep,
)
from app.stores.cursor import closed, opened
from app.stores.named import UUID, links, literal
from app.stores.roll import (
    FIND,
    LISTS,
    READ,
    STALE,
    TABLE,
    TEXTS,
    New,
    conversation,
    places,
    put,
    same,
)
from app.stores.shape import Shape, shape, taking
from app.stores.transaction import Connection, transaction

BRIEF = 10_000
CLOCK = "SELECT clock_timestamp()"
STANDS = "SELECT ibid.user_stands($1, $2, $3)"
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
# A row without a time is the oldest; both infinities are times that a cursor can name.
AT = "least(greatest(coalesce(kept.indexed_at::timestamptz, '0001-01-02'), '0001-01-02'), '9999-12-30')"
LIST = f"""
    SELECT {READ.format(most=BRIEF)}, {AT} AS place FROM {TABLE} AS kept
    WHERE {REACHED} AND {IN_PROJECT.format("$3")}
    AND ($4::timestamptz IS NULL OR ({AT}, kept.session_id::text) < ($4, $5))
    ORDER BY {AT} DESC, kept.session_id::text DESC LIMIT $6
"""  # noqa: S608 - constants of ours
REMOVE = f"""
    DELETE FROM {TABLE} WHERE {WHOSE} AND {IN_PROJECT.format("$3")}
    AND ($4::text IS NULL OR session_id::text = $4) AND sha256 IS NOT NULL RETURNING session_id::text AS id
"""  # noqa: S608 - constants of ours
THEIRS = f"""
    SELECT EXISTS (SELECT FROM {TABLE} WHERE {WHOSE} AND project = $3
    AND session_id::text = $4)
"""  # noqa: S608 - constants of ours
SECONDS = 120.0
"""A project of a hundred thousand rows takes seconds to remove."""


class ConversationStore:
    """See the module."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def known(self, scope: Scope, entries: Sequence[Entry], space: str) -> Known:
        """Which of them are kept already, just as they are given."""
        with taking(TABLE):
            async with transaction(self._pool) as connection:
                began = await connection.fetchval(CLOCK)
                found = await places(connection, await shape(connection, TABLE), scope, entries)
        return Known(began, [same(entry, at, space) for entry, at in zip(entries, found, strict=True)])

    async def write(
        self,
        scope: Scope,
        entries: Sequence[Entry],
        embeddings: Sequence[Embedding],
        space: str,
        since: datetime,
    ) -> list[Written]:
        """All or none; see the port."""
        words = await asyncio.to_thread(analysed, entries, brief=scope.project in DREAMING)
        async with self._writing(scope, since) as (connection, columns):
            found = await places(connection, columns, scope, entries)
            last = {place.id: at for at, place in enumerate(found)}
            kept = {key: same(entries[at], found[at], space) for key, at in last.items()}
            new = [New(key, entries[at], embeddings[at]) for key, at in last.items() if kept[key] is None]
            written = await put(connection, columns, scope, space, new)
            if columns["session_id"].type == UUID:  # words are kept of rows that are known by one
                await keep(connection, CONVERSATION, {row.id: words[row.entry.sha256] for row in new})
        written |= {key: (row, Outcome.UNCHANGED) for key, row in kept.items() if row is not None}
        return [written[place.id] for place in found]

    @asynccontextmanager
    async def _writing(self, scope: Scope, since: datetime) -> AsyncIterator[tuple[Connection, Shape]]:
        """A transaction in which nobody else writes rows of this tenant; of an owner who was erased since
        nothing is written."""
        with taking(TABLE):
            async with transaction(self._pool) as connection:
                if not await connection.fetchval(STANDS, scope.tenant, scope.owner, since):
                    raise RemovedMeanwhile("its user was erased while it was written")
                await connection.execute(LOCK, "\x1f".join(("ibid.conversations", scope.tenant)))
                yield connection, await shape(connection, TABLE)

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Conversation], str | None]:
        """In reach, newest first, and the cursor of the next page."""
        at, name = opened(cursor) if cursor else (None, "")
        asked = (scope.tenant, sorted({scope.owner, ""}), scope.project, at, name, limit + 1)
        with self._pool.asking():
            found = await self._pool.fetch(LIST, *asked)
        page = found[:limit]
        after = closed(page[-1]["place"], page[-1]["id"]) if len(found) > limit else None
        return [conversation(row) for row in page], after

    async def get(self, scope: Scope, name: str) -> tuple[Conversation, bool] | None:
        """By its id, or what its writer called it; and whether it is the asker's own."""
        shared = Scope(scope.tenant, project=scope.project)
        with taking(TABLE):
            async with transaction(self._pool) as connection:
                kind = (await shape(connection, TABLE))["session_id"].type
                ids = [key for each in (scope, shared) for key in links(kind, derived(each, name))]
                ids += [key for key in [literal(kind, name)] if key is not None]
                found = await connection.fetch(FIND.format(type=kind), ids)
        seen = [row for row in found if reached(scope, row)]
        best = min(seen, key=lambda row: nearness(scope, row, name), default=None)
        return (conversation(best), owner(best) == scope.owner) if best else None

    async def remove(self, scope: Scope, id: str | None) -> int:  # noqa: A002 - its name
        """The owner's of that id, or all of his in the project; how many were there. What was derived of
        them goes after them: whoever has just kept words of one has made the deletion wait."""
        place = (scope.tenant, scope.owner, scope.project, id)
        async with transaction(self._pool) as connection:
            gone = [row["id"] for row in await connection.fetch(REMOVE, *place, timeout=SECONDS)]
            await forget(connection, CONVERSATION, gone)
            await connection.execute(STALE, gone)
            if id and not gone and await connection.fetchval(THEIRS, *place):
                raise KeptElsewhere("another tool wrote this row: it is removed there")
        return len(gone)


def nearness(scope: Scope, row: asyncpg.Record, name: str) -> tuple[bool, ...]:
    """Which of several rows a name means, least first: the asker's own, what Ibid wrote, the id itself."""
    return owner(row) != scope.owner, row["sha256"] is None, row["id"] != name


def analysed(entries: Sequence[Entry], *, brief: bool) -> dict[str, Analysed]:
    """The terms and tokens of each, by its hash."""
    return {entry.sha256: conversation_analysed(columns_of(entry), brief=brief) for entry in entries}


def columns_of(entry: Entry) -> dict[str, object]:
    """What its words are looked for in."""
    return {name: getattr(entry.draft, name) for name in (*TEXTS, *LISTS)}


def reached(scope: Scope, row: asyncpg.Record) -> bool:
    """Whether the asker may see it, in the scope's project."""
    tenant = DEFAULT_TENANT if row["tenant"] is None else row["tenant"]
    return (tenant, row["project"]) == (scope.tenant, scope.project) and owner(row) in {scope.owner, ""}


def owner(row: asyncpg.Record) -> str:
    """Another tool's column may be null: the row is shared."""
    return row["owner"] or ""
