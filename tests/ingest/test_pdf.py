"""A PDF read by its worker: how it is confined and checked, every refusal its problem, and no file harms
the service."""

import asyncio
import os
import pwd
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from app.child import UNPRIVILEGED
from app.errors import (
    BadInput,
    PdfDamaged,
    PdfEncrypted,
    PdfTextless,
    PdfTooComplex,
    Unavailable,
)
from app.ingest.pdf import PROBLEMS, WORKER, PdfParser, decode, decode_problem, exit_problem
from app.ingest.worker import parse, to_json, with_labels
from app.process import ENVIRONMENT, NotStarted, Program
from app.settings import DocumentLimits
from app.text.vocabulary import count
from app.types import Chunk, ParsedDocument
from tests.fakes.pdfs import (
    bomb_pdf,
    damaged_pdf,
    empty_pdf,
    encrypted_pdf,
    image_pdf,
    leaves,
    script_pdf,
    stream,
    table_pdf,
    text_pdf,
)
from tests.fakes.postgres import status
from tests.fakes.process import children, is_alive, memory_limit, wait_for

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
        (encrypted_pdf(), PdfEncrypted, "password"),
        (damaged_pdf("garbage"), PdfDamaged, "structure"),
        (damaged_pdf("truncated"), PdfDamaged, "structure"),
        (damaged_pdf("treeless"), PdfDamaged, "structure"),
        (image_pdf(3), PdfTextless, "3 pages, none with text"),
        (empty_pdf(1), PdfTextless, "1 page, none with text"),
        (empty_pdf(51), PdfTooComplex, "51 pages; at most 50"),
    ],
    ids=["encrypted", "garbage", "truncated", "treeless", "scan", "blank", "pages"],
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
    "import socket, sys\nfrom app.child import FrameKind, connected, receive\nparent, _ = connected()\n"
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
        (f"{CALLED}receive(wire); parent.send(FrameKind.RESULT, 1, None, b'nonsense')", PdfDamaged),
        (f"{CALLED}receive(wire); parent.send(FrameKind.ITEM, 1)", PdfDamaged),
        (
            f"{CALLED}receive(wire); wire.sendall(bytes(99)); receive(wire)",
            PdfDamaged,
        ),
        (f"{CALLED}receive(wire); parent.send(FrameKind.RESULT, 1, {{'a': 'b' * 99_999}})", PdfDamaged),
    ],
    ids=["segfault", "abort", "error", "silence", "an end", "nonsense", "an item", "no frames", "much JSON"],
)
async def test_a_worker_that_fails_is_a_refusal(path: Path, code: str, problem: type[BadInput]) -> None:
    """Never an error of the service."""
    with pytest.raises(problem):
        await read_by(path, code)


KILLED = "import os, pathlib, signal; os.kill(os.getpid(), signal.SIGKILL)"


async def test_a_worker_that_the_system_kills_is_started_once_more(path: Path, tmp_path: Path) -> None:
    """It may want the memory for others. Killed again, the file is refused."""
    seen = tmp_path / "seen"
    first = f"import pathlib\nif not pathlib.Path({str(seen)!r}).exists():\n"
    first += f"    pathlib.Path({str(seen)!r}).touch()\n    {KILLED}\n"
    read = await read_by(
        path, f"{first}import runpy; runpy.run_module('app.ingest.worker', run_name='__main__')"
    )
    assert [chunk.text for chunk in read.chunks] == ["x"]
    with pytest.raises(PdfTooComplex):
        await read_by(path, KILLED)


@pytest.mark.parametrize("said", ["b'x' * (4 << 20)", "b''"], ids=["one frame", "many frames"])
async def test_a_worker_that_says_too_much_is_not_listened_to(path: Path, said: str) -> None:
    """What it says is bounded here as well as there."""
    code = f"{CALLED}while True: parent.send(FrameKind.BEAT, 0, None, {said})"
    with pytest.raises(PdfDamaged):
        await read_by(path, code, replace(WORKER, output_bytes=1 << 20))


async def test_a_worker_knows_nothing_of_the_services_settings(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its environment is made for it; what it prints is logged."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with capture_logs() as logs, pytest.raises(PdfDamaged):
        await read_by(path, "import os, sys; sys.exit(' '.join(sorted(os.environ)))")
    [said] = [line["text"] for line in logs if line["event"] == "child_output"]
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


PROSE = "The harbour lies in the north of the island. Ships call there twice a week. " * 12


def saved(folder: Path, data: bytes) -> Path:
    """A file of these bytes."""
    path = folder / "a.pdf"
    path.write_bytes(data)
    return path


def test_a_pdf_becomes_chunks_with_pages_headings_and_tokens(tmp_path: Path) -> None:
    """The whole way through, from bytes to chunks."""
    pages = [f"# Harbours\n\n{PROSE}", f"# Ferries\n\n{PROSE}"]
    parsed = parse(saved(tmp_path, text_pdf(pages, title="The Island", footer="{page}")), "island.pdf", 10)
    assert (parsed.pages, parsed.title) == (2, "The Island")
    assert [(chunk.page, chunk.heading) for chunk in parsed.chunks] == [(1, "Harbours"), (2, "Ferries")]
    assert parsed.chunks[0].text == f"Harbours\n{PROSE.strip()}"
    assert all(chunk.tokens == count(chunk.text) for chunk in parsed.chunks)


def test_a_table_can_be_read_in_its_chunk(tmp_path: Path) -> None:
    """Row by row, under its caption."""
    rows = [["", "2022", "2021"], ["Net sales", "$ 4,207", "$ 3,180"], ["Net loss", "(12)", "(7)"]]
    path = saved(
        tmp_path, table_pdf("Results by year", rows, before="It was a good year.", after="So it was.")
    )
    [chunk] = parse(path, "a.pdf", 10).chunks
    assert (
        "Results by year\n| 2022 | 2021\n--- | --- | ---\nNet sales | $4,207 | $3,180\nNet loss | (12) | (7)"
        in chunk.text
    )


def test_the_outline_gives_the_path(tmp_path: Path) -> None:
    """Bookmarks are headings even where their type does not tell."""
    marks = [("Beginning", 1, 0), ("Details", 1, 1), ("End", 2, 0)]
    path = saved(tmp_path, text_pdf([f"Beginning\n\nDetails\n\n{PROSE}", f"End\n\n{PROSE}"], outline=marks))
    assert [chunk.heading for chunk in parse(path, "a.pdf", 10).chunks] == ["Beginning › Details", "End"]


def test_other_scripts_come_through(tmp_path: Path) -> None:
    """Arabic, Chinese and Hindi are text like any other."""
    parsed = parse(saved(tmp_path, script_pdf(["مرحبا بالعالم\n你好，世界。\nनमस्ते दुनिया।"])), "a.pdf", 10)
    assert all(said in parsed.chunks[0].text for said in ("مرحبا بالعالم", "你好，世界。", "नमस्ते दुनिया।"))


def test_scans_are_refused_with_their_number_of_pages(tmp_path: Path) -> None:
    """Nothing of them could be found."""
    with pytest.raises(PdfTextless, match="12 pages, none with text"):
        parse(saved(tmp_path, image_pdf(12)), "a.pdf", 100)


async def test_too_little_memory_is_a_refusal(tmp_path: Path) -> None:
    """Python's own allocations that fail are told as such."""
    limits = DocumentLimits.model_construct(memory_mb=64, max_pages=10, timeout_seconds=30.0)
    with pytest.raises(PdfTooComplex, match="64 MiB"):
        await PdfParser(limits).parse(saved(tmp_path, text_pdf("Hello there.")), "a.pdf")


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


LEFT = """
import os, sys
from pathlib import Path
from app.child import confine
from app.text.vocabulary import count
from app.ingest.worker import parse
names = sys.argv[2:]
files = [open(name, "rb") for name in names]
count("")
confine(os.getppid(), 512, 30.0)
opened = []
sys.addaudithook(lambda event, found: opened.append(found[0]) if event in {"open", "import"} else None)
for file in files:
    parse(file, "a.pdf", 100)
sys.stdout.write(repr(opened) + "\\n")
try:
    sys.stdout.write(Path(sys.argv[1]).read_text())
except PermissionError:
    sys.stdout.write("refused")
"""


@as_root
def test_roots_worker_reads_with_what_it_has_and_can_open_nothing_of_roots(tmp_path: Path) -> None:
    """From a folder nobody may look into; no module or file is missing when it is no longer root."""
    tmp_path.chmod(0o700)
    secret = tmp_path / "secret"
    secret.write_text("the key")
    secret.chmod(0o600)
    marks = [("Details", 1, 0)]
    kinds = {
        "plain": text_pdf([f"# Harbours\n\n{PROSE}"], title="Ünïcode", outline=marks),
        "script": script_pdf(["مرحبا بالعالم\n你好，世界。 😀"]),
        "table": table_pdf("Results", [["", "2022"], ["Net sales", "4,207"]], before="A.", after="B."),
    }
    for name, data in kinds.items():
        (tmp_path / name).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", LEFT, secret, *(tmp_path / name for name in kinds)],
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
        timeout=60,
    )
    loaded, said = done.stdout.decode().splitlines()
    assert (loaded, said) == ("[]", "refused")


@as_root
async def test_roots_worker_owns_nothing_while_it_reads(tmp_path: Path) -> None:
    """In all its ids, without other groups and capabilities, and with no way to get new ones."""
    others = children()
    path = saved(tmp_path, bomb_pdf())
    task = asyncio.create_task(PdfParser(DocumentLimits(memory_mb=16_384)).parse(path, "a.pdf"))
    await asyncio.to_thread(wait_for, lambda: children() - others)
    [worker] = children() - others
    await asyncio.to_thread(wait_for, lambda: status(worker)["Uid"].split()[0] != "0")
    await asyncio.to_thread(wait_for, lambda: status(worker)["NoNewPrivs"] == "1")
    found = status(worker)
    task.cancel()
    await asyncio.wait({task})

    assert set(found["Uid"].split()) == set(found["Gid"].split()) == {str(UNPRIVILEGED)}
    assert pwd.getpwnam("nobody").pw_uid != UNPRIVILEGED, "the embedded PostgreSQL's user"
    assert found["Groups"] == ""
    assert (int(found["CapPrm"], 16), int(found["CapEff"], 16)) == (0, 0)


CHUNK = Chunk(ordinal=1, text="a\nb", page=1, page_end=2, heading="A › B", tokens=3)


@settings(deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
    st.text(st.characters(exclude_categories=["Cs"])),
)
def test_a_result_arrives_as_it_was_told(texts: list[str], title: str) -> None:
    """Whatever the text holds."""
    chunks = tuple(Chunk(n, text, 1, 1, "", 1) for n, text in enumerate(texts, 1))
    parsed = ParsedDocument(3, title, chunks)
    assert decode(to_json(asdict(parsed))) == parsed


@pytest.mark.parametrize("kind", PROBLEMS.values())
def test_a_refusal_arrives_as_its_problem(kind: type[BadInput]) -> None:
    with pytest.raises(kind, match="12 pages"):
        raise decode_problem({"fault": kind.slug, "detail": "12 pages"})


@pytest.mark.parametrize(
    "output",
    [
        b"",
        b"{}",
        b"[]",
        b"1\n2",
        b"nonsense",
        b"\xff\xfe",
        b'{"pages": 1}',
        to_json(asdict(ParsedDocument(2, "", (CHUNK,))))[:-12],
        to_json(asdict(ParsedDocument(2, "", (CHUNK, CHUNK)))),
        b'{"pages": 1, "title": "", "chunks": [{"no": "chunk"}]}',
    ],
)
def test_half_an_answer_counts_for_nothing(output: bytes) -> None:
    """What breaks off, or is of another form, is damage."""
    with pytest.raises(PdfDamaged):
        decode(output)


def output_of(head: dict[str, object] | None = None, **changed: object) -> bytes:
    """A result of one chunk, with these values in the place of good ones."""
    return to_json({"pages": 2, "title": "", "chunks": [asdict(CHUNK) | changed], **(head or {})})


@pytest.mark.parametrize(
    "output",
    [
        output_of({"pages": "2"}),
        output_of({"pages": 2.5}),
        output_of({"pages": True}, page=1, page_end=1),
        output_of({"pages": 0}),
        output_of({"pages": 2**31}),
        output_of({"title": None}),
        output_of({"title": ["a"]}),
        output_of(ordinal=2),
        output_of(ordinal="1"),
        output_of(ordinal=True),
        output_of(text=None),
        output_of(text=["a"]),
        output_of(heading=3),
        output_of(page=0),
        output_of(page="1"),
        output_of(page=2, page_end=1),
        output_of(page_end=3),
        output_of(tokens=-1),
        output_of(tokens=1.5),
        output_of(tokens=2**31),
        b"[" * 100_000,
    ],
)
def test_a_value_of_another_kind_or_range_is_damage(output: bytes) -> None:
    """A worker that a file has taken over says what it likes; nothing of it reaches the record."""
    with pytest.raises(PdfDamaged):
        decode(output)


@pytest.mark.parametrize("payload", [{}, {"fault": "unknown", "detail": ""}, {"fault": ["pdf-damaged"]}])
def test_a_refusal_that_is_not_known_is_damage(payload: dict[str, object]) -> None:
    """Its words are not repeated."""
    assert isinstance(decode_problem(payload), PdfDamaged)


def test_a_worker_starts_without_what_it_does_not_need() -> None:
    """It is started for each document: the clients of databases and the log's renderer take longer to import
    than three pages to read."""
    code = (
        "import sys, app.ingest.worker; print({'asyncpg', 'numpy', 'pydantic', 'structlog'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n", done.stdout


def test_pages_without_text_among_others_are_told(tmp_path: Path) -> None:
    """Pages that show nothing do not count."""
    drawn = stream(b"0 0 612 792 re f")
    text = stream(b"BT /F 10 Tf 72 700 Td (The ferry sails at noon.) Tj ET")
    font = [b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    pages = leaves([text, drawn, drawn, stream(b"")], b"/Font << /F 3 0 R >>", font)
    assert parse(saved(tmp_path, pages), "a.pdf", 10).warnings == (
        "2 of 4 pages have no text (scanned?); they cannot be searched.",
    )
    assert parse(saved(tmp_path, leaves([text], b"/Font << /F 3 0 R >>", font)), "a.pdf", 10).warnings == ()


FONTS = b"/Font << /F 4 0 R >> /XObject << /I 3 0 R >>"
HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


@pytest.mark.parametrize(("side", "words", "warned"), [(500, 2, True), (40, 2, False), (500, 30, False)])
def test_images_with_hardly_a_word_are_told(tmp_path: Path, side: int, words: int, warned: bool) -> None:
    """A watermark does not make a scan a text. A small picture or a page of text is none."""
    entries = b"/Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8"
    shared = [stream(bytes(range(64)), b"/Type /XObject " + entries), HELVETICA]
    drawn = b"q %d 0 0 %d 50 50 cm /I Do Q BT /F 10 Tf 12 TL 72 700 Td %s ET"
    page = stream(drawn % (side, side, b"(Trial) Tj T* " * words))
    found = parse(saved(tmp_path, leaves([page, page], FONTS, shared)), "a.pdf", 10).warnings
    text = "2 of 2 pages are images with hardly any text (scanned?); images cannot be searched."
    assert found == ((text,) if warned else ())


def drawn_text(tmp_path: Path, *texts: tuple[int, int, int, str]) -> str:
    """What is read of a page of (size, x, y, text), in the order in which they are drawn."""
    parts = " ".join(f"/F {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj" for size, x, y, text in texts)
    page = stream(f"BT {parts} ET".encode())
    data = leaves([page], b"/Font << /F 3 0 R >>", [HELVETICA])
    return parse(saved(tmp_path, data), "a.pdf", 10).chunks[0].text


def test_marks_that_are_drawn_last_are_at_their_places(tmp_path: Path) -> None:
    """A footnote mark belongs beside its word and before its note, not after the text of the page."""
    text = drawn_text(
        tmp_path,
        (10, 72, 700, "Sales of ferries"),
        (10, 200, 700, "rose by a half."),
        (8, 80, 600, "In the second year."),
        (5, 139, 704, "b"),
        (5, 72, 602, "b"),
    )
    assert text == "Sales of ferries b rose by a half.\nb In the second year."


def test_the_foot_of_a_page_is_no_part_of_its_last_line(tmp_path: Path) -> None:
    """Even if it is drawn right after a word that a hyphen breaks."""
    text = drawn_text(tmp_path, (10, 72, 700, "They sail to e-"), (10, 300, 60, "3 Ferry Corporation"))
    assert text == "They sail to e-\n3 Ferry Corporation"


def test_a_passage_is_labelled_by_its_first_and_last_page() -> None:
    """Not by a later one alone."""
    found = [Chunk(n, "", first, last, "", 1) for n, (first, last) in enumerate([(1, 2), (2, 3), (3, 4)], 1)]
    labels = [chunk.page_label for chunk in with_labels(found, {2: "1", 3: "2"})]
    assert labels == ["", "1–2", "2"]
