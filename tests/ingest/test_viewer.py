"""The processes that show pages: one that dies, hangs, answers nonsense or is busy."""

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.errors import Missing, Overloaded, PdfDamaged, PdfTooComplex, Unavailable
from app.ingest.viewer import WORKER, PdfViewer
from app.process import Program
from app.settings import DocumentLimits
from tests.fakes.pdfs import text_pdf

PDF = text_pdf(["The lighthouse keeper counts nine ships.", "Overleaf."])


def left(folder: Path) -> list[Path]:
    return list(folder.iterdir())


CODE = """
import os, signal, time
from app.child import connected
parent, _ = connected()
parent.ready()
def answer(call):
    if call.name == "open":
        call.reply({"pages": 1})
    else:
        %s
parent.serve(answer)
"""


def worker(does: str) -> Program:
    """Opens any file, then does this with each call."""
    return replace(WORKER, command=(sys.executable, "-c", CODE % does), check_seconds=0.05)


async def content(data: bytes = PDF) -> AsyncIterator[bytes]:
    for start in range(0, len(data), 500):
        yield data[start : start + 500]


def viewer(folder: Path, program: Program | None = None) -> PdfViewer:
    limits = DocumentLimits()
    if program is None:
        return PdfViewer(limits, folder)
    return PdfViewer(limits, folder, program, call_seconds=0.5, wait_seconds=0.5)


FIRST_HANGS = "time.sleep(60) if call.payload['page'] == 1 else call.reply(data=b'RIFF')"


class Viewing:
    """A viewer of files whose first page hangs. `opened`: the documents whose files were opened, in order."""

    def __init__(self, folder: Path, **seconds: float) -> None:
        self.shown = PdfViewer(DocumentLimits(), folder, worker(FIRST_HANGS), **seconds)
        self.opened: list[str] = []
        self._tasks: list[asyncio.Task[bytes]] = []

    async def page(self, name: str, n: int, tenant: str = "") -> bytes:
        return await self.shown.page(name, partial(self._content, name), n, None, tenant=tenant)

    async def begin(self, name: str, n: int, tenant: str = "") -> "asyncio.Task[bytes]":
        """Ask for a page, and wait until the file is open or somebody waits for it."""
        task = asyncio.create_task(self.page(name, n, tenant))
        self._tasks.append(task)
        await asyncio.sleep(0.5)
        return task

    async def _content(self, name: str) -> AsyncIterator[bytes]:
        self.opened.append(name)
        yield PDF

    async def __aenter__(self) -> "Viewing":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shown.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def test_several_documents_are_shown_one_after_the_other(tmp_path: Path) -> None:
    """More than there are processes, at once; nothing is left of their files."""
    shown = viewer(tmp_path)
    try:
        pages = await asyncio.gather(*(shown.page(f"d{n % 4}", content, 1 + n % 2, None) for n in range(12)))
        assert len({*pages}) == 2
        with pytest.raises(Missing):
            await shown.page("d1", content, 3, None)
        with pytest.raises(PdfDamaged):
            await shown.page("bad", partial(content, b"no PDF"), 1, None)
    finally:
        await shown.close()
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    ("does", "error"),
    [
        ("os._exit(3)", PdfDamaged),
        ("os.kill(os.getpid(), signal.SIGSEGV)", PdfDamaged),
        ("os.kill(os.getpid(), signal.SIGKILL)", PdfTooComplex),
        ("time.sleep(60)", PdfTooComplex),
        ("call.reply(data=b'<html>')", PdfDamaged),
        ("call.fail({'fault': 'unheard-of'})", PdfDamaged),
    ],
)
async def test_a_process_that_dies_hangs_or_answers_nonsense(
    tmp_path: Path, does: str, error: type[Exception]
) -> None:
    """Each is a problem of the file, and the next call gets a new process."""
    shown = viewer(tmp_path, worker(does))
    try:
        for _ in range(2):
            with pytest.raises(error):
                await shown.page("d", content, 1, None)
            with pytest.raises(error):
                await shown.places("d", content, pages=(1, 1), text="ships", quote="")
    finally:
        await shown.close()


async def test_a_busy_viewer_says_so(tmp_path: Path) -> None:
    """All processes show other documents, and go on doing so."""
    shown = viewer(tmp_path, worker("time.sleep(60)"))
    busy = [asyncio.create_task(shown.page(f"d{n}", content, 1, None)) for n in range(2)]
    try:
        with pytest.raises((Overloaded, PdfTooComplex)):
            await shown.page("other", content, 1, None)
    finally:
        await asyncio.gather(*busy, return_exceptions=True)
        await shown.close()


async def test_a_start_that_fails_is_not_the_files_fault(tmp_path: Path) -> None:
    shown = viewer(tmp_path, Program("none", ("/nowhere/python",)))
    try:
        with pytest.raises(Unavailable):
            await shown.page("d", content, 1, None)
    finally:
        await shown.close()


async def test_a_page_that_hung_is_refused_from_then_on(tmp_path: Path) -> None:
    """Without another process; the other pages are shown."""
    async with Viewing(tmp_path, call_seconds=0.5) as viewing:
        both = await asyncio.gather(*(viewing.page("d", 1) for _ in range(2)), return_exceptions=True)
        assert [type(each) for each in both] == [PdfTooComplex] * 2
        with pytest.raises(PdfTooComplex):
            await viewing.page("d", 1)
        assert viewing.opened == ["d"]
        assert await viewing.page("d", 2)


async def test_a_draw_that_nobody_waits_for_ends(tmp_path: Path) -> None:
    """The next page of the document does not wait for its deadline."""
    async with Viewing(tmp_path, call_seconds=60.0) as viewing:
        left = await viewing.begin("d", 1)
        left.cancel()
        assert await viewing.page("d", 2)


async def test_a_document_that_is_removed_during_a_draw(tmp_path: Path) -> None:
    """It is gone, not damaged, for who waits for the page and for who waits behind."""
    async with Viewing(tmp_path) as viewing:
        waiting = [await viewing.begin("d", n) for n in (1, 2)]
        viewing.shown.forget("d")
        told = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(each) for each in told] == [Missing] * 2


async def test_a_service_that_stops_says_so(tmp_path: Path) -> None:
    async with Viewing(tmp_path) as viewing:
        waiting = [await viewing.begin(name, 1) for name in ("d", "e", "waits")]
        viewing.shown.hurry()
        told = await asyncio.gather(*waiting, viewing.page("late", 2), return_exceptions=True)
        assert [type(each) for each in told] == [Unavailable] * 4


async def test_a_tenant_leaves_the_second_place_to_others(tmp_path: Path) -> None:
    """A tenant that has a page at work does not get another place before those who have none."""
    async with Viewing(tmp_path) as viewing:
        for name in ("a1", "a2", "a3"):
            await viewing.begin(name, 1, "a")
        other = await viewing.begin("b1", 2, "b")
        viewing.shown.forget("a1")
        await other
        assert viewing.opened[:3] == ["a1", "a2", "b1"]


async def test_a_file_that_does_not_come(tmp_path: Path) -> None:
    async def nothing() -> AsyncIterator[bytes]:
        await asyncio.sleep(60)
        yield b""

    shown = PdfViewer(DocumentLimits(), tmp_path, start_seconds=0.2)
    try:
        with pytest.raises(Unavailable):
            await shown.page("d", nothing, 1, None)
    finally:
        await shown.close()
    assert left(tmp_path) == []
