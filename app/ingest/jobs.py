"""The background jobs: `JobRunner` runs them, `Ingest` is the work of the kinds `ingest` and `purge`.

Jobs are leased from a queue. A worker renews the lease while the job runs; a job whose worker died is leased
to another one. Every step of a job can be repeated, so one that was killed anywhere is simply run again.
Times are seconds.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from app.db.documents import Document, DocumentFault, DocumentStore, Parser, Progress, State, embedded_text
from app.db.jobs import Job
from app.db.jobs import JobStore as Jobs
from app.errors import BadInput, Damaged, Missing, PdfTextless, PdfTooComplex, RetrievalError, Unavailable
from app.models.base import Embedder
from app.types import Embedding, ParsedDocument

LEASE_SECONDS = 30.0
"""After this a dead worker's job is leased to another. Renewed three times as often."""
STOP_SECONDS = 3.0
"""How long a stopping worker waits for its job to end."""
GIVE_BACK_SECONDS = 1.5
"""How long a stopping worker tries to return its job. With STOP_SECONDS less than the five seconds in which
the service must stop."""
IDLE_SECONDS = 30.0
AWAY_SECONDS = 1.0
"""Pause between two tries while the queue is unavailable."""
MAX_RETRY_SECONDS = 60.0
CHORE_SECONDS = 300.0

BATCH = 64
"""Texts per call of the embedder: fills a local model's batch; a remote one takes it in one request."""
MAX_ATTEMPTS = 64
"""Attempts before a document fails because a store or model is unavailable: with a minute between them, about
an hour."""
MAX_LOST = 9
"""Marks (`Job.lost`) after which the file counts as the cause: the job crashed three times by itself, or the
service died nine times, the last ones minutes apart (docs/adr/0002)."""
FIRST_REPORT_SECONDS, REPORT_SECONDS = 0.2, 1.0
"""Until a document's progress is written first, and between two times. Most documents are ready before."""
PREFIX = "ibid-"
"""Of temporary folders: the service deletes those at its start (`db/folder.py`)."""

Handler = Callable[[Job], Awaitable[None]]
Chore = Callable[[], Awaitable[None]]

log = structlog.get_logger(__name__)


class JobRunner:
    """Runs `workers` jobs concurrently, and the chores at the start and every `chore_seconds`."""

    def __init__(
        self,
        jobs: Jobs,
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
        self._chore_seconds = chore_seconds

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._do_chores())
            for _ in range(self._workers):
                group.create_task(self._run_jobs())

    async def _do_chores(self) -> None:
        while True:
            for chore in self._chores:
                with suppress(Unavailable):
                    await chore()
            await asyncio.sleep(self._chore_seconds)

    async def _run_jobs(self) -> None:
        while True:
            try:
                job = await self._jobs.claim(lease_seconds=self._lease)
            except Unavailable as error:
                # A damaged queue is not repaired by asking every second.
                await asyncio.sleep(self._chore_seconds if isinstance(error, Damaged) else AWAY_SECONDS)
                continue
            if job is None:
                await self._jobs.wait(seconds=IDLE_SECONDS)
            else:
                await self._run_job(job)

    async def _run_job(self, job: Job) -> None:
        task = asyncio.create_task(self._handle(job))
        try:
            has_lease = await self._keep_lease(job, task)
        except BaseException:  # the worker is being stopped
            await stop(task)
            await self._give_back(job)
            raise
        if has_lease:
            await self._report(job, task)
        else:
            log.warning("lease lost", job=job.id, kind=job.kind)
            await stop(task)

    async def _handle(self, job: Job) -> None:
        handler = self._handlers.get(job.kind)
        if handler is None:  # a newer replica's kind: leave it to that replica
            raise Unavailable(f"no handler here for {job.kind}")
        await handler(job)

    async def _keep_lease(self, job: Job, task: asyncio.Task[None]) -> bool:
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

    async def _report(self, job: Job, task: asyncio.Task[None]) -> None:
        until = time.monotonic() + self._lease
        while time.monotonic() < until:
            try:
                await self._finish(job, task)
            except Unavailable:
                await asyncio.sleep(AWAY_SECONDS)
            else:
                return

    async def _finish(self, job: Job, task: asyncio.Task[None]) -> None:
        """Remove the job from the queue, or schedule its retry. Unexpected errors are counted against it."""
        error = None if task.cancelled() else task.exception()
        if error is None and not task.cancelled():
            await self._jobs.finish(job)
            return
        delay = min(MAX_RETRY_SECONDS, 2.0**job.attempts)
        if isinstance(error, (Unavailable, RetrievalError)):
            log.info("job put off", job=job.id, kind=job.kind, reason=error.detail, seconds=delay)
            await self._jobs.retry(job, delay_seconds=delay)
            return
        log.error("job broke off", job=job.id, kind=job.kind, attempts=job.attempts, exc_info=error)
        await self._jobs.broke(job, delay_seconds=delay)

    async def _give_back(self, job: Job) -> None:
        """Return the job, so that the next start need not wait for the lease to run out."""
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(GIVE_BACK_SECONDS):
                await self._jobs.retry(job, delay_seconds=0)


async def stop(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait at most STOP_SECONDS for it."""
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=STOP_SECONDS)
    for ended in done:
        if not ended.cancelled():
            ended.exception()  # retrieved, or asyncio would log that nobody did


@dataclass(slots=True)
class Reading:
    """How far the reading of a document is."""

    progress: Progress = field(default_factory=Progress)

    def at(self, stage: str, done: int, of: int) -> None:
        self.progress = Progress(stage, done, of)


class Ingest:
    """Makes an uploaded file a searchable document.

    Chunks and vectors are written first; then one transaction makes the document visible and adds it to the
    outbox for Chroma (docs/adr/0002). A fault of the file ends in `failed`. `Unavailable`
    and `RetrievalError` (a store or a model is unavailable) are raised, and the worker tries again.
    """

    def __init__(
        self,
        record: DocumentStore,
        parser: Parser,
        embedder: Embedder,
        folder: Path,
        *,
        forget: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`folder`: for temporary files; the next start deletes those that a kill left. `forget` is called
        for each document that was removed, in whatever way."""
        self._record = record
        self._parser = parser
        self._embedder = embedder
        self._folder = folder
        self._forget = forget

    async def ingest(self, job: Job) -> None:
        """Make a document ready or failed. Does nothing if it is removed or done already."""
        placed = await self._record.placed(job.document_id)
        if placed is None or placed[0].state is not State.PROCESSING:
            return
        if job.lost >= MAX_LOST:
            await self._fail(job, PdfTooComplex("reading it broke off several times"))
            return
        try:
            await self._read_unless_removed(placed[0])
        except Missing:
            return  # removed meanwhile; its purge is queued
        except BadInput as error:
            await self._fail(job, error)
        except (Unavailable, RetrievalError) as error:
            if job.attempts < MAX_ATTEMPTS:
                raise
            await self._fail(job, Unavailable(f"gave up after {MAX_ATTEMPTS} tries: {error.detail}"))

    async def purge(self, job: Job) -> None:
        self._forget(job.document_id)
        await self._record.purge(job.document_id)

    async def _read_unless_removed(self, document: Document) -> None:
        """Read a document, and write how far that is. Raises `Missing` soon after it is removed."""
        reading = Reading()
        work = asyncio.create_task(self._read(document, reading))
        reporter = asyncio.create_task(self._report(document.id, reading))
        try:
            await asyncio.wait({work, reporter}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                reporter.result()
                raise Missing("the document was removed while it was read")
            work.result()
        finally:
            work.cancel()
            reporter.cancel()
            await asyncio.gather(work, reporter, return_exceptions=True)

    async def _report(self, document_id: str, reading: "Reading") -> None:
        """Write the progress every second, if it changed. Ends when the document is removed."""
        told, pause = Progress(), FIRST_REPORT_SECONDS
        there = True
        while there:
            await asyncio.sleep(pause)
            now, pause = reading.progress, REPORT_SECONDS
            with suppress(Unavailable):
                there = await self._record.report(document_id, None if now == told else now)
                told = now

    async def _read(self, document: Document, reading: "Reading") -> None:
        vectors = await self._record.kept(document.id, self._embedder.space)
        if not vectors:  # else an earlier try has parsed and embedded it
            reading.at("reading", 0, 0)
            async with self._temporary_file(document) as path:
                parsed = await self._parser.parse(path, document.filename, partial(reading.at, "reading"))
            if not parsed.chunks:
                raise PdfTextless
            vectors = await self._embed(parsed, reading)
            await self._record.keep_chunks(document.id, parsed, vectors, self._embedder.space)
        await self._record.make_ready(document.id)
        log.info("document read", document=document.id, chunks=len(vectors))

    @asynccontextmanager
    async def _temporary_file(self, document: Document) -> AsyncIterator[Path]:
        """The document's bytes in a file, in a folder (0700) that is deleted at the end."""
        with disk_faults():
            folder = await asyncio.to_thread(temporary_folder, self._folder)
        try:
            path = Path(folder.name) / "document.pdf"
            with disk_faults():
                async for data in self._record.content(document.id):
                    await asyncio.to_thread(append, path, data)
            yield path
        finally:
            folder.cleanup()  # one unlink: not worth a thread that a cancellation would abandon

    async def _embed(self, parsed: ParsedDocument, reading: "Reading") -> list[Embedding]:
        texts = [embedded_text(parsed.title, chunk.heading, chunk.text) for chunk in parsed.chunks]
        vectors: list[Embedding] = []
        for start in range(0, len(texts), BATCH):
            reading.at("indexing", parsed.chunks[start].page - 1, parsed.pages)
            vectors += await self._embedder.passages(texts[start : start + BATCH])
        if len(vectors) != len(texts):
            raise RetrievalError("embedding")
        return vectors

    async def _fail(self, job: Job, error: BadInput | Unavailable) -> None:
        await self._record.fail(job.document_id, DocumentFault(error.slug, error.detail))
        log.info("document failed", document=job.document_id, slug=error.slug)


@contextmanager
def disk_faults() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable("no room for a temporary file") from error


def temporary_folder(parent: Path) -> "TemporaryDirectory[str]":
    parent.mkdir(mode=0o700, exist_ok=True)
    return TemporaryDirectory(prefix=PREFIX, dir=parent, ignore_cleanup_errors=True)


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)
