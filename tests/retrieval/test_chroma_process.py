"""The embedded Chroma's process: whatever becomes of the child or its folder, the next call has one that
serves, and the search gives the same answers (docs/adr/0005). How processes live and end in general:
tests/test_process.py."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app import process
from app.db.documents import DocumentPart
from app.db.outbox import Outbox, state
from app.db.pool import Pool
from app.db.postgres import identity
from app.errors import RetrievalError
from app.process import Child
from app.retrieval.copies import ChromaCopy
from app.retrieval.documents import DocumentSource
from app.retrieval.retrievers.chroma import PROGRAM, Chroma, ChromaDamaged, ChromaProcess, open_chroma
from app.retrieval.retrievers.chroma_child import (
    REMADE,
    UNFILLED,
    ChromaFault,
    EmbeddedChroma,
    open_folder,
)
from app.settings import Settings
from app.types import Embedding, Legs, Query, Scope
from tests.fakes.chromas import DAMAGES, InProcess
from tests.fakes.filing import SPACE, bag, documents, file
from tests.fakes.logged import captured

MANY = 120
"""More than wait to be written to the index's files."""
ROWS = np.random.default_rng(1).normal(size=(MANY, 8)).astype(np.float32)
IDS = [f"d:{n}" for n in range(MANY)]
MOVED = "chroma's folder cannot be used; it is moved aside and filled anew from postgres"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed folder with vectors in `ibid-a`."""
    folder = tmp_path_factory.mktemp("filled") / "chroma"
    engine, _ = open_folder(folder)
    engine.upsert("ibid-a", ROWS, IDS, [{"document": "d"}] * MANY)
    engine.close()
    (folder / UNFILLED).unlink()
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(filled, tmp_path / "chroma"))


@pytest.fixture
async def chroma(folder: Path) -> AsyncIterator[ChromaProcess]:
    async with opened(folder) as made:
        yield made


@asynccontextmanager
async def opened(folder: Path, *, read_only: bool = False) -> AsyncIterator[ChromaProcess]:
    made = ChromaProcess(folder, read_only=read_only)
    try:
        yield made
    finally:
        await made.close()


async def counted(chroma: ChromaProcess) -> int:
    return await chroma.count("ibid-a")


async def fault(call: Awaitable[object]) -> ChromaFault:
    with pytest.raises(RetrievalError) as caught:
        await call
    assert isinstance(caught.value.__cause__, ChromaFault)
    return caught.value.__cause__


def renewals(chroma: ChromaProcess) -> list[str]:
    """Grows whenever it is found to have begun an empty folder."""
    told: list[str] = []
    chroma.on_files_lost(told.append)
    return told


def aside(folder: Path) -> list[Path]:
    return list(folder.parent.glob("chroma.broken-*"))


def inside(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_dir()}


async def struck(chroma: ChromaProcess, number: int) -> Child:
    child = await chroma.process.child()
    os.kill(child.pid, number)
    await child.exited()
    return child


async def test_a_child_that_is_killed_is_started_anew_at_the_next_call(
    folder: Path, chroma: ChromaProcess
) -> None:
    """The folder is not to blame, nothing that was acknowledged is lost, and it is logged."""
    told = renewals(chroma)
    with captured() as lines:
        assert await counted(chroma) == MANY
        first = await struck(chroma, signal.SIGKILL)
        assert await counted(chroma) == MANY
    assert (await chroma.process.child()).pid != first.pid
    assert (told, aside(folder)) == ([], [])
    assert [line["detail"] for line in lines.of("child_ended")] == ["its process ended with -9"]


async def test_a_child_that_keeps_crashing_damns_its_folder(folder: Path, chroma: ChromaProcess) -> None:
    """Once may be chance; the second time within minutes it begins an empty one, and the old one is kept."""
    told = renewals(chroma)
    for _ in range(2):
        assert await counted(chroma) == MANY
        await struck(chroma, signal.SIGSEGV)
    assert (await counted(chroma), len(told), len(aside(folder))) == (0, 1, 1)
    await struck(chroma, signal.SIGSEGV)
    assert (await counted(chroma), len(told), len(aside(folder))) == (0, 2, 1)  # it was not filled


@pytest.mark.parametrize(
    ("code", "apart", "suspicious"),
    [
        pytest.param(-signal.SIGABRT, 60.0, True, id="crashes"),
        pytest.param(-signal.SIGUSR1, 60.0, False, id="somebody else's doing"),
    ],
)
async def test_which_ends_are_suspicious(
    folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, apart: float, *, suspicious: bool
) -> None:
    """What the child stumbled over by itself, twice within three minutes."""
    monkeypatch.setattr(process, "SUSPECT_SECONDS", apart)
    end = f"os._exit({code})" if code >= 0 else f"os.kill(os.getpid(), {-code})"
    program = (
        "import os, sys, app.retrieval.retrievers.chroma_child as child\n"
        f"def answer(engine, call): {end}\n"
        "child.answer = child.answer if 'aside' in sys.argv else answer\nchild.main()"
    )
    chroma = ChromaProcess(folder, program=replace(PROGRAM, command=(sys.executable, "-c", program)))
    for _ in range(2):
        await fault(chroma.beat())
    if suspicious:
        assert await counted(chroma) == 0
    else:
        await fault(chroma.beat())
    await chroma.close()
    assert len(aside(folder)) == suspicious


async def test_a_folder_that_cannot_be_used_is_moved_aside(folder: Path, chroma: ChromaProcess) -> None:
    """The first call finds an empty one in its place, that can be written to."""
    DAMAGES["the vectors are cut"](folder)
    told = renewals(chroma)
    with captured() as lines:
        assert await counted(chroma) == 0
    assert (len(told), len(aside(folder)), len(lines.of(MOVED))) == (1, 1, 1)
    await chroma.upsert("ibid-a", IDS, ROWS, [{"document": "d"}] * MANY)
    assert await counted(chroma) == MANY


@pytest.mark.parametrize("damage", DAMAGES)
async def test_who_only_looks_moves_nothing(folder: Path, damage: str) -> None:
    """What a start would move aside is told."""
    DAMAGES[damage](folder)
    before = sorted(folder.parent.glob("*"))
    async with opened(folder, read_only=True) as looking:
        assert isinstance(await fault(looking.beat()), ChromaDamaged)
    assert sorted(folder.parent.glob("*")) == before


async def test_what_is_no_fault_of_the_folder_is_told(tmp_path: Path) -> None:
    """No rights, no room: `ChromaFault` with the reason, and nothing is moved."""
    (tmp_path / "file").write_text("kept")
    async with opened(tmp_path / "file" / "chroma") as chroma:
        assert "Not a directory" in str(await fault(chroma.beat()))
    assert (tmp_path / "file").read_text() == "kept"


async def test_a_renewed_folder_holds_nothing_of_before(folder: Path, chroma: ChromaProcess) -> None:
    """Not what was deleted, nor what was moved aside earlier; whoever keeps the record is told that this was
    done on purpose."""
    old = folder.with_name("chroma.broken-20260101T000000")
    shutil.copytree(folder, old)
    assert await counted(chroma) == MANY
    before, told = inside(folder), renewals(chroma)

    await chroma.renew()

    assert (await counted(chroma), told, aside(folder)) == (0, [REMADE], [])
    assert before
    assert not before & inside(folder)


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
    damaged_chroma = InProcess(engine)
    document = await file(pool, SHARED, TEXTS)
    await Outbox(pool, ChromaCopy(pool, damaged_chroma, SPACE), await identity(pool)).drain()
    found = await search(documents(pool, damaged_chroma))
    engine.close()
    return document, found


@pytest.fixture
async def damaged_chroma(tmp_path: Path) -> AsyncIterator[Chroma]:
    async with open_chroma(Settings(ibid={"data_dir": tmp_path})) as opened:
        yield opened


@asynccontextmanager
async def following(pool: Pool, damaged_chroma: Chroma) -> AsyncIterator[ChromaCopy]:
    """Chroma's copy, kept up in the background."""
    copy = ChromaCopy(pool, damaged_chroma, SPACE)
    outbox = Outbox(pool, copy, await identity(pool))
    damaged_chroma.on_files_lost(outbox.report_loss)
    await damaged_chroma.ready()
    running = asyncio.create_task(outbox.run())
    try:
        yield copy
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def filled_chroma(pool: Pool, vectors: ChromaCopy) -> None:
    """Until what was lost has been given back."""
    for _ in range(600):
        with suppress(RetrievalError):
            if await vectors.is_complete() and not (await state(pool, vectors.name)).refill:
                return
        await asyncio.sleep(0.05)
    raise AssertionError("chroma was not refilled")


@pytest.mark.parametrize("damage", ["the database is noise", "the metadata are gone"])
async def test_a_damaged_folder_costs_no_answer(
    damage: str, stored: tuple[str, Legs], pool: Pool, tmp_path: Path
) -> None:
    """Neither the first nor the last: what cannot be used makes way, and is filled again."""
    _, before = stored
    DAMAGES[damage](tmp_path / "chroma")
    async with (
        open_chroma(Settings(ibid={"data_dir": tmp_path})) as damaged_chroma,
        following(pool, damaged_chroma) as vectors,
    ):
        assert before.meaning
        assert await search(documents(pool, damaged_chroma)) == before
        await filled_chroma(pool, vectors)
        assert await search(documents(pool, damaged_chroma, exact_mb=0)) == replace(before, engine=True)


async def test_a_folder_taken_away_while_it_is_used_costs_no_answer(
    stored: tuple[str, Legs], pool: Pool, damaged_chroma: Chroma, tmp_path: Path
) -> None:
    """Whatever the child then says: writes work again at last, without a restart of the service."""
    _, before = stored
    async with following(pool, damaged_chroma):
        shutil.rmtree(tmp_path / "chroma")
        assert await search(documents(pool, damaged_chroma)) == before
    await crash(damaged_chroma)
    async with following(pool, damaged_chroma) as vectors:
        assert await search(documents(pool, damaged_chroma)) == before
        await filled_chroma(pool, vectors)


async def crash(damaged_chroma: Chroma) -> None:
    assert isinstance(damaged_chroma, ChromaProcess)
    child = await damaged_chroma.process.child()
    os.kill(child.pid, signal.SIGKILL)
    await child.exited()
