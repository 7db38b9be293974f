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
