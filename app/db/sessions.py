"""Sessions and threads: what a session holds, and the turns of a thread in `public.chat_log`.

A session is keyed (tenant, owner, id) and exists while it has a document or a turn. A thread is keyed the
same way; without one it is the session's, else the user's default thread (id ""). Other tools may write the
table: rows without a time count as the oldest, unknown roles are skipped. Raises `Unavailable`,
`InvalidField` (a cursor), `RetrievalError` for turns that an answer can do without.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from app.answer import Role, Turn
from app.db.documents import DocumentPart, cleared, hold, place
from app.db.pool import Pool, postgres_faults
from app.db.rows import Connection, check_not_erased, closed, opened, storable, take_turns, transaction
from app.errors import invalid_cursor
from app.types import Scope


@dataclass(frozen=True, slots=True)
class Session:
    session_id: str
    documents: int
    """Its own; global ones belong to every session."""
    turns: int
    created_at: datetime
    """Time of its first remaining document or turn."""
    last_active_at: datetime
    title: str | None = None
    """As somebody renamed it, else the beginning of its first question; None without either."""
    renamed: bool = False


@dataclass(frozen=True, slots=True)
class Utterance:
    thread_id: str
    role: str
    content: str
    at: datetime
    answer_id: str | None


TITLE_CHARS = 200
OLDEST = "'epoch'::timestamptz"
SPOKEN = "role IN ('user', 'assistant') AND content IS NOT NULL"
# A session's newest turn is the first row of its range of the index, and the next session is found by
# skipping the rest; turns are counted only for the sessions of the page.
NEWEST_TURNS = f"""
        (SELECT session_id, created_at FROM public.chat_log
        WHERE tenant = $1 AND owner = $2 AND session_id > '' AND {SPOKEN}
        ORDER BY session_id, created_at DESC NULLS LAST LIMIT 1)
        UNION ALL
        SELECT next.session_id, next.created_at FROM spoken, LATERAL (
            SELECT session_id, created_at FROM public.chat_log
            WHERE tenant = $1 AND owner = $2 AND session_id > spoken.session_id AND {SPOKEN}
            ORDER BY session_id, created_at DESC NULLS LAST LIMIT 1) AS next
"""  # noqa: S608 - constants of ours
NEWEST_TURN = f"""
        SELECT session_id, created_at FROM public.chat_log
        WHERE tenant = $1 AND owner = $2 AND session_id = $7 AND {SPOKEN}
        ORDER BY created_at DESC NULLS LAST LIMIT 1
"""  # noqa: S608 - constants of ours
FIGURES = f"""
    WITH RECURSIVE spoken AS ({{spoken}}),
    filed AS (
        SELECT session_id, count(*) AS documents, min(created_at) AS first, max(created_at) AS latest
        FROM ibid.document
        WHERE tenant = $1 AND owner = $2 AND {{filed}} AND removed_at IS NULL
        GROUP BY session_id),
    session AS (
        SELECT session_id, coalesce(documents, 0) AS documents, filed.first,
            greatest(coalesce(spoken.created_at, {OLDEST}), filed.latest) AS latest
        FROM spoken FULL JOIN filed USING (session_id)),
    page AS (
        SELECT * FROM session
        WHERE ($3::timestamptz IS NULL OR (latest, session_id COLLATE "C") < ($3, $4))
        AND ($6::text IS NULL OR strpos(lower(session_id), lower($6)) > 0 OR EXISTS (
            SELECT FROM public.chat_log AS said
            WHERE said.tenant = $1 AND said.owner = $2 AND said.session_id = session.session_id
            AND {SPOKEN} AND strpos(lower(content), lower($6)) > 0) OR EXISTS (
            SELECT FROM ibid.session_title AS given
            WHERE given.tenant = $1 AND given.owner = $2 AND given.session_id = session.session_id
            AND strpos(lower(title), lower($6)) > 0))
        ORDER BY latest DESC, session_id COLLATE "C" DESC LIMIT $5)
    SELECT page.session_id, documents, said.turns, coalesce(least(page.first, said.first), latest), latest,
        coalesce(given.title, (SELECT left(content, {TITLE_CHARS}) FROM public.chat_log AS asked
            WHERE asked.tenant = $1 AND asked.owner = $2 AND asked.session_id = page.session_id
            AND role = 'user' AND content IS NOT NULL ORDER BY created_at NULLS FIRST, id LIMIT 1)) AS title,
        given.title IS NOT NULL AS renamed
    FROM page LEFT JOIN ibid.session_title AS given
        ON given.tenant = $1 AND given.owner = $2 AND given.session_id = page.session_id,
    LATERAL (
        SELECT count(*) AS turns, min(created_at) AS first FROM public.chat_log
        WHERE tenant = $1 AND owner = $2 AND session_id = page.session_id AND {SPOKEN}) AS said
    ORDER BY latest DESC, page.session_id COLLATE "C" DESC
"""  # noqa: S608 - constants of ours
LIST = FIGURES.format(spoken=NEWEST_TURNS, filed="session_id <> ''")
ONE = FIGURES.format(spoken=NEWEST_TURN, filed="session_id = $7")
RENAME = """
    INSERT INTO ibid.session_title (tenant, owner, session_id, title) VALUES ($1, $2, $3, $4)
    ON CONFLICT (tenant, owner, session_id) DO UPDATE
    SET title = excluded.title, created_at = excluded.created_at
"""
UNNAME = "DELETE FROM ibid.session_title WHERE tenant = $1 AND owner = $2 AND session_id = $3"
UNTIMED = "~"
"""Before the id in the cursor of a row without a time; such rows are the oldest."""
# Reads the index of the newest turns backwards. Ids have the type of the column, which may be an older
# tool's.
SELECT_TURNS = f"""
    SELECT CASE WHEN created_at IS NULL THEN '{UNTIMED}' ELSE '' END || id AS key,
        coalesce(thread_id, '') AS thread_id, role, content, coalesce(created_at, {OLDEST}) AS at, answer_id
    FROM public.chat_log
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND {SPOKEN}
    AND ($4::text IS NULL OR thread_id = $4) {{after}}
    ORDER BY created_at NULLS FIRST, id LIMIT $5
"""  # noqa: S608 - constants of ours
KEY = "(jsonb_populate_record(NULL::public.chat_log, jsonb_build_object('id', $6::text))).id"
FIRST = SELECT_TURNS.format(after="")
AFTER_UNTIMED = SELECT_TURNS.format(after=f"AND (created_at IS NOT NULL OR id > {KEY})")
AFTER = SELECT_TURNS.format(after=f"AND (created_at, id) > ($7::timestamptz, {KEY})")
FORGOTTEN = """
    WITH gone AS (DELETE FROM {table} WHERE tenant = $1 AND owner = $2 AND session_id = $3 RETURNING 1)
    SELECT count(*) FROM gone
"""
MARK = """
    INSERT INTO ibid.part (tenant, owner, session_id, removed_at) VALUES ($1, $2, $3, clock_timestamp())
    ON CONFLICT (tenant, owner, session_id) DO UPDATE SET removed_at = excluded.removed_at
"""
REMOVE_SECONDS = 15.0
"""Deadline of removing a session: a hundred thousand turns take seconds."""


class SessionStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def recent(
        self, scope: Scope, *, cursor: str | None, limit: int, containing: str | None = None
    ) -> tuple[list[Session], str | None]:
        """`containing`: in the id, a turn or the given title, ignoring case."""
        at, key = opened(cursor) if cursor else (None, "")
        with self._pool.asking():
            rows = await self._pool.fetch(LIST, scope.tenant, scope.owner, at, key, limit + 1, containing)
        found = [Session(*row) for row in rows[:limit]]
        more = len(rows) > limit
        return found, closed(found[-1].last_active_at, found[-1].session_id) if more else None

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        """Turns of the scope's session, or of its thread there, oldest first, and the cursor of the next
        page."""
        statement, after = resumed(cursor)
        where = (scope.tenant, scope.owner, scope.session_id or "", scope.thread_id)
        try:
            with self._pool.asking():
                rows = await self._pool.fetch(statement, *where, limit + 1, *after)
        except asyncpg.DataError as error:
            raise invalid_cursor() from error
        found = [Utterance(*list(row)[1:]) for row in rows[:limit]]
        return found, closed(found[-1].at, rows[limit - 1]["key"]) if len(rows) > limit else None

    async def rename(self, scope: Scope, title: str) -> Session | None:
        """Give the scope's session a title, or with "" take it back; the session as it is then, None if there
        is none."""
        part = DocumentPart(scope.tenant, scope.owner, scope.session_id or "")
        async with transaction(self._pool) as connection:
            await take_turns(connection, "ibid.said", *place(part))  # after or before its removal
            await check_not_erased(connection, scope.tenant, scope.owner)
            if title:
                await connection.execute(RENAME, *place(part), storable(title))
            else:
                await connection.execute(UNNAME, *place(part))
            row = await connection.fetchrow(ONE, *place(part)[:2], None, "", 1, None, part.session_id)
            if row is None:
                await connection.execute(UNNAME, *place(part))
        return Session(*row) if row else None

    async def remove(self, scope: Scope) -> bool:
        """Remove a session, all or nothing: documents become invisible (jobs purge them), turns and answers
        are deleted, and answers to earlier questions are not written any more. False: there was nothing
        (answers may be under way). An upload that is not admitted yet belongs to a new session of that id."""
        if not scope.session_id:
            return False
        part = DocumentPart(scope.tenant, scope.owner, scope.session_id)
        with postgres_faults():
            async with asyncio.timeout(REMOVE_SECONDS), transaction(self._pool) as connection:
                return await emptied(connection, part)


def resumed(cursor: str | None) -> tuple[str, tuple[object, ...]]:
    if not cursor:
        return FIRST, ()
    at, key = opened(cursor)
    if key.startswith(UNTIMED):
        return AFTER_UNTIMED, (key.removeprefix(UNTIMED),)
    return AFTER, (key, at)


async def emptied(connection: Connection, part: DocumentPart) -> bool:
    await hold(connection, part)
    # Writes in progress end before; later ones find the mark (`ibid.session_stands`).
    await take_turns(connection, "ibid.said", *place(part))
    documents = await cleared(connection, part)
    await connection.execute(MARK, *place(part))
    await connection.execute(UNNAME, *place(part))
    said = [await forgotten(connection, table, part) for table in ("public.chat_log", "ibid.answer")]
    return bool(documents or any(said))


async def forgotten(connection: Connection, table: str, part: DocumentPart) -> int:
    count: int = await connection.fetchval(FORGOTTEN.format(table=table), *place(part))
    return count


THREAD = """
    tenant = $1 AND owner = $2 AND thread_id = $3 AND (thread_id <> '' OR user_id IS NOT DISTINCT FROM $4)
"""
TURNS = f"""
    SELECT role, content, created_at, id::text AS key FROM public.chat_log
    WHERE {THREAD} AND role IN ('user', 'assistant') AND content IS NOT NULL
    ORDER BY created_at DESC NULLS LAST, id DESC LIMIT $5
"""  # noqa: S608 - a constant of ours
# An older tool's ids may have any type: they are compared in that type.
THESE = f"""
    SELECT role, content, created_at, id::text AS key FROM public.chat_log
    WHERE {THREAD} AND role IN ('user', 'assistant') AND content IS NOT NULL AND id IN (
        SELECT (jsonb_populate_record(NULL::public.chat_log, jsonb_build_object('id', key))).id
        FROM unnest($5::text[]) AS wanted (key))
"""  # noqa: S608 - a constant of ours


class ChatLogStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def turns(self, scope: Scope, limit: int) -> list[Turn]:
        """The newest `limit` turns of the scope's thread, oldest first. Raises `RetrievalError`."""
        with self._pool.reading():
            rows = await self._pool.fetch(TURNS, *thread(scope), limit)
        return [turn(row) for row in reversed(rows)]

    async def these(self, scope: Scope, ids: Sequence[str]) -> dict[str, Turn]:
        if not ids:
            return {}
        with self._pool.asking():
            rows = await self._pool.fetch(THESE, *thread(scope), list(ids))
        return {row["key"]: turn(row) for row in rows}


def turn(row: asyncpg.Record) -> Turn:
    return Turn(Role(row["role"]), row["content"], row["created_at"], row["key"])


def thread(scope: Scope) -> tuple[str, str, str, str | None]:
    return scope.tenant, scope.owner, scope.thread, scope.user_id
