"""What a session holds, over the tables that hold it (`domain/session.Sessions`): it has no table itself.

Its documents are those of its part, its turns the rows of `public.chat_log` under its id. Other tools may
write that table: a row without a time counts as the oldest, roles that are no turns are passed over.
Raises `Unavailable`, and `InvalidField` for a cursor.
"""

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.document import Part
from app.domain.passage import Scope
from app.domain.session import Session, Utterance
from app.stores.cursor import closed, opened
from app.stores.part import CHANNEL, bump, hold, place
from app.stores.transaction import Connection, transaction

OLDEST = "'epoch'::timestamptz"
SPOKEN = "role IN ('user', 'assistant') AND content IS NOT NULL"
# A session's newest turn is the first row of its stretch of the index, and the next session's is found by
# skipping the rest; only the sessions of the page have their turns counted.
LIST = f"""
    WITH RECURSIVE spoken AS (
        (SELECT session_id, created_at FROM public.chat_log
        WHERE tenant = $1 AND owner = $2 AND session_id > '' AND {SPOKEN}
        ORDER BY session_id, created_at DESC LIMIT 1)
        UNION ALL
        SELECT next.session_id, next.created_at FROM spoken, LATERAL (
            SELECT session_id, created_at FROM public.chat_log
            WHERE tenant = $1 AND owner = $2 AND session_id > spoken.session_id AND {SPOKEN}
            ORDER BY session_id, created_at DESC LIMIT 1) AS next),
    filed AS (
        SELECT session_id, count(*) AS documents, min(created_at) AS first, max(created_at) AS latest
        FROM ibid.document
        WHERE tenant = $1 AND owner = $2 AND session_id <> '' AND removed_at IS NULL
        GROUP BY session_id),
    session AS (
        SELECT session_id, coalesce(documents, 0) AS documents, filed.first,
            greatest(coalesce(spoken.created_at, {OLDEST}), filed.latest) AS latest
        FROM spoken FULL JOIN filed USING (session_id)),
    page AS (
        SELECT * FROM session
        WHERE $3::timestamptz IS NULL OR (latest, session_id COLLATE "C") < ($3, $4)
        ORDER BY latest DESC, session_id COLLATE "C" DESC LIMIT $5)
    SELECT page.session_id, documents, said.turns, coalesce(least(page.first, said.first), latest), latest
    FROM page, LATERAL (
        SELECT count(*) AS turns, min(coalesce(created_at, {OLDEST})) AS first FROM public.chat_log
        WHERE tenant = $1 AND owner = $2 AND session_id = page.session_id AND {SPOKEN}) AS said
    ORDER BY latest DESC, page.session_id COLLATE "C" DESC
"""  # noqa: S608 - constants of ours
TURNS = f"""
    SELECT id::text AS key, coalesce(thread_id, '') AS thread_id, role, content,
        coalesce(created_at, {OLDEST}) AS at, answer_id
    FROM public.chat_log
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND {SPOKEN}
    AND ($4::text IS NULL OR thread_id = $4)
    AND ($5::timestamptz IS NULL OR (coalesce(created_at, {OLDEST}), id::text COLLATE "C") > ($5, $6))
    ORDER BY coalesce(created_at, {OLDEST}), id::text COLLATE "C" LIMIT $7
"""  # noqa: S608 - constants of ours
GONE = """
    WITH gone AS (
        UPDATE ibid.document SET removed_at = now()
        WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at IS NULL
        RETURNING id, tenant, owner, session_id),
    purges AS (
        INSERT INTO ibid.job (kind, document_id, tenant, owner, session_id)
        SELECT 'purge', id, tenant, owner, session_id FROM gone)
    SELECT count(*) FROM gone
"""
FORGOTTEN = """
    WITH gone AS (DELETE FROM {table} WHERE tenant = $1 AND owner = $2 AND session_id = $3 RETURNING 1)
    SELECT count(*) FROM gone
"""
REMOVE_SECONDS = 120.0
"""For the rows of one session: a hundred thousand turns take seconds."""


class SessionStore:
    """The sessions."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def recent(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Session], str | None]:
        """Most recently active first, and the cursor of the next page."""
        at, key = opened(cursor) if cursor else (None, "")
        with postgres_faults():
            rows = await self._pool.fetch(LIST, scope.tenant, scope.owner, at, key, limit + 1)
        found = [Session(*row) for row in rows[:limit]]
        more = len(rows) > limit
        return found, closed(found[-1].last_active_at, found[-1].session_id) if more else None

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        """Of the scope's session, or of its thread there; oldest first, and the cursor of the next page."""
        at, key = opened(cursor) if cursor else (None, "")
        where = (scope.tenant, scope.owner, scope.session_id or "", scope.thread_id)
        with postgres_faults():
            rows = await self._pool.fetch(TURNS, *where, at, key, limit + 1)
        found = [Utterance(*list(row)[1:]) for row in rows[:limit]]
        return found, closed(found[-1].at, rows[limit - 1]["key"]) if len(rows) > limit else None

    async def remove(self, scope: Scope) -> bool:
        """All or nothing: documents unseen from now on (a job clears each away), turns and answers deleted.

        What is being uploaded and not yet admitted is a later document of a session that begins anew."""
        if not scope.session_id:
            return False
        part = Part(scope.tenant, scope.owner, scope.session_id)
        async with transaction(self._pool) as connection:
            await hold(connection, part)
            documents = await connection.fetchval(GONE, *place(part), timeout=REMOVE_SECONDS)
            if documents:
                await bump(connection, part)
                await connection.execute("SELECT pg_notify($1, '')", CHANNEL)
            said = [await forgotten(connection, table, part) for table in ("public.chat_log", "ibid.answer")]
        return bool(documents or any(said))


async def forgotten(connection: Connection, table: str, part: Part) -> int:
    """Delete a session's rows of a table of ours, and say how many there were."""
    statement = FORGOTTEN.format(table=table)
    count: int = await connection.fetchval(statement, *place(part), timeout=REMOVE_SECONDS)
    return count
