"""The job queue (`ibid.job`) and the LISTEN/NOTIFY listener that wakes its workers.

A claimed job is leased until it is finished, given back, or the lease runs out after a crash. Jobs of one
document run in order, one at a time. A notification only shortens a wait: without it the queue is polled.
Times are in seconds. Raises `Unavailable`. Why it is not a library: docs/adr/0002.
"""

import asyncio
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import asyncpg

from app.db.documents import CHANNEL, DocumentPart
from app.db.pool import DOWN, Pool, postgres_faults
from app.db.rows import Connection

KINDS = ("ingest", "purge")
BROKE = 3
"""Marks for a failure of our own code, which will recur; a worker that dies counts 1, as it may have been
killed for other reasons."""


@dataclass(frozen=True, slots=True)
class Job:
    id: int
    kind: str
    """`ingest` or `purge`."""
    document_id: str
    part: DocumentPart
    attempts: int
    """Times it was leased, this one included."""
    lost: int = 0
    """Marks against it: 1 for each worker that died over it, BROKE for an unexpected error."""


POLL = 1.0
"""Seconds; polling also finds due retries and expired leases, which nothing announces."""
CLOSE_SECONDS = 2.0
# A listener holds a lock that others may hold too: pg_locks tells how many there are.
HOLD = "SELECT pg_advisory_lock_shared(hashtextextended($1, 0))"
LET_GO = "SELECT pg_advisory_unlock_shared(hashtextextended($1, 0))"
LISTENERS = """
    SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
    WHERE locktype = 'advisory' AND datname = current_database()
    AND (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 0)
"""


class Listener:
    """Inside `async with` it listens on one connection of the pool; otherwise it just polls."""

    def __init__(self, pool: Pool, channel: str, on_notify: Callable[[str], None] | None = None) -> None:
        self._pool = pool
        self._channel = channel
        self._on_notify = on_notify
        self._connection: Connection | None = None
        self._entered = False
        self._event = asyncio.Event()
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._entered = True
        await self._listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered = False
        async with self._lock:
            await self._release()

    async def wait(self, *, seconds: float) -> None:
        """Wait for a notification, at most `seconds` and POLL. An earlier, unseen one counts."""
        await self._listen()
        with suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, POLL)):
                await self._event.wait()
        self._event.clear()

    async def _listen(self) -> None:
        async with self._lock:
            if not self._entered or is_open(self._connection):
                return
            await self._release()
            with suppress(*DOWN):
                self._connection = await self._pool.acquire()
                await self._connection.execute(HOLD, self._channel)
                await self._connection.add_listener(self._channel, self._notified)

    async def _release(self) -> None:
        """Return the connection to the pool, also a broken one, but never one that still listens."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        removed = False
        with suppress(*DOWN):
            async with asyncio.timeout(CLOSE_SECONDS):
                await connection.remove_listener(self._channel, self._notified)
                await connection.execute(LET_GO, self._channel)
            removed = True
        with suppress(*DOWN):
            if not removed:  # the pool resets nothing: the next user would get the notifications
                connection.terminate()
            await self._pool.release(connection, timeout=CLOSE_SECONDS)

    def _notified(self, _connection: object, _pid: object, _channel: object, payload: object) -> None:
        if self._on_notify:
            self._on_notify(str(payload))
        self._event.set()


def is_open(connection: Connection | None) -> bool:
    """The pool takes a broken connection back by itself; asking it then raises."""
    with suppress(asyncpg.InterfaceError):
        return connection is not None and not connection.is_closed()
    return False


# SKIP LOCKED: two workers never wait for each other, nor take the same row. An earlier job of the same
# document goes first, so that a purge cannot overtake the reading it cleans up after. From the fourth death
# of a worker on, a document's job pauses ever longer: the service stays up meanwhile, and an unrelated kill
# rarely hits the same document again. A lease that ran out in a living worker is no death: the queue was
# away.
CLAIM = """
    WITH next AS MATERIALIZED (
        SELECT id FROM ibid.job AS job
        WHERE run_after <= now() AND (lease_until IS NULL OR lease_until + make_interval(
            secs => CASE WHEN lost < 3 THEN 0 ELSE least(300, 2 ^ lost) END) < now())
        AND NOT EXISTS (
            SELECT FROM ibid.job AS earlier
            WHERE earlier.document_id = job.document_id AND earlier.id < job.id)
        ORDER BY run_after, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    UPDATE ibid.job AS job SET
        attempts = attempts + 1,
        lost = lost + (worker <> $1 AND worker IS NOT NULL)::integer,
        worker = $1, lease_until = now() + make_interval(secs => $2)
    FROM next WHERE job.id = next.id
    RETURNING job.id, kind, document_id, tenant, owner, session_id, attempts, lost
"""
# A lease is identified by worker and attempt: a worker that lost it cannot change the job.
OURS = "id = $1 AND worker = $2 AND attempts = $3"
BEAT = f"UPDATE ibid.job SET lease_until = now() + make_interval(secs => $4) WHERE {OURS} RETURNING id"  # noqa: S608
FINISH = f"DELETE FROM ibid.job WHERE {OURS}"  # noqa: S608 - a constant of ours
RETRY = f"""
    UPDATE ibid.job SET worker = NULL, lease_until = NULL, run_after = now() + make_interval(secs => $4)
    WHERE {OURS}
"""  # noqa: S608 - a constant of ours
BROKEN = f"""
    UPDATE ibid.job SET worker = NULL, lease_until = NULL, run_after = now() + make_interval(secs => $4),
        lost = lost + {BROKE}
    WHERE {OURS}
"""  # noqa: S608 - a constant of ours

STATES = ("running", "waiting", "delayed")
"""Of a job: a worker has leased it, it is due, or it waits for its next attempt."""
COUNT = """
    SELECT kind, CASE WHEN lease_until > now() THEN 'running' WHEN run_after > now() THEN 'delayed'
        ELSE 'waiting' END AS state, count(*) AS jobs
    FROM ibid.job GROUP BY 1, 2
"""
EXPIRE = "UPDATE ibid.job SET lease_until = now() WHERE lease_until > now()"


class JobStore:
    """The job queue. Inside `async with` it listens for new jobs; otherwise it polls once a second."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._listener = Listener(pool, CHANNEL)
        self._worker = f"{os.getpid()}:{secrets.token_hex(8)}"

    async def __aenter__(self) -> Self:
        await self._listener.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._listener.__aexit__(kind, error, trace)

    async def claim(self, *, lease_seconds: float) -> Job | None:
        with postgres_faults():
            row = await self._pool.fetchrow(CLAIM, self._worker, lease_seconds)
        return job(row) if row else None

    async def beat(self, job: Job, *, lease_seconds: float) -> bool:
        with postgres_faults():
            found = await self._pool.fetchval(BEAT, *self._lease(job), lease_seconds)
        return found is not None

    async def finish(self, job: Job) -> None:
        with postgres_faults():
            await self._pool.execute(FINISH, *self._lease(job))

    async def retry(self, job: Job, *, delay_seconds: float) -> None:
        """Give the job back for `delay_seconds` from now, if its lease is still ours."""
        with postgres_faults():
            await self._pool.execute(RETRY, *self._lease(job), delay_seconds)

    async def broke(self, job: Job, *, delay_seconds: float) -> None:
        with postgres_faults():
            await self._pool.execute(BROKEN, *self._lease(job), delay_seconds)

    async def expire(self) -> None:
        """End all leases: at the start of a service with its own Postgres their workers are dead."""
        with postgres_faults():
            await self._pool.execute(EXPIRE)

    async def count(self) -> dict[tuple[str, str], int]:
        """Jobs by kind and state, for both kinds and all STATES."""
        with postgres_faults():
            rows = await self._pool.fetch(COUNT)
        known = {(kind, state): 0 for kind in KINDS for state in STATES}
        return known | {(row["kind"], row["state"]): row["jobs"] for row in rows}

    async def wait(self, *, seconds: float) -> None:
        await self._listener.wait(seconds=seconds)

    def _lease(self, job: Job) -> tuple[int, str, int]:
        return job.id, self._worker, job.attempts


def job(row: asyncpg.Record) -> Job:
    part = DocumentPart(row["tenant"], row["owner"], row["session_id"])
    return Job(row["id"], row["kind"], row["document_id"], part, row["attempts"], row["lost"])
