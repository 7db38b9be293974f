"""From a file's bytes to a searchable document: the `ingest` job, and `purge`, its undoing.

The order of writes is the promise (docs/adr/0002): chunks with vectors into the record,
then one transaction that makes the document visible and enters it in the outbox for Chroma. Each step can be
repeated, so a job that was killed anywhere is just run again. A fault of the file ends in `failed`; a store
or model that does not answer is raised (`Unavailable`, `RetrievalError`), and the worker tries again later.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from app.db.documents import Document, Fault, Parsed, Parser, RecordStore, State, embedded_text
from app.db.jobs import Job
from app.errors import BadInput, Missing, PdfTextless, PdfTooComplex, RetrievalError, Unavailable
from app.models.base import Embedder
from app.types import Embedding

BATCH = 64
"""Texts embedded at once: fills a model's batch; a remote one takes it in one request."""
TRIES = 64
"""About an hour of a minute each: what is accepted is not given up for an outage shorter than that."""
KILLS = 9
"""Marks (`Job.lost`) after which the file is held to be what breaks the worker: three times in the work
itself, or nine deaths of the service, the last ones minutes apart (docs/adr/0002)."""

PREFIX = "ibid-"
"""By which the start knows what to sweep away (`db/embedded.py`)."""

log = structlog.get_logger(__name__)


class Ingest:
    """Reads documents in."""

    def __init__(
        self,
        record: RecordStore,
        parser: Parser,
        embedder: Embedder,
        folder: Path,
    ) -> None:
        """`folder`: of temporary files, emptied at the next start of what a kill left."""
        self._record = record
        self._parser = parser
        self._embedder = embedder
        self._folder = folder

    async def ingest(self, job: Job) -> None:
        """Make a document searchable, or failed. Quiet about one that is gone or done."""
        placed = await self._record.placed(job.document_id)
        if placed is None or placed[0].state is not State.PROCESSING:
            return
        if job.lost >= KILLS:
            await self._fail(job, PdfTooComplex("reading it broke off several times"))
            return
        try:
            await self._read(placed[0])
        except Missing:
            return  # removed under our hands; its purge comes after us
        except BadInput as error:
            await self._fail(job, error)
        except (Unavailable, RetrievalError) as error:
            if job.attempts < TRIES:
                raise
            await self._fail(job, Unavailable(f"gave up after {TRIES} tries: {error.detail}"))

    async def purge(self, job: Job) -> None:
        """Remove what a removed document left: its bytes, chunks and row. Its vectors go by the outbox."""
        await self._record.purge(job.document_id)

    async def _read(self, document: Document) -> None:
        """The recipe. What an earlier try wrote of the chunks is not made again."""
        embeddings = await self._record.kept(document.id, self._embedder.space)
        if not embeddings:
            embeddings = await self._made(document)
        await self._record.make_ready(document.id)
        log.info("document read", document=document.id, chunks=len(embeddings))

    async def _made(self, document: Document) -> Sequence[Embedding]:
        """Chunks and their vectors, made from the file and written to the record; the vectors."""
        async with self._file(document) as path:
            parsed = await self._parser.parse(path, document.filename)
        if not parsed.chunks:
            raise PdfTextless
        embeddings = await self._embed(parsed)
        await self._record.keep_chunks(document.id, parsed, embeddings, self._embedder.space)
        return embeddings

    @asynccontextmanager
    async def _file(self, document: Document) -> AsyncIterator[Path]:
        """The bytes as a file that lives as long as the reading. Disk work is done in threads."""
        with disk_faults():
            folder = await asyncio.to_thread(temporary, self._folder)
        try:
            path = Path(folder.name) / "document.pdf"
            with disk_faults():
                async for piece in self._record.content(document.id):
                    await asyncio.to_thread(append, path, piece)
            yield path
        finally:
            folder.cleanup()  # one file: an unlink, not worth a thread that a cancellation would abandon

    async def _embed(self, parsed: Parsed) -> list[Embedding]:
        """One vector a chunk, with title and heading in front of its text."""
        texts = [embedded_text(parsed.title, chunk.heading, chunk.text) for chunk in parsed.chunks]
        embeddings: list[Embedding] = []
        for start in range(0, len(texts), BATCH):
            embeddings += await self._embedder.passages(texts[start : start + BATCH])
        if len(embeddings) != len(texts):
            raise RetrievalError("embedding")
        return embeddings

    async def _fail(self, job: Job, error: BadInput | Unavailable) -> None:
        """End it. What the index may hold of it stays unseen, and goes with the row."""
        await self._record.fail(job.document_id, Fault(error.slug, error.detail))
        log.info("document failed", document=job.document_id, slug=error.slug)


@contextmanager
def disk_faults() -> Iterator[None]:
    """A disk that takes no file is a store that is away: the job can be tried again."""
    try:
        yield
    except OSError as error:
        raise Unavailable("no room for a temporary file") from error


def temporary(folder: Path) -> "TemporaryDirectory[str]":
    """A folder of one reading's own, 0700."""
    folder.mkdir(mode=0o700, exist_ok=True)
    return TemporaryDirectory(prefix=PREFIX, dir=folder, ignore_cleanup_errors=True)


def append(path: Path, piece: bytes) -> None:
    """Add a piece to a file."""
    with path.open("ab") as file:
        file.write(piece)
