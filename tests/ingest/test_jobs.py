"""Reading documents in: leases kept, lost and given back, nothing left running; every step can be the
last one before a crash."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.db.documents import Document, DocumentPart, DocumentStore, State, enqueue
from app.db.jobs import Job, JobStore
from app.db.pool import Pool
from app.db.rows import transaction
from app.db.vectors import SpaceStore
from app.errors import IbidError, NotPdf, PdfDamaged, PdfEncrypted, RetrievalError, Unavailable
from app.ingest import jobs as workers
from app.ingest.jobs import BATCH, MAX_ATTEMPTS, MAX_LOST, Chore, Ingest, JobRunner
from app.types import Space
from tests.fakes.uploads import (
    ALICE,
    SPACE,
    Crash,
    FakeEmbedder,
    FakeParser,
    Fuse,
    parsed,
    until,
    upload,
    vector,
)

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
        self._check()
        return self.waiting.pop(0) if self.waiting else None

    async def beat(self, job: Job, *, lease_seconds: float) -> bool:
        self._check()
        self.beats += 1
        self.delays.append(lease_seconds)
        return self.held

    async def finish(self, job: Job) -> None:
        self._check()
        self.log.append(("finish", job.id))

    async def retry(self, job: Job, *, delay_seconds: float) -> None:
        self._check()
        self.log.append(("retry", job.id))
        self.delays.append(delay_seconds)

    async def broke(self, job: Job, *, delay_seconds: float) -> None:
        self._check()
        self.log.append(("broke", job.id))
        self.delays.append(delay_seconds)

    async def wait(self, *, seconds: float) -> None:
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


SESSION = DocumentPart("acme", "alice", "s1")
LEASE = 0.05
OTHER = Space("other@8", "other", 8, 0.0)

HELD = "SELECT document_id, count(*) FROM ibid.chunk GROUP BY document_id"
ENTERED = "SELECT item FROM ibid.outbox WHERE engine = 'chroma' ORDER BY seq"


class Fused(DocumentStore):
    """The real record, whose process dies right after a step."""

    def __init__(self, pool: Pool, fuse: Fuse) -> None:
        super().__init__(pool)
        self._fuse = fuse

    async def keep_chunks(self, *args: object) -> None:
        """The step is done, then the fuse may blow."""
        await super().keep_chunks(*args)  # type: ignore[arg-type] # passed through
        self._fuse("chunks")

    async def make_ready(self, document_id: str) -> None:
        await super().make_ready(document_id)
        self._fuse("ready")

    async def purge(self, document_id: str) -> None:
        await super().purge(document_id)
        self._fuse("purge")


class House:
    """The write side with real stores and fakes beside them."""

    def __init__(self, pool: Pool, folder: Path) -> None:
        self.pool = pool
        self.fuse = Fuse()
        self.store = Fused(pool, self.fuse)
        self.jobs = JobStore(pool)
        self.parser = FakeParser(self.fuse)
        self.embedder = FakeEmbedder(self.fuse)
        self.ingest = Ingest(self.store, self.parser, self.embedder, folder)

    async def held(self) -> dict[str, int]:
        """Chunks with vectors by document."""
        return dict(map(tuple, await self.pool.fetch(HELD)))

    async def entered(self) -> list[str]:
        """Documents that Chroma is told of."""
        return [row[0] for row in await self.pool.fetch(ENTERED)]

    async def claim(self) -> Job:
        """The next job, once its lease is free."""
        for _ in range(500):
            if job := await self.jobs.claim(lease_seconds=LEASE):
                return job
            await asyncio.sleep(0.01)
        raise AssertionError("no job")

    async def work(self) -> None:
        """All jobs there are, to their end."""
        await asyncio.sleep(2 * LEASE)
        while job := await self.jobs.claim(lease_seconds=60):
            await (self.ingest.ingest if job.kind == "ingest" else self.ingest.purge)(job)
            await self.jobs.finish(job)

    async def state(self, document: Document) -> State | None:
        """As its owner sees it."""
        found = await self.store.get(ALICE, document.id)
        return found.state if found else None


@pytest.fixture
async def house(pool: Pool, tmp_path: Path) -> House:
    """One, with its space recorded."""
    await SpaceStore(pool).keep(SPACE)
    return House(pool, tmp_path / "tmp")


@pytest.fixture
async def document(house: House, tmp_path: Path) -> Document:
    """An upload whose job waits."""
    return (await house.store.admit(ALICE, upload(tmp_path)))[0]


async def test_reads_a_document_in(house: House, document: Document) -> None:
    """Chunks and vectors in the record, Chroma told, ready; the temporary file is gone."""
    await house.work()
    assert await house.state(document) is State.READY
    assert await house.held() == {document.id: 2}
    rows = await house.pool.fetch("SELECT text, space FROM ibid.chunk ORDER BY ordinal")
    assert [tuple(row) for row in rows] == [("one", SPACE.name), ("two", SPACE.name)]
    assert not house.parser.paths[0].exists()
    assert not house.parser.paths[0].parent.exists()


async def test_the_file_is_read_from_the_data_folder(
    house: House, document: Document, tmp_path: Path
) -> None:
    """By a name that the next start sweeps away if this process is killed."""
    await house.work()
    place = house.parser.paths[0].parent
    assert place.parent == tmp_path / "tmp"
    assert place.name.startswith("ibid-")


async def test_embeds_title_and_heading_in_front(house: House, document: Document) -> None:
    """The text alone is stored; what is embedded says where it stands."""
    await house.work()
    assert house.embedder.batches == [["Title\nHeading\none", "Title\nHeading\ntwo"]]
    assert await house.pool.fetchval("SELECT embedding FROM ibid.chunk WHERE ordinal = 1") == vector(
        "Title\nHeading\none"
    )


async def test_embeds_in_batches(house: House, tmp_path: Path) -> None:
    """Large enough for the model, small enough for memory; in order."""
    text = "\n".join(f"line {n}" for n in range(2 * BATCH + 1))
    await house.store.admit(ALICE, upload(tmp_path, text))
    await house.work()
    assert [len(batch) for batch in house.embedder.batches] == [BATCH, BATCH, 1]
    assert house.embedder.batches[2] == [f"Title\nHeading\nline {2 * BATCH}"]


@pytest.mark.parametrize("step", [1, 2, 3, 4], ids=["parse", "embed", "chunks", "ready"])
async def test_a_crash_after_any_step_is_repaired(house: House, document: Document, step: int) -> None:
    """Nothing is half visible after it, and the job, leased again, makes the document whole."""
    house.fuse.at = step
    with pytest.raises(Crash):
        await house.ingest.ingest(await house.claim())
    visible = step == 4
    assert await house.state(document) is (State.READY if visible else State.PROCESSING)
    assert (await house.store.chunk(ALICE, document.id, 1) is not None) is visible
    assert await house.pool.fetchval("SELECT version FROM ibid.part") == int(visible)
    await house.work()
    assert await house.state(document) is State.READY
    assert await house.held() == {document.id: 2}
    assert await house.pool.fetchval("SELECT version FROM ibid.part") == 1
    assert await house.pool.fetchval("SELECT count(*) FROM ibid.chunk") == 2
    assert await house.pool.fetchval("SELECT count(*) FROM ibid.job") == 0


@pytest.mark.parametrize(("step", "read"), [(2, 2), (3, 1)], ids=["embed", "chunks"])
async def test_what_the_record_holds_is_not_made_again(
    house: House, document: Document, step: int, read: int
) -> None:
    """A crash costs neither parsing nor embedding twice."""
    house.fuse.at = step
    with pytest.raises(Crash):
        await house.ingest.ingest(await house.claim())
    await house.work()
    assert (len(house.parser.paths), len(house.embedder.batches)) == (read, read)
    assert await house.held() == {document.id: 2}


async def test_chunks_of_another_space_are_made_again(house: House, document: Document) -> None:
    """Vectors of two spaces never meet in an index."""
    await SpaceStore(house.pool).keep(OTHER)
    await house.store.keep_chunks(document.id, parsed("old"), [vector("old")], OTHER.name)
    await house.work()
    assert await house.held() == {document.id: 2}
    assert await house.pool.fetchval("SELECT count(*) FROM ibid.chunk WHERE space <> $1", SPACE.name) == 0


async def test_a_crash_while_purging_is_repaired(house: House, document: Document) -> None:
    """What was removed stays removed, and in the end nothing of it is left."""
    await house.work()
    await house.store.remove(ALICE, document.id)
    house.fuse.at = 5
    with pytest.raises(Crash):
        await house.ingest.purge(await house.claim())
    assert await house.state(document) is None
    await house.work()
    assert await house.held() == {}
    for table in ("document", "document_piece", "chunk", "job"):
        assert await house.pool.fetchval(f"SELECT count(*) FROM ibid.{table}") == 0  # noqa: S608 - our tables


@pytest.mark.parametrize(
    "error", [PdfEncrypted(), PdfDamaged("page 3"), NotPdf()], ids=lambda error: type(error).__name__
)
async def test_a_fault_of_the_file_ends_in_failed(house: House, document: Document, error: IbidError) -> None:
    """With its problem; bytes gone, nothing indexed, no second try."""
    house.parser.error = error
    await house.work()
    found = await house.store.get(ALICE, document.id)
    assert found is not None
    assert found.fault is not None
    assert (found.fault.slug, found.fault.detail) == (error.slug, error.detail)
    assert await house.held() == {}
    assert await house.pool.fetchval("SELECT count(*) FROM ibid.document_piece") == 0


async def test_a_file_without_text_fails(house: House, tmp_path: Path) -> None:
    """Even where the parser found nothing to complain of."""
    document, _ = await house.store.admit(ALICE, upload(tmp_path, ""))
    await house.work()
    found = await house.store.get(ALICE, document.id)
    assert found is not None
    assert found.fault is not None
    assert found.fault.slug == "pdf-without-text"


@pytest.mark.parametrize("error", [Unavailable(), RetrievalError("timeout")], ids=["store", "model"])
async def test_what_does_not_answer_is_tried_again(
    house: House, document: Document, error: IbidError
) -> None:
    """The job is not finished, the document not failed; once all answer it is read."""
    house.embedder.error = error
    with pytest.raises(type(error)):
        await house.ingest.ingest(await house.claim())
    assert await house.state(document) is State.PROCESSING
    house.embedder.error = None
    await house.work()
    assert await house.state(document) is State.READY


async def test_a_long_outage_is_given_up(house: House, document: Document) -> None:
    """After an hour of tries: failed, and the reader is told why."""
    house.embedder.error = Unavailable("the model does not answer")
    await house.ingest.ingest(Job(1, "ingest", document.id, SESSION, attempts=MAX_ATTEMPTS))
    found = await house.store.get(ALICE, document.id)
    assert found is not None
    assert found.fault is not None
    assert found.fault.slug == "unavailable"
    assert "the model does not answer" in found.fault.detail


async def test_a_file_that_kills_workers_fails(house: House, document: Document) -> None:
    """After so many deaths it is not touched any more."""
    await house.ingest.ingest(Job(1, "ingest", document.id, SESSION, attempts=MAX_LOST + 1, lost=MAX_LOST))
    found = await house.store.get(ALICE, document.id)
    assert found is not None
    assert found.fault is not None
    assert found.fault.slug == "pdf-too-complex"
    assert house.parser.paths == []


async def test_too_few_vectors_are_a_fault_of_the_model(house: House, document: Document) -> None:
    """A chunk is never stored with another's vector."""
    house.embedder.short = 1
    with pytest.raises(RetrievalError):
        await house.ingest.ingest(await house.claim())


@pytest.mark.parametrize("moment", ["parse", "embed", "chunks"])
async def test_removed_in_the_middle_it_ends_quietly(house: House, document: Document, moment: str) -> None:
    """Whenever the owner deletes it; in the end nothing is left, in no store."""

    async def remove_then(*args: object) -> object:
        await house.store.remove(ALICE, document.id)
        return await original(*args)

    owner, name = {
        "parse": (house.parser, "parse"),
        "embed": (house.embedder, "passages"),
        "chunks": (house.store, "keep_chunks"),
    }[moment]
    original = getattr(owner, name)
    setattr(owner, name, remove_then)
    await house.work()
    assert await house.state(document) is None
    assert await house.held() == {}
    for table in ("document", "document_piece", "chunk", "job"):
        assert await house.pool.fetchval(f"SELECT count(*) FROM ibid.{table}") == 0  # noqa: S608 - our tables


async def test_removed_before_it_is_not_read(house: House, document: Document) -> None:
    """Its job ends without touching anything."""
    await house.store.remove(ALICE, document.id)
    await house.work()
    assert house.parser.paths == []


async def test_a_replacement_takes_over_at_once(house: House, tmp_path: Path) -> None:
    """The old one is served until the new one is ready; then its chunks go by a job."""
    old, _ = await house.store.admit(ALICE, upload(tmp_path, "old"))
    await house.work()
    new, _ = await house.store.admit(ALICE, upload(tmp_path, "new", replace=True))
    assert await house.state(old) is State.READY
    await house.work()
    assert (await house.state(old), await house.state(new)) == (None, State.READY)
    assert await house.held() == {new.id: 1}
    assert sorted(await house.entered()) == sorted([old.id, old.id, new.id])


async def test_cancelled_it_leaves_no_file(house: House, document: Document) -> None:
    """A worker that is stopped cleans up its temporary folder."""
    house.parser.gate = asyncio.Event()
    task = asyncio.create_task(house.ingest.ingest(await house.claim()))
    await until(lambda: bool(house.parser.paths))
    assert house.parser.paths[0].exists()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert not house.parser.paths[0].parent.exists()


async def test_a_disk_fault_is_tried_again(house: House, document: Document, tmp_path: Path) -> None:
    """Not the document's fault."""
    await asyncio.to_thread((tmp_path / "tmp").touch)
    with pytest.raises(Unavailable):
        await house.ingest.ingest(await house.claim())
    await asyncio.to_thread((tmp_path / "tmp").unlink)
    await house.work()
    assert await house.state(document) is State.READY
