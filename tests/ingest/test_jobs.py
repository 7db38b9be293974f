"""The workers: leases kept, lost and given back; nothing left running."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from app.db.documents import DocumentPart, enqueue
from app.db.jobs import Job, JobStore
from app.db.pool import Pool
from app.db.rows import transaction
from app.errors import RetrievalError, Unavailable
from app.ingest import jobs as workers
from app.ingest.jobs import Chore, JobRunner
from tests.fakes.intake import until

HERE = DocumentPart("acme")


@dataclass
class FakeJobs(JobStore):
    """A queue in memory that notes what became of each job; may be away, or lose a lease."""

    waiting: list[Job] = field(default_factory=list)
    log: list[tuple[str, int]] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    away: bool = False
    held: bool = True
    beats: int = 0

    async def claim(self, *, lease_seconds: float) -> Job | None:
        """The oldest."""
        self._check()
        return self.waiting.pop(0) if self.waiting else None

    async def beat(self, job: Job, *, lease_seconds: float) -> bool:
        """As told."""
        self._check()
        self.beats += 1
        self.delays.append(lease_seconds)
        return self.held

    async def finish(self, job: Job) -> None:
        """Noted."""
        self._check()
        self.log.append(("finish", job.id))

    async def retry(self, job: Job, *, delay_seconds: float) -> None:
        """Noted, with its delay."""
        self._check()
        self.log.append(("retry", job.id))
        self.delays.append(delay_seconds)

    async def broke(self, job: Job, *, delay_seconds: float) -> None:
        """Noted, with its delay."""
        self._check()
        self.log.append(("broke", job.id))
        self.delays.append(delay_seconds)

    async def wait(self, *, seconds: float) -> None:
        """A short one."""
        await asyncio.sleep(0.01)

    def _check(self) -> None:
        if self.away:
            raise Unavailable


def job(n: int = 1, *, kind: str = "ingest", attempts: int = 1) -> Job:
    """One of a document of its own."""
    return Job(n, kind, f"d{n}", HERE, attempts)


@asynccontextmanager
async def running(
    jobs: FakeJobs | JobStore,
    handler: Callable[[Job], Awaitable[None]],
    *,
    count: int = 1,
    lease: float = 30,
    chores: Sequence[Chore] = (),
    pause: float = 300,
) -> AsyncIterator[asyncio.Task[None]]:
    """A worker that runs for as long as the block, and stops within five seconds."""
    worker = JobRunner(
        jobs, {"ingest": handler}, count, chores=chores, lease_seconds=lease, chore_seconds=pause
    )
    task = asyncio.create_task(worker.run())
    try:
        yield task
    finally:
        task.cancel()
        async with asyncio.timeout(5):
            await asyncio.wait({task})
        assert task.cancelled()


async def nothing(_: Job) -> None:
    """Done at once."""


async def test_done_is_finished() -> None:
    """Each job once, in order."""
    jobs = FakeJobs([job(1), job(2)])
    async with running(jobs, nothing):
        await until(lambda: len(jobs.log) == 2)
    assert jobs.log == [("finish", 1), ("finish", 2)]


@pytest.mark.parametrize("error", [Unavailable(), RetrievalError("timeout")], ids=["store", "model"])
async def test_what_does_not_answer_is_put_off(error: Exception) -> None:
    """With a pause that doubles, up to a minute."""
    jobs = FakeJobs([job(1, attempts=1), job(2, attempts=3), job(3, attempts=40)])

    async def handler(_: Job) -> None:
        raise error

    async with running(jobs, handler):
        await until(lambda: len(jobs.log) == 3)
    assert jobs.log == [("retry", 1), ("retry", 2), ("retry", 3)]
    assert jobs.delays == [2, 8, 60]


async def test_what_nobody_foresaw_costs_one_job_not_the_worker() -> None:
    """It is logged and counted, and the next job is done."""
    jobs = FakeJobs([job(1), job(2)])

    async def handler(given: Job) -> None:
        if given.id == 1:
            raise ZeroDivisionError

    with capture_logs() as logs:
        async with running(jobs, handler):
            await until(lambda: len(jobs.log) == 2)
    assert jobs.log == [("broke", 1), ("finish", 2)]
    assert jobs.delays == [2]
    assert [entry["event"] for entry in logs] == ["job broke off"]


async def test_another_version_s_kind_is_left_to_it() -> None:
    """Replicas of two versions share the queue."""
    jobs = FakeJobs([job(1, kind="unheard-of")])
    async with running(jobs, nothing):
        await until(lambda: bool(jobs.log))
    assert jobs.log == [("retry", 1)]


async def test_as_many_at_once_as_there_are_workers() -> None:
    """Not fewer, not more."""
    jobs, at_once, most = FakeJobs([job(n) for n in range(9)]), 0, 0

    async def handler(_: Job) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.03)
        at_once -= 1

    async with running(jobs, handler, count=3):
        await until(lambda: len(jobs.log) == 9)
    assert most == 3


async def test_a_long_job_keeps_its_lease() -> None:
    """Renewed three times a lease."""
    jobs = FakeJobs([job()])

    async def handler(_: Job) -> None:
        await asyncio.sleep(0.4)

    async with running(jobs, handler, lease=0.15):
        await until(lambda: bool(jobs.log))
    assert jobs.log == [("finish", 1)]
    assert jobs.beats >= 2


async def test_a_lost_lease_cancels_the_work() -> None:
    """It is another's now; the loop goes on to the next."""
    jobs, cancelled = FakeJobs([job(1)], held=False), asyncio.Event()

    async def handler(given: Job) -> None:
        if given.id == 1:
            try:
                await asyncio.sleep(60)
            finally:
                cancelled.set()

    async with running(jobs, handler, lease=0.1):
        await until(cancelled.is_set)
        jobs.waiting.append(job(2))
        await until(lambda: bool(jobs.log))
    assert jobs.log == [("finish", 2)]


async def test_a_short_outage_does_not_cost_the_work() -> None:
    """As long as the lease lasts, nobody else can have it."""
    jobs, cancelled = FakeJobs([job()]), False

    async def handler(_: Job) -> None:
        nonlocal cancelled
        jobs.away = True
        try:
            await asyncio.sleep(0.6)
            jobs.away = False
            await asyncio.sleep(0.3)
        except asyncio.CancelledError:
            cancelled = True
            raise

    async with running(jobs, handler, lease=1.5):
        await until(lambda: bool(jobs.log))
    assert (jobs.log, cancelled) == ([("finish", 1)], False)


async def test_a_long_outage_loses_the_lease() -> None:
    """Whoever cannot renew it must assume that another has the job."""
    jobs, cancelled = FakeJobs([job()]), asyncio.Event()

    async def handler(_: Job) -> None:
        jobs.away = True
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    async with running(jobs, handler, lease=0.1):
        await until(cancelled.is_set)


async def test_an_outage_of_the_queue_is_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop neither dies nor spins."""
    monkeypatch.setattr(workers, "AWAY_SECONDS", 0.05)
    jobs = FakeJobs([job()], away=True)
    async with running(jobs, nothing):
        await asyncio.sleep(0.1)
        jobs.away = False
        await until(lambda: bool(jobs.log))
    assert jobs.log == [("finish", 1)]


async def test_how_a_job_ended_is_told_again_when_the_queue_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the document would wait for the lease to run out, and the restart of Postgres count against it."""
    monkeypatch.setattr(workers, "AWAY_SECONDS", 0.05)
    jobs = FakeJobs([job()])

    async def handler(_: Job) -> None:
        jobs.away = True
        raise Unavailable

    async with running(jobs, handler):
        await until(lambda: jobs.away)
        await asyncio.sleep(0.1)
        jobs.away = False
        await until(lambda: bool(jobs.log))
    assert jobs.log == [("retry", 1)]


async def test_stopped_it_gives_its_job_back() -> None:
    """At once, so that the next start need not wait for the lease; and the work was cancelled."""
    jobs, started, ended = FakeJobs([job()]), asyncio.Event(), asyncio.Event()

    async def handler(_: Job) -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async with running(jobs, handler):
        await started.wait()
    assert ended.is_set()
    assert (jobs.log, jobs.delays) == ([("retry", 1)], [0])


async def test_stopping_waits_for_nothing_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for work that does not heed its cancellation, nor for a queue that is away."""
    monkeypatch.setattr(workers, "STOP_SECONDS", 0.1)
    jobs, started, release = FakeJobs([job()]), asyncio.Event(), asyncio.Event()

    async def handler(_: Job) -> None:
        started.set()
        jobs.away = True
        while not release.is_set():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await release.wait()

    async with running(jobs, handler):
        await started.wait()
    release.set()
    await asyncio.sleep(0.01)


async def test_chores_are_done_now_and_then() -> None:
    """At the start and after each pause, also when one could not be done."""
    done = 0

    async def chore() -> None:
        nonlocal done
        done += 1
        if done == 1:
            raise Unavailable

    async with running(FakeJobs(), nothing, count=0, chores=[chore], pause=0.02):
        await until(lambda: done >= 3)


async def test_two_workers_share_the_real_queue(pool: Pool) -> None:
    """Two services on one Postgres: every job once, none left."""
    seen: list[str] = []

    async def handler(given: Job) -> None:
        seen.append(given.document_id)
        await asyncio.sleep(0.005)

    async with transaction(pool) as connection:
        for n in range(20):
            await enqueue(connection, "ingest", f"d{n}", HERE)
    async with running(JobStore(pool), handler, count=2), running(JobStore(pool), handler, count=2):
        await until(lambda: len(seen) >= 20)
        await asyncio.sleep(0.1)
    assert sorted(seen) == sorted(f"d{n}" for n in range(20))
    assert await pool.fetchval("SELECT count(*) FROM ibid.job") == 0


async def test_a_dead_worker_s_job_is_taken_over(pool: Pool) -> None:
    """When its lease has run out, by whoever is there."""
    async with transaction(pool) as connection:
        await enqueue(connection, "ingest", "d", HERE)
    assert await JobStore(pool).claim(lease_seconds=0.1)
    seen: list[int] = []

    async def handler(given: Job) -> None:
        seen.append(given.lost)

    async with JobStore(pool) as jobs, running(jobs, handler):
        await until(lambda: bool(seen))
    assert seen == [1]
