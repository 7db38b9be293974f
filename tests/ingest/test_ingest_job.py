"""Reading documents in: every step can be the last one before a crash."""

import asyncio
from pathlib import Path

import pytest

from app.db.documents import Chunk, Document, DocumentPart, DocumentStore, State
from app.db.jobs import Job, JobStore
from app.db.pool import Pool
from app.db.vectors import SpaceStore
from app.errors import IbidError, NotPdf, PdfDamaged, PdfEncrypted, RetrievalError, Unavailable
from app.ingest.jobs import BATCH, MAX_ATTEMPTS, MAX_LOST, Ingest
from app.types import Space
from tests.fakes.intake import Crash, FakeEmbedder, FakeParser, Fuse, until
from tests.fakes.uploads import ALICE, SPACE, parsed, upload, vector

HERE = DocumentPart("acme", "alice", "s1")
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
        """Likewise."""
        await super().make_ready(document_id)
        self._fuse("ready")

    async def purge(self, document_id: str) -> None:
        """Likewise."""
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
    await house.ingest.ingest(Job(1, "ingest", document.id, HERE, attempts=MAX_ATTEMPTS))
    found = await house.store.get(ALICE, document.id)
    assert found is not None
    assert found.fault is not None
    assert found.fault.slug == "unavailable"
    assert "the model does not answer" in found.fault.detail


async def test_a_file_that_kills_workers_fails(house: House, document: Document) -> None:
    """After so many deaths it is not touched any more."""
    await house.ingest.ingest(Job(1, "ingest", document.id, HERE, attempts=MAX_LOST + 1, lost=MAX_LOST))
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


def test_the_fake_parser_reads_lines() -> None:
    """What these tests stand on."""
    assert parsed("one\n\ntwo").chunks == (
        Chunk(1, "one", 1, 1, "Heading", 3),
        Chunk(2, "two", 2, 2, "Heading", 3),
    )
