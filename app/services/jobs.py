"""The workers: take jobs, keep their leases alive while they run, and settle how they ended.

Every task has an owner here: a loop owns the job it runs, `run()` owns the loops. A lost lease cancels the
work; being stopped gives the job back at once and waits STOP_SECONDS for it at most. Times are seconds.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress

import structlog

from app.db.jobs import Job, JobStore
from app.errors import Damaged, RetrievalError, Unavailable

LEASE_SECONDS = 30.0
"""After this a dead worker's job is taken by another; renewed three times as often."""
STOP_SECONDS = 3.0
GIVE_BACK_SECONDS = 1.5
"""Together under the five seconds that stopping the service may take."""
IDLE_SECONDS = 30.0
AWAY_SECONDS = 1.0
"""Between two looks while the store of jobs is away."""
RETRY_LONGEST = 60.0
CHORE_SECONDS = 300.0

Handler = Callable[[Job], Awaitable[None]]
Chore = Callable[[], Awaitable[None]]

log = structlog.get_logger(__name__)


class Worker:
    """Runs jobs, `workers` at once, and the chores now and then."""

    def __init__(
        self,
        jobs: JobStore,
        handlers: Mapping[str, Handler],
        workers: int,
        *,
        chores: Sequence[Chore] = (),
        lease_seconds: float = LEASE_SECONDS,
        chore_seconds: float = CHORE_SECONDS,
    ) -> None:
        self._jobs = jobs
        self._handlers = handlers
        self._workers = workers
        self._chores = chores
        self._lease = lease_seconds
        self._pause = chore_seconds

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sweep())
            for _ in range(self._workers):
                group.create_task(self._work())

    async def _sweep(self) -> None:
        """The chores, at the start and every few minutes."""
        while True:
            for chore in self._chores:
                with suppress(Unavailable):
                    await chore()
            await asyncio.sleep(self._pause)

    async def _work(self) -> None:
        """One job after the other."""
        while True:
            try:
                job = await self._jobs.claim(lease_seconds=self._lease)
            except Unavailable as error:
                # A damaged queue is not mended by asking every second.
                await asyncio.sleep(self._pause if isinstance(error, Damaged) else AWAY_SECONDS)
                continue
            if job is None:
                await self._jobs.wait(seconds=IDLE_SECONDS)
            else:
                await self._serve(job)

    async def _serve(self, job: Job) -> None:
        """One job, from its lease to its end."""
        task = asyncio.create_task(self._handle(job))
        ended = held = False
        try:
            held = await self._hold(job, task)
            ended = True
        finally:
            if not ended:  # we are being stopped
                await stop(task)
                await self._give_back(job)
        if held:
            await self._settled(job, task)
        else:
            log.warning("lease lost", job=job.id, kind=job.kind)
            await stop(task)

    async def _handle(self, job: Job) -> None:
        """The work itself."""
        handler = self._handlers.get(job.kind)
        if handler is None:
            raise Unavailable(f"no handler here for {job.kind}")  # a newer replica's job: not ours to judge
        await handler(job)

    async def _hold(self, job: Job, task: asyncio.Task[None]) -> bool:
        """Renew the lease until the work is done; False: it is another's by now."""
        until = time.monotonic() + self._lease
        while True:
            done, _ = await asyncio.wait({task}, timeout=self._lease / 3)
            if done:
                return True
            try:
                if not await self._jobs.beat(job, lease_seconds=self._lease):
                    return False
                until = time.monotonic() + self._lease
            except Unavailable:
                if time.monotonic() >= until:
                    return False

    async def _settled(self, job: Job, task: asyncio.Task[None]) -> None:
        """Tell the queue, also when it is just away; after the lease the job, which can, is repeated."""
        until = time.monotonic() + self._lease
        while time.monotonic() < until:
            try:
                await self._settle(job, task)
            except Unavailable:
                await asyncio.sleep(AWAY_SECONDS)
            else:
                return

    async def _settle(self, job: Job, task: asyncio.Task[None]) -> None:
        """Done, or try again later; what nobody foresaw is counted."""
        error = None if task.cancelled() else task.exception()
        if error is None and not task.cancelled():
            await self._jobs.finish(job)
            return
        delay = min(RETRY_LONGEST, 2.0**job.attempts)
        if isinstance(error, (Unavailable, RetrievalError)):
            log.info("job put off", job=job.id, kind=job.kind, reason=error.detail, seconds=delay)
            await self._jobs.retry(job, delay_seconds=delay)
            return
        log.error("job broke off", job=job.id, kind=job.kind, attempts=job.attempts, exc_info=error)
        await self._jobs.broke(job, delay_seconds=delay)

    async def _give_back(self, job: Job) -> None:
        """So that the next start need not wait for the lease to run out."""
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(GIVE_BACK_SECONDS):
                await self._jobs.retry(job, delay_seconds=0)


async def stop(task: asyncio.Task[None]) -> None:
    """Cancel, and wait a little: what does not heed it is left behind with its lease."""
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=STOP_SECONDS)
    for ended in done:
        if not ended.cancelled():
            ended.exception()  # seen, or asyncio would report that nobody looked
