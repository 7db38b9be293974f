"""What memories and documents there were at a time (`as_of`), what came and went since one (`since`), and the
changes that concern a user.

A row's version holds from `recorded_at` to `ended_at`; `ibid.past_version` keeps ids and times of versions
that ended, without texts, and an erasure removes them. A write is recorded a moment before its commit, so
`until` of a page of changes is the start of the oldest writing transaction: passing it as the next `since`
misses nothing, but may repeat some. Raises `Unavailable`, `InvalidField` (a cursor).
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

import asyncpg

from app.db import documents, memories
from app.db.documents import Document, Progress, State, document, labelled
from app.db.memories import Memory, memory
from app.db.pool import Pool
from app.db.rows import EPOCH, MICROSECOND, closed, opened
from app.errors import invalid_cursor
from app.types import Scope

T = TypeVar("T")


class Span(NamedTuple):
    """`since`: only what was recorded, changed or deleted after it; `as_of`: what was recorded then."""

    since: datetime | None = None
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """A version that is not kept any more."""

    id: str
    created_at: datetime
    deleted_at: datetime
    replaced: bool
    """There is a later version under the same id."""


@dataclass(frozen=True, slots=True)
class HistoryPage(Generic[T]):
    items: list[T]
    gone: list[Gone]
    next: str | None


@dataclass(frozen=True, slots=True)
class Change:
    kind: str
    """memory, document, session, answer."""
    id: str
    change: str
    """new, changed, gone."""
    at: datetime
    session_id: str | None
    title: str | None
    """The beginning of a memory, a file name, a question; None for what is gone."""


@dataclass(frozen=True, slots=True)
class ChangePage:
    items: list[Change]
    until: datetime
    next: str | None


# `changed` is when a version last looked different; versions of one id never overlap.
SHOWN = """
    ($4::timestamptz IS NULL OR since <= $4 AND (until IS NULL OR until > $4))
    AND ($3::timestamptz IS NULL OR since > $3 OR changed > $3 AND changed <= coalesce($4, 'infinity'))
    AND ($4 IS NOT NULL OR is_last)
"""
PAST = "SELECT id, created_at, recorded_at AS since, ended_at AS changed, ended_at AS until, replaced"
LAST = "SELECT *, lead(since) OVER (PARTITION BY id ORDER BY since) IS NULL AS is_last FROM version"
PAGE_OF_MEMORIES = f"""
    WITH version AS (
        SELECT id, created_at, coalesce(recorded_at, created_at) AS since,
            coalesce(recorded_at, created_at) AS changed, NULL::timestamptz AS until, false AS replaced
        FROM ibid.memory WHERE tenant = $1 AND user_id = $2
        UNION ALL {PAST} FROM ibid.past_version WHERE tenant = $1 AND user_id = $2 AND kind = 'memory'),
    page AS (
        SELECT * FROM ({LAST}) AS version WHERE {SHOWN}
        AND ($5::timestamptz IS NULL OR created_at < $5 OR (created_at = $5 AND id > $6))
        ORDER BY created_at DESC, id LIMIT $7)
    SELECT page.id AS key, page.created_at AS at, until, replaced,
        {", ".join(f"kept.{name}" for name in memories.NAMES)}
    FROM page LEFT JOIN ibid.memory AS kept ON until IS NULL AND kept.id = page.id
    ORDER BY page.created_at DESC, page.id
"""  # noqa: S608 - constants of ours
HERE = "(session_id = '' OR owner = $2 AND ($8::text IS NULL OR session_id = $8))"
DOCUMENT_COLUMNS = [name.strip() for name in documents.COLUMNS.split(",")]
PAGE_OF_DOCUMENTS = f"""
    WITH version AS (
        SELECT id, created_at, created_at AS since, coalesce(changed_at, ready_at, created_at) AS changed,
            NULL::timestamptz AS until, false AS replaced
        FROM ibid.document WHERE tenant = $1 AND removed_at IS NULL AND {HERE}
        UNION ALL
        SELECT DISTINCT * FROM (
            {PAST} FROM ibid.past_version WHERE tenant = $1 AND kind = 'document' AND {HERE}) AS former),
    page AS (
        SELECT * FROM ({LAST}) AS version WHERE {SHOWN}
        AND ($5::timestamptz IS NULL OR id < $6) ORDER BY id DESC LIMIT $7)
    SELECT page.id AS key, page.created_at AS at, until, replaced,
        $4 IS NOT NULL AND changed > $4 AS was_read, {", ".join(f"kept.{name}" for name in DOCUMENT_COLUMNS)}
    FROM page LEFT JOIN ibid.document AS kept ON until IS NULL AND kept.id = page.id
    ORDER BY page.id DESC
"""  # noqa: S608 - constants of ours
UNTIL = """
    SELECT least(clock_timestamp(), min(xact_start)) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_xid IS NOT NULL
"""
TITLE_CHARS = 200
OF_USER = "(owner = $2 OR users @> ARRAY[$2::text] OR session_id = '')"
CHANGES = f"""
    WITH change AS (
        SELECT 'memory' AS kind, id, coalesce(recorded_at, created_at) AS at, NULL AS session_id,
            left(text, {TITLE_CHARS}) AS title, CASE WHEN EXISTS (
                SELECT FROM ibid.past_version AS past
                WHERE past.tenant = $1 AND past.user_id = $2 AND past.kind = 'memory'
                AND past.id = memory.id AND past.recorded_at <= $3 AND past.ended_at > $3)
            THEN 'changed' ELSE 'new' END AS change
        FROM ibid.memory AS memory
        WHERE tenant = $1 AND user_id = $2 AND coalesce(recorded_at, created_at) > $3
        UNION ALL
        SELECT 'document', id, coalesce(changed_at, ready_at, created_at), nullif(session_id, ''),
            left(filename, {TITLE_CHARS}), CASE WHEN created_at > $3 THEN 'new' ELSE 'changed' END
        FROM ibid.document WHERE tenant = $1 AND removed_at IS NULL AND {OF_USER}
        AND coalesce(changed_at, ready_at, created_at) > $3
        UNION ALL
        SELECT 'answer', id, coalesce(recorded_at, created_at), nullif(session_id, ''),
            left(question, {TITLE_CHARS}), 'new'
        FROM ibid.answer WHERE tenant = $1 AND (user_id = $2 OR owner = $2)
        AND coalesce(recorded_at, created_at) > $3
        UNION ALL
        SELECT kind, id, max(ended_at), nullif(session_id, ''), NULL, 'gone'
        FROM ibid.past_version AS past
        WHERE tenant = $1 AND ended_at > $3 AND NOT replaced
        AND (user_id = $2 OR owner = $2 OR kind = 'document' AND session_id = '')
        AND NOT (kind = 'memory' AND EXISTS (SELECT FROM ibid.memory AS memory WHERE memory.id = past.id))
        GROUP BY kind, id, session_id)
    SELECT kind, id, change, at, session_id, title FROM change
    WHERE $4::timestamptz IS NULL OR (at, kind COLLATE "C", id COLLATE "C") > ($4, $5, $6)
    ORDER BY at, kind COLLATE "C", id COLLATE "C" LIMIT $7
"""  # noqa: S608 - constants of ours


class HistoryStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def memories(
        self, scope: Scope, span: Span, *, cursor: str | None, limit: int
    ) -> HistoryPage[Memory]:
        """In the order of the plain list; `limit` counts both kinds of entries."""
        asked = (*memories.whose(scope), *span, *after(cursor), limit + 1)
        with self._pool.asking():
            rows = await self._pool.fetch(PAGE_OF_MEMORIES, *asked)
        found = [memory(row) for row in rows[:limit] if row["id"] is not None]
        return page(rows, found, limit)

    async def documents(
        self, scope: Scope, span: Span, *, cursor: str | None, limit: int
    ) -> HistoryPage[Document]:
        """Likewise; labels are today's."""
        asked = (scope.tenant, scope.owner, *span, *after(cursor), limit + 1, scope.session_id)
        with self._pool.asking():
            async with self._pool.acquire() as connection:
                rows = await connection.fetch(PAGE_OF_DOCUMENTS, *asked)
                found = [as_recorded(row) for row in rows[:limit] if row["id"] is not None]
                found = await labelled(connection, scope, found)
        return page(rows, found, limit)

    async def changes(
        self, scope: Scope, since: datetime | None, *, cursor: str | None, limit: int
    ) -> ChangePage:
        """What concerns the scope's user, oldest first: memories, documents in reach, answers, sessions that
        were removed. All pages have the first one's `until`."""
        (at, key) = opened(cursor) if cursor else (None, "")
        until, kind, name = resumed(key) if cursor else (None, "", "")
        with self._pool.asking():
            now: datetime = until or await self._pool.fetchval(UNTIL)
            rows = await self._pool.fetch(
                CHANGES, *memories.whose(scope), since or EPOCH, at, kind, name, limit + 1
            )
        items = [Change(**row) for row in rows[:limit]]
        if len(rows) <= limit:
            return ChangePage(items, now, None)
        last = items[-1]
        micros = (now - EPOCH) // MICROSECOND
        return ChangePage(items, now, closed(last.at, f"{micros} {last.kind} {last.id}"))


def after(cursor: str | None) -> tuple[datetime | None, str]:
    return opened(cursor) if cursor else (None, "")


def resumed(key: str) -> tuple[datetime, str, str]:
    micros, _, rest = key.partition(" ")
    kind, _, name = rest.partition(" ")
    try:
        return EPOCH + int(micros) * MICROSECOND, kind, name
    except (ValueError, OverflowError):
        raise invalid_cursor() from None


def as_recorded(row: asyncpg.Record) -> Document:
    """The document; `processing` if it was still being read then."""
    now = document(row)
    if not row["was_read"]:
        return now
    return replace(
        now, state=State.PROCESSING, pages=0, chunks=0, tokens=0, fault=None, warnings=(), progress=Progress()
    )


def page(rows: list[asyncpg.Record], found: list[T], limit: int) -> HistoryPage[T]:
    gone = [
        Gone(row["key"], row["at"], row["until"], row["replaced"]) for row in rows[:limit] if row["until"]
    ]
    last = rows[limit - 1] if len(rows) > limit else None
    return HistoryPage(found, gone, closed(last["at"], last["key"]) if last else None)
