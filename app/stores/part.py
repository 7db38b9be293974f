"""A part (session or global) of the record: its lock, its version, and the jobs of its documents.

The order of locks is the same everywhere, so that no two writers wait for each other: the part's lock, then
rows of `document`, then the row of `part`. Statements run in the caller's transaction.
"""

from app.domain.document import Part
from app.domain.passage import Scope
from app.stores.transaction import Connection

LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
TENANT = "INSERT INTO ibid.tenant (id) VALUES ($1) ON CONFLICT DO NOTHING"
PART = "INSERT INTO ibid.part (tenant, owner, session_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
BUMP = """
    INSERT INTO ibid.part AS part (tenant, owner, session_id, version) VALUES ($1, $2, $3, 1)
    ON CONFLICT (tenant, owner, session_id) DO UPDATE SET version = part.version + 1
"""
JOB = """
    INSERT INTO ibid.job (kind, document_id, tenant, owner, session_id, run_after)
    VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
"""
CLEAR = """
    WITH gone AS (
        UPDATE ibid.document SET removed_at = now()
        WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at IS NULL
        RETURNING id, tenant, owner, session_id),
    purges AS (
        INSERT INTO ibid.job (kind, document_id, tenant, owner, session_id)
        SELECT 'purge', id, tenant, owner, session_id FROM gone)
    SELECT count(*) FROM gone
"""
# Removed rows keep their users: an erasure waits until they are cleared away.
RELEASE = """
    WITH mine AS (
        UPDATE ibid.document SET removed_at = now()
        WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at IS NULL
        AND (owner = $4 OR users = ARRAY[$4])
        RETURNING id, tenant, owner, session_id),
    purges AS (
        INSERT INTO ibid.job (kind, document_id, tenant, owner, session_id)
        SELECT 'purge', id, tenant, owner, session_id FROM mine),
    shared AS (
        UPDATE ibid.document SET users = array_remove(users, $4)
        WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at IS NULL
        AND owner <> $4 AND users @> ARRAY[$4] AND users <> ARRAY[$4]
        RETURNING id)
    SELECT (SELECT count(*) FROM mine) + (SELECT count(*) FROM shared)
"""
CHANNEL = "ibid_jobs"
"""Notified when a job is committed, so that an idle worker need not poll for it."""


def home(scope: Scope, session_id: str | None) -> Part:
    """Where a document of `scope` lives; None: among what the tenant shares, which has no owner."""
    return Part(scope.tenant) if session_id is None else Part(scope.tenant, scope.owner, session_id)


def place(part: Part) -> tuple[str, str, str]:
    """The part's key, as statements take it."""
    return part.tenant, part.owner, part.session_id


async def hold(connection: Connection, part: Part) -> None:
    """Take the part's lock until the transaction ends: writers of one part take turns.

    An advisory lock, because there may be no row to lock yet, and readers never wait for it.
    """
    await connection.execute(LOCK, "\x1f".join(("ibid.part", *place(part))))


async def found(connection: Connection, part: Part) -> None:
    """Make the tenant's and the part's rows if they are missing."""
    await connection.execute(TENANT, part.tenant)
    await connection.execute(PART, *place(part))


async def bump(connection: Connection, part: Part) -> None:
    """A search in this part would see a change: shelves and caches compare the version."""
    await connection.execute(BUMP, *place(part))


async def enqueue(
    connection: Connection, kind: str, document_id: str, part: Part, *, delay_seconds: float = 0
) -> None:
    """A job that exists if and only if the transaction commits."""
    await connection.execute(JOB, kind, document_id, *place(part), delay_seconds)
    await connection.execute("SELECT pg_notify($1, '')", CHANNEL)


async def cleared(
    connection: Connection, part: Part, *, user: str | None = None, seconds: float | None = None
) -> int:
    """Unseen from now on: all documents of the part, or a user's, under its lock; a job clears each away.
    A document that others uploaded as well stays theirs alone. How many."""
    asked = (CLEAR, *place(part)) if user is None else (RELEASE, *place(part), user)
    count: int = await connection.fetchval(*asked, timeout=seconds)
    if count:
        await bump(connection, part)
        await connection.execute("SELECT pg_notify($1, '')", CHANNEL)
    return count
