"""The `jobs` table (`ports.Jobs`): a queue in Postgres, beside the rows its jobs are about.

A claimed job is leased; the lease ends by finish, by retry, or by running out, which is how the death of a
worker is noticed. Jobs of one document run in the order they were made, one at a time. Times are seconds of
the database's clock. Raises `Unavailable`. Why it is written by hand: docs/decisions/0013-write-side.md.
"""

from types import TracebackType
from typing import Self

import asyncpg

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.document import Part
from app.domain.job import BROKE, Job
from app.stores.bell import Bell
from app.stores.lease import gone, new_worker
from app.stores.part import CHANNEL

# SKIP LOCKED: two workers never wait for each other, nor take the same row. An earlier job of the same
# document goes first, so that a purge cannot overtake the reading that it is to clean up after.
# A document over which workers die rests ever longer, from the fourth death on: the service lives meanwhile,
# and whoever kills it for reasons of his own rarely meets the same one again. A lease that ran out in a
# living worker is no death: the queue was away.
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
# A lease is known by its worker and attempt: whoever lost it can do nothing to the job any more.
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

HOLDERS = "SELECT DISTINCT worker FROM ibid.job WHERE lease_until > now()"
EXPIRE = "UPDATE ibid.job SET lease_until = now() WHERE worker = ANY($1)"


class JobStore:
    """The queue. Entered (`async with`) it is told of new jobs; else it polls once a second."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._bell = Bell(pool, CHANNEL)
        self._worker = new_worker()

    async def __aenter__(self) -> Self:
        await self._bell.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._bell.__aexit__(kind, error, trace)

    async def claim(self, *, lease_seconds: float) -> Job | None:
        """The next job, leased; None: nothing to do now."""
        with postgres_faults():
            row = await self._pool.fetchrow(CLAIM, self._worker, lease_seconds)
        return job(row) if row else None

    async def beat(self, job: Job, *, lease_seconds: float) -> bool:
        """Extend the lease, or shorten it; False: it was lost."""
        with postgres_faults():
            found = await self._pool.fetchval(BEAT, *self._lease(job), lease_seconds)
        return found is not None

    async def finish(self, job: Job) -> None:
        """Done: the row goes. Nothing happens if the lease was lost."""
        with postgres_faults():
            await self._pool.execute(FINISH, *self._lease(job))

    async def retry(self, job: Job, *, delay_seconds: float) -> None:
        """Give it back, not before `delay_seconds` from now. Nothing happens if the lease was lost."""
        with postgres_faults():
            await self._pool.execute(RETRY, *self._lease(job), delay_seconds)

    async def broke(self, job: Job, *, delay_seconds: float) -> None:
        """Give it back with BROKE marks against it. Nothing happens if the lease was lost."""
        with postgres_faults():
            await self._pool.execute(BROKEN, *self._lease(job), delay_seconds)

    async def expire(self) -> None:
        """End the leases of workers of this machine that are dead: after a crash their jobs need not wait.

        Those of the living, and of other machines, stay; so it can be done at any time.
        """
        with postgres_faults():
            rows = await self._pool.fetch(HOLDERS)
            dead = [row["worker"] for row in rows if gone(row["worker"])]
            if dead:
                await self._pool.execute(EXPIRE, dead)

    async def wait(self, *, seconds: float) -> None:
        """Until a job may be there or the time is up; a second at most."""
        await self._bell.wait(seconds=seconds)

    def _lease(self, job: Job) -> tuple[int, str, int]:
        """The arguments of OURS."""
        return job.id, self._worker, job.attempts


def job(row: asyncpg.Record) -> Job:
    """A row as the job it is."""
    part = Part(row["tenant"], row["owner"], row["session_id"])
    return Job(row["id"], row["kind"], row["document_id"], part, row["attempts"], row["lost"])
