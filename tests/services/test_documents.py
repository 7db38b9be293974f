"""An upload, from its first bytes to the answer its sender gets."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.db.documents import DocumentStore, Progress, State, Upload
from app.db.jobs import JobStore
from app.db.pool import Pool, open_pool
from app.db.sessions import SessionStore
from app.db.vectors import SpaceStore
from app.errors import (
    BadInput,
    EmptyFile,
    Forbidden,
    Missing,
    NotPdf,
    PdfDamaged,
    PdfEncrypted,
    RemovedMeanwhile,
)
from app.ingest.jobs import Ingest, JobRunner
from app.ingest.viewer import PdfViewer
from app.services.documents import DocumentService, UploadOutcome
from app.settings import DocumentLimits
from tests.fakes.uploads import ALICE, SPACE, TENANT, FakeEmbedder, FakeParser, until, upload


class House:
    def __init__(self, pool: Pool, folder: Path) -> None:
        self.pool = pool
        self.store = DocumentStore(pool)
        self.jobs = JobStore(pool)
        self.parser = FakeParser()
        self.forgotten: list[str] = []
        ingest = Ingest(self.store, self.parser, FakeEmbedder(), folder, forget=self.forgotten.append)
        handlers = {"ingest": ingest.ingest, "purge": ingest.purge}
        self.worker = JobRunner(self.jobs, handlers, 2, chores=(self.store.sweep,))
        self.service = DocumentService(self.store, PdfViewer(DocumentLimits(), folder))

    async def rows(self) -> int:
        return int(await self.pool.fetchval("SELECT count(*) FROM ibid.document WHERE removed_at IS NULL"))


@pytest.fixture
async def house(dsn: str, tmp_path: Path) -> AsyncIterator[House]:
    async with open_pool(dsn, max_size=10) as pool:
        await SpaceStore(pool).keep(SPACE)
        house = House(pool, tmp_path / "tmp")
        async with house.jobs:
            task = asyncio.create_task(house.worker.run())
            yield house
            task.cancel()
            await asyncio.wait({task}, timeout=5)


async def test_who_comes_second_waits_too(house: House, tmp_path: Path) -> None:
    """Two race with the same bytes: one created, one existing, both ready."""
    made = await asyncio.gather(*(house.service.upload(ALICE, upload(tmp_path), wait=10) for _ in range(5)))
    assert sorted(outcome for _, outcome in made) == [UploadOutcome.CREATED, *[UploadOutcome.EXISTING] * 4]
    assert {document.state for document, _ in made} == {State.READY}
    assert len({document.id for document, _ in made}) == 1


@pytest.mark.parametrize("error", [PdfEncrypted(), PdfDamaged("page 3")], ids=["encrypted", "damaged"])
async def test_failed_within_the_wait_is_told_and_not_kept(
    house: House, tmp_path: Path, error: BadInput
) -> None:
    house.parser.error = error
    with pytest.raises(type(error), match=error.detail):
        await house.service.upload(ALICE, upload(tmp_path), wait=10)
    assert await house.rows() == 0
    assert await house.pool.fetchval("SELECT count(*) FROM ibid.document_piece") == 0


async def test_all_who_wait_for_a_bad_file_are_told(house: House, tmp_path: Path) -> None:
    """Racing uploads of the same damaged bytes: each gets the problem, none a conflict."""
    house.parser.error = PdfDamaged()
    tries = [house.service.upload(ALICE, upload(tmp_path), wait=10) for _ in range(5)]
    ends = await asyncio.gather(*tries, return_exceptions=True)
    assert [type(end) for end in ends] == [PdfDamaged] * 5
    assert await house.rows() == 0


async def test_failed_after_a_202_is_kept(house: House, tmp_path: Path) -> None:
    """For its owner to see, with its problem; its bytes are gone and may come again."""
    house.parser.gate, house.parser.error = asyncio.Event(), PdfEncrypted()
    document, _ = await house.service.upload(ALICE, upload(tmp_path), wait=0.05)
    house.parser.gate.set()
    await house.store.finished(document.id, seconds=5)
    shown = await house.service.get(ALICE, document.id)
    assert shown.state is State.FAILED
    assert shown.fault is not None
    assert shown.fault.slug == "pdf-encrypted"
    with pytest.raises(Missing):
        await house.service.with_file(ALICE, document.id)
    house.parser.error = None
    _, outcome = await house.service.upload(ALICE, upload(tmp_path), wait=10)
    assert outcome is UploadOutcome.CREATED


async def test_progress_is_followed_to_the_end(house: House, tmp_path: Path) -> None:
    """Pages read of all, then the document that can be searched; of that one nothing more."""
    house.parser.gate, house.parser.reads = asyncio.Event(), (2, 5)
    document, outcome = await house.service.upload(ALICE, upload(tmp_path), wait=0)
    seen: list[tuple[State, Progress | None]] = []
    async for each in await house.service.follow(ALICE, document.id):
        seen.append((each.state, each.progress))
        if each.progress and each.progress.done == 2:
            house.parser.gate.set()

    assert outcome is UploadOutcome.ACCEPTED
    assert document.progress == Progress("queued", 0, 0)
    assert (State.PROCESSING, Progress("reading", 2, 5)) in seen
    assert seen[-1] == (State.READY, None)
    assert [each.state async for each in await house.service.follow(ALICE, document.id)] == [State.READY]


async def test_deleting_a_document_ends_its_reading(house: House, tmp_path: Path) -> None:
    """The worker is stopped, not left to read what nobody wants; who follows it is told."""
    house.parser.gate = asyncio.Event()
    document, _ = await house.service.upload(ALICE, upload(tmp_path), wait=0)
    await until(lambda: bool(house.parser.paths))
    followed = await house.service.follow(ALICE, document.id)

    await house.service.remove(ALICE, document.id)

    with pytest.raises(Missing):
        async for _ in followed:
            pass
    await until(lambda: house.parser.cancelled == 1)
    assert await house.rows() == 0


async def test_a_client_that_leaves_does_not_stop_the_work(house: House, tmp_path: Path) -> None:
    """Cancelled in its wait, the upload becomes ready all the same."""
    house.parser.gate = asyncio.Event()
    task = asyncio.create_task(house.service.upload(ALICE, upload(tmp_path), wait=60))
    await until(lambda: bool(house.parser.paths))
    task.cancel()
    await asyncio.wait({task})
    house.parser.gate.set()
    ((document,), _) = await house.service.list(ALICE, cursor=None, limit=9)
    settled = await house.store.finished(document.id, seconds=5)
    assert settled is not None
    assert settled.state is State.READY


async def test_removed_while_it_is_read_is_told_so(house: House, tmp_path: Path) -> None:
    """Its uploader is told neither that it is there nor that its name is taken."""
    house.parser.gate = asyncio.Event()
    task = asyncio.create_task(house.service.upload(ALICE, upload(tmp_path), wait=60))
    await until(lambda: bool(house.parser.paths))
    ((document,), _) = await house.service.list(ALICE, cursor=None, limit=9)
    await house.service.remove(ALICE, document.id)
    with pytest.raises(RemovedMeanwhile):
        await task
    house.parser.gate.set()


def given(folder: Path, data: bytes) -> Upload:
    return replace(upload(folder), path=written(folder, data), size=len(data))


def written(folder: Path, data: bytes) -> Path:
    path = folder / "raw"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(b"", EmptyFile, id="empty"),
        pytest.param(b"PK\x03\x04 a zip", NotPdf, id="not a PDF"),
        pytest.param(b" " * 1024 + b"%PDF-", NotPdf, id="header too late"),
    ],
)
async def test_bad_bytes_are_refused_before_anything_is_stored(
    house: House, tmp_path: Path, data: bytes, problem: type[BadInput]
) -> None:
    with pytest.raises(problem):
        await house.service.upload(ALICE, given(tmp_path, data), wait=10)
    assert await house.pool.fetchval("SELECT count(*) FROM ibid.document") == 0


async def test_a_user_key_writes_no_global_documents(house: House, tmp_path: Path) -> None:
    shared, _ = await house.service.upload(TENANT, upload(tmp_path, session_id=None), wait=10)
    with pytest.raises(Forbidden):
        await house.service.upload(ALICE, upload(tmp_path, "x", session_id=None), wait=10)
    with pytest.raises(Forbidden):
        await house.service.remove(ALICE, shared.id)
    assert (await house.service.get(ALICE, shared.id)).id == shared.id


async def test_sixty_uploads_at_once(house: House, tmp_path: Path) -> None:
    """On a pool of ten, each waiting for its reading: all created, all searchable."""
    uploads = [upload(tmp_path, f"text {n}", filename=f"{n}.pdf") for n in range(60)]
    made = await asyncio.gather(*(house.service.upload(ALICE, one, wait=60) for one in uploads))
    assert {outcome for _, outcome in made} == {UploadOutcome.CREATED}
    assert await house.pool.fetchval("SELECT count(DISTINCT document_id) FROM ibid.chunk") == 60


async def test_pages_are_forgotten_however_a_document_goes(house: House, tmp_path: Path) -> None:
    """By deletion, by a later upload of its name, and with its session."""
    gone: list[str] = []
    for text, again in (("one", False), ("two", True), ("three", True)):
        made, _ = await house.service.upload(ALICE, upload(tmp_path, text, replace=again), wait=10)
        gone.append(made.id)
    other, _ = await house.service.upload(ALICE, upload(tmp_path, filename="other.pdf"), wait=10)
    await house.service.remove(ALICE, other.id)
    await until(lambda: {*house.forgotten} == {*gone[:2], other.id})
    assert await SessionStore(house.pool).remove(ALICE)
    await until(lambda: {*house.forgotten} == {*gone, other.id})
