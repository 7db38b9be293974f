"""The service's side: every refusal is its problem, and no file harms the service."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.db.documents import ParsedDocument
from app.errors import (
    BadInput,
    EmptyFile,
    NotPdf,
    PdfDamaged,
    PdfEncrypted,
    PdfTextless,
    PdfTooComplex,
    Unavailable,
)
from app.ingest.pdf import WORKER, PdfParser, exit_problem
from app.ingest.worker import parse
from app.process import ENVIRONMENT, NotStarted, Program
from app.settings import DocumentLimits
from tests.fakes.pdfs import (
    bomb_pdf,
    damaged_pdf,
    empty_pdf,
    encrypted_pdf,
    image_pdf,
    leaves,
    stream,
    text_pdf,
)
from tests.fakes.processes import children, is_alive, memory_limit, wait_for
from tests.fakes.servers import status

LIMITS = DocumentLimits(max_pages=50, memory_mb=512, timeout_seconds=30)


FONT = b"/Font << /F 3 0 R >>", [b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]


PATIENT = DocumentLimits(memory_mb=16_384, timeout_seconds=1)


"""Enough memory for a bomb to go on until its time is up."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test puts its PDF."""
    return tmp_path / "a.pdf"


async def parsed(path: Path, data: bytes, limits: DocumentLimits = LIMITS) -> ParsedDocument:
    """What a worker makes of these bytes."""
    await asyncio.to_thread(path.write_bytes, data)
    return await PdfParser(limits).parse(path, "a.pdf")


async def test_a_worker_makes_the_same_as_this_process_would(path: Path) -> None:
    """Nothing is lost on the way between them."""
    data = text_pdf(["# One\n\nSome text “quoted” over €5.", "# Two\n\nMore text."], title="Title")
    assert await parsed(path, data) == parse(path, "a.pdf", 10)


@pytest.mark.parametrize(
    ("data", "problem", "said"),
    [
        (b"", EmptyFile, "no bytes"),
        (b"PK\x03\x04 a zip" * 200, NotPdf, "%PDF-"),
        (b" " * 1_100 + text_pdf("Too late."), NotPdf, "%PDF-"),
        (encrypted_pdf(), PdfEncrypted, "password"),
        (damaged_pdf("garbage"), PdfDamaged, "structure"),
        (damaged_pdf("truncated"), PdfDamaged, "structure"),
        (damaged_pdf("treeless"), PdfDamaged, "structure"),
        (image_pdf(3), PdfTextless, "3 pages, none with text"),
        (empty_pdf(1), PdfTextless, "1 page, none with text"),
        (empty_pdf(51), PdfTooComplex, "51 pages; at most 50"),
    ],
    ids=["empty", "zip", "late", "encrypted", "garbage", "truncated", "treeless", "scan", "blank", "pages"],
)
async def test_each_refusal_is_its_problem(
    path: Path, data: bytes, problem: type[BadInput], said: str
) -> None:
    """And its detail says what was found."""
    with pytest.raises(problem) as refused:
        await parsed(path, data)
    assert said in refused.value.detail


async def test_a_header_within_the_first_kilobyte_will_do(path: Path) -> None:
    """As with every reader."""
    assert (await parsed(path, b"\n" * 500 + text_pdf("After a gap."))).chunks[0].text == "After a gap."


@pytest.mark.parametrize("kind", ["forms", "stream"])
async def test_a_bomb_takes_no_more_memory_than_it_is_given(path: Path, kind: str) -> None:
    """Its worker dies of it, the service reads the next file."""
    with pytest.raises(PdfTooComplex, match="256 MiB"):
        await parsed(path, bomb_pdf(kind), DocumentLimits(memory_mb=256, timeout_seconds=60))
    assert (await parsed(path, text_pdf("Still here."))).pages == 1


async def test_a_bomb_takes_no_more_time_than_it_is_given(path: Path) -> None:
    """The worker is gone when the refusal is raised."""
    others = children()
    with pytest.raises(PdfTooComplex, match="more than 1 s"):
        await parsed(path, bomb_pdf(), PATIENT)
    assert children() <= others


async def test_a_cancelled_reading_leaves_no_worker(path: Path) -> None:
    """Cancellation passes through and kills the worker before it goes on."""
    others = children()
    task = asyncio.create_task(parsed(path, bomb_pdf(), DocumentLimits(memory_mb=16_384)))
    await asyncio.to_thread(wait_for, lambda: children() - others)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children() <= others


async def test_many_readings_at_once_do_not_disturb_each_other(path: Path) -> None:
    """They share nothing."""
    paths = [path.with_name(f"{n}.pdf") for n in range(3)]
    kinds = [text_pdf("Text of the first."), damaged_pdf(), text_pdf("Text of the third.")]
    results = await asyncio.gather(*map(parsed, paths, kinds), return_exceptions=True)
    assert [type(result) for result in results] == [ParsedDocument, PdfDamaged, ParsedDocument]


PARENT = """
import asyncio, sys
from pathlib import Path
from app.settings import DocumentLimits
from app.ingest.pdf import PdfParser
asyncio.run(PdfParser(DocumentLimits(memory_mb=16_384)).parse(Path(sys.argv[1]), "a.pdf"))
"""


def test_a_worker_does_not_outlive_its_service(path: Path) -> None:
    """However the service dies."""
    path.write_bytes(bomb_pdf())
    service = subprocess.Popen([sys.executable, "-c", PARENT, str(path)])
    listed = Path(f"/proc/{service.pid}/task/{service.pid}/children")
    try:
        wait_for(lambda: listed.read_text().split())
        [worker] = map(int, listed.read_text().split())
        # It has to have come to the file, or it would end for another reason.
        wait_for(lambda: memory_limit(worker) == 16_384)
        if (
            os.geteuid() == 0
        ):  # then it becomes another user, at which the kernel forgets whom to kill it with
            wait_for(lambda: status(worker)["Uid"].split()[0] != "0")
            time.sleep(0.2)
    finally:
        service.kill()
        service.wait()
    wait_for(lambda: not is_alive(worker), seconds=5)


CALLED = (
    "import socket, sys\nfrom app.child import Kind, connected, receive\nparent, _ = connected()\n"
    "wire = socket.socket(fileno=int(sys.argv[2]))\nparent.ready()\n"
)


async def read_by(path: Path, code: str, worker: Program = WORKER) -> ParsedDocument:
    """A good file, read by another worker: this Python code."""
    await asyncio.to_thread(path.write_bytes, text_pdf("x"))
    other = replace(worker, command=(sys.executable, "-c", code))
    return await PdfParser(LIMITS, other).parse(path, "a.pdf")


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", PdfDamaged),
        ("import os; os.abort()", PdfTooComplex),
        ("raise ValueError('text of the document')", PdfDamaged),
        ("pass", PdfDamaged),
        (CALLED, PdfDamaged),
        (f"{CALLED}receive(wire); parent.send(Kind.RESULT, 1, None, b'nonsense')", PdfDamaged),
        (f"{CALLED}receive(wire); parent.send(Kind.ITEM, 1)", PdfDamaged),
        (
            f"{CALLED}receive(wire); wire.sendall(bytes(99)); receive(wire)",
            PdfDamaged,
        ),
        (f"{CALLED}receive(wire); parent.send(Kind.RESULT, 1, {{'a': 'b' * 99_999}})", PdfDamaged),
    ],
    ids=["segfault", "abort", "error", "silence", "an end", "nonsense", "an item", "no frames", "much JSON"],
)
async def test_a_worker_that_fails_is_a_refusal(path: Path, code: str, problem: type[BadInput]) -> None:
    """Never an error of the service."""
    with pytest.raises(problem):
        await read_by(path, code)


@pytest.mark.parametrize("said", ["b'x' * (4 << 20)", "b''"], ids=["one frame", "many frames"])
async def test_a_worker_that_says_too_much_is_not_listened_to(path: Path, said: str) -> None:
    """What it says is bounded here as well as there."""
    code = f"{CALLED}while True: parent.send(Kind.BEAT, 0, None, {said})"
    with pytest.raises(PdfDamaged):
        await read_by(path, code, replace(WORKER, output_bytes=1 << 20))


async def test_a_worker_knows_nothing_of_the_services_settings(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its environment is made for it; what it prints is logged."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with capture_logs() as logs, pytest.raises(PdfDamaged):
        await read_by(path, "import os, sys; sys.exit(' '.join(sorted(os.environ)))")
    [said] = [line["text"] for line in logs if line["event"] == "child_says"]
    assert said.split() == sorted([*ENVIRONMENT, *({"LC_CTYPE"} & {*said.split()})])


async def test_without_a_process_the_reading_can_be_tried_again(path: Path) -> None:
    """The machine is at fault, not the file."""
    await asyncio.to_thread(path.write_bytes, text_pdf("x"))
    with pytest.raises(Unavailable) as refused:
        await PdfParser(LIMITS, replace(WORKER, command=("/nowhere/python",))).parse(path, "a.pdf")
    assert isinstance(refused.value.__cause__, NotStarted)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (-signal.SIGABRT, PdfTooComplex),
        (-signal.SIGTRAP, PdfTooComplex),
        (-signal.SIGKILL, PdfTooComplex),
        (-signal.SIGXCPU, PdfTooComplex),
        (-signal.SIGALRM, PdfTooComplex),
        (-signal.SIGSEGV, PdfDamaged),
        (-signal.SIGBUS, PdfDamaged),
        (1, PdfDamaged),
        (None, PdfDamaged),
    ],
)
def test_how_a_worker_died_says_why(code: int | None, problem: type[BadInput]) -> None:
    """Limits end it by signals of their own; the rest is the file."""
    assert type(exit_problem(code, 512)) is problem


async def test_the_loop_runs_on_while_a_file_is_read(path: Path) -> None:
    """Nothing of it is done here."""
    task = asyncio.create_task(parsed(path, leaves([stream(b"BT /F 9 Tf (word) Tj ET\n" * 20_000)], *FONT)))
    ticks = 0
    while not task.done():
        await asyncio.sleep(0.01)
        ticks += 1
    assert ticks > 10
    await task
