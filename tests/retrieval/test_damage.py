"""Chroma's folder damaged, gone or crashed under a real child process: the search gives the same answers, and
the folder is filled again from the record (docs/adr/0005)."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from app.db.copies import ChromaCopy
from app.db.documents import DocumentPart
from app.db.outbox import Outbox, state
from app.db.pool import Pool
from app.db.postgres import identity
from app.errors import RetrievalError
from app.retrieval.documents import DocumentSource
from app.retrieval.retrievers.chroma import Chroma, ChromaProcess, open_chroma
from app.retrieval.retrievers.chroma_child import EmbeddedChroma
from app.settings import Settings
from app.types import Embedding, Legs, Query, Scope
from tests.fakes.chromas import DAMAGES, InProcess
from tests.fakes.filing import SPACE, bag, documents, file

SHARED = DocumentPart("default")
TEXTS = [f"river number {n} flows to the {sea} sea" for n in range(50) for sea in ("black", "north", "red")]
SEARCHED = "river 7 red sea"
CURRENT = "INSERT INTO ibid.space (name, model, dim, floor, current) VALUES ($1, 'bag', 32, 0, true)"


async def search(source: DocumentSource) -> Legs:
    given: asyncio.Future[Embedding | None] = asyncio.get_running_loop().create_future()
    given.set_result(bag(SEARCHED))
    return await (await source.reach(Scope())).search(Query(SEARCHED, Scope()), given)


@pytest.fixture
async def stored(pool: Pool, tmp_path: Path) -> tuple[str, Legs]:
    """A document, its vectors in a folder that is closed again, and what a search found."""
    await pool.execute(CURRENT, SPACE.name)
    engine = EmbeddedChroma(tmp_path / "chroma")
    chroma = InProcess(engine)
    document = await file(pool, SHARED, TEXTS)
    await Outbox(pool, ChromaCopy(pool, chroma, SPACE), await identity(pool)).drain()
    found = await search(documents(pool, chroma))
    engine.close()
    return document, found


@pytest.fixture
async def chroma(tmp_path: Path) -> AsyncIterator[Chroma]:
    async with open_chroma(Settings(ibid={"data_dir": tmp_path})) as opened:
        yield opened


@asynccontextmanager
async def following(pool: Pool, chroma: Chroma) -> AsyncIterator[ChromaCopy]:
    """Chroma's copy, kept up in the background."""
    copy = ChromaCopy(pool, chroma, SPACE)
    outbox = Outbox(pool, copy, await identity(pool))
    chroma.on_files_lost(outbox.report_loss)
    await chroma.ready()
    running = asyncio.create_task(outbox.run())
    try:
        yield copy
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def filled(pool: Pool, vectors: ChromaCopy) -> None:
    """Until what was lost has been given back."""
    for _ in range(600):
        with suppress(RetrievalError):
            if await vectors.is_complete() and not (await state(pool, vectors.name)).refill:
                return
        await asyncio.sleep(0.05)
    raise AssertionError("chroma was not refilled")


@pytest.mark.parametrize("damage", [pytest.param(work, id=name) for name, work in DAMAGES.items()][1:])
async def test_a_damaged_folder_costs_no_answer(
    damage: object, stored: tuple[str, Legs], pool: Pool, tmp_path: Path
) -> None:
    """Neither the first nor the last: what cannot be used makes way, and is filled again. The first kind of
    damage is done to a whole service, in tests/integration/test_servers.py."""
    _, before = stored
    assert callable(damage)
    damage(tmp_path / "chroma")
    async with (
        open_chroma(Settings(ibid={"data_dir": tmp_path})) as chroma,
        following(pool, chroma) as vectors,
    ):
        assert before.meaning
        assert await search(documents(pool, chroma)) == before
        await filled(pool, vectors)
        assert await search(documents(pool, chroma, exact_mb=0)) == replace(before, engine=True)


async def test_a_folder_taken_away_while_it_is_used_costs_no_answer(
    stored: tuple[str, Legs], pool: Pool, chroma: Chroma, tmp_path: Path
) -> None:
    """Whatever the child then says: writes work again at last, without a restart of the service."""
    _, before = stored
    async with following(pool, chroma):
        shutil.rmtree(tmp_path / "chroma")
        assert await search(documents(pool, chroma)) == before
    await crash(chroma)
    async with following(pool, chroma) as vectors:
        assert await search(documents(pool, chroma)) == before
        await filled(pool, vectors)


async def test_a_child_killed_in_the_middle_costs_no_answer(
    stored: tuple[str, Legs], pool: Pool, chroma: Chroma
) -> None:
    """A search that is under way, and the next, with vectors in memory or without."""
    _, before = stored
    async with following(pool, chroma) as vectors:
        searching = asyncio.create_task(search(documents(pool, chroma)))
        await asyncio.sleep(0)
        await crash(chroma)
        assert await searching == before
        await filled(pool, vectors)
        assert await search(documents(pool, chroma, exact_mb=0)) == replace(before, engine=True)


async def crash(chroma: Chroma) -> None:
    assert isinstance(chroma, ChromaProcess)
    child = await chroma.process.child()
    os.kill(child.pid, signal.SIGKILL)
    await child.exited()
