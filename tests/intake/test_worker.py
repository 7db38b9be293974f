"""What the worker process does, and what it gives up before."""

import asyncio
import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from app.config import DocumentLimits
from app.domain.errors import PdfTextless
from app.intake.pdf import PdfParser
from app.intake.sandbox import COMMAND, ENVIRONMENT
from app.intake.wire import Request, ask
from app.intake.worker import READER, discreet, parse
from app.retrieval.vocabulary import count
from tests.fakes.pdfs import bomb_pdf, image_pdf, script_pdf, table_pdf, text_pdf
from tests.fakes.processes import children, wait_for
from tests.fakes.servers import status

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
    assert "Results by year\n2022 2021\nNet sales $4,207 $3,180\nNet loss (12) (7)\nSo it was." in chunk.text


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


def child(path: Path, **changed: object) -> "subprocess.CompletedProcess[bytes]":
    """A worker on a file, to its end."""
    with path.open("rb") as file:
        return subprocess.run(
            COMMAND,
            input=ask(request(file.fileno(), **changed)),
            capture_output=True,
            env=ENVIRONMENT,
            check=False,
            timeout=60,
            pass_fds=(file.fileno(),),
        )


def request(file: int, **changed: object) -> Request:
    """A request of this process for an open file."""
    values: dict[str, object] = {
        "parent": os.getpid(), "file": file, "filename": "a.pdf", "max_pages": 10, "memory_mb": 512,
        "seconds": 30.0,
    }  # fmt: skip
    return Request(**{**values, **changed})  # type: ignore[arg-type] # one dictionary for all fields


def test_a_worker_says_its_result_and_nothing_else(tmp_path: Path) -> None:
    """Lines of JSON on stdout, silence on stderr."""
    done = child(saved(tmp_path, text_pdf("Hello there.")))
    head, chunk, end = [json.loads(line) for line in done.stdout.splitlines()]
    assert (head["pages"], chunk["text"], end) == (1, "Hello there.", {"end": 1})
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_worker_whose_parent_is_gone_ends(tmp_path: Path) -> None:
    """Before it reads anything."""
    done = child(saved(tmp_path, text_pdf("Hello there.")), parent=1)
    assert (done.returncode, done.stdout) == (1, b"")


def test_too_little_memory_is_a_refusal(tmp_path: Path) -> None:
    """Python's own allocations that fail are told as such."""
    done = child(saved(tmp_path, text_pdf("Hello there.")), memory_mb=64)
    assert json.loads(done.stdout)["fault"] == "pdf-too-complex"


CONFINED = """
import os, resource, signal
from app.intake.worker import confine
from app.intake.wire import Request
confine(Request(os.getppid(), 0, "", 1, 300, 7.0))
for name in ("AS", "CPU", "FSIZE", "CORE"):
    print(resource.getrlimit(getattr(resource, "RLIMIT_" + name))[1])
print(signal.getitimer(signal.ITIMER_REAL)[0], os.nice(0))
"""


def test_a_worker_gives_up_what_it_does_not_need() -> None:
    """Memory, processor time, files, core dumps, a day without end, and precedence."""
    done = subprocess.run(
        [sys.executable, "-c", CONFINED], env=ENVIRONMENT, capture_output=True, check=True, timeout=30
    )
    memory, seconds, size, core, timer, nice = done.stdout.split()
    assert (int(memory), int(seconds), int(size), int(core)) == (300 << 20, 8, 0, 0)
    assert 7 < float(timer) <= 12
    assert int(nice) >= 10


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

LEFT = """
import os, sys
from pathlib import Path
from app.intake.worker import confine, parse
from app.intake.wire import Request
names = sys.argv[2:]
files = [open(name, "rb") for name in names]
confine(Request(os.getppid(), 0, "", 1, 512, 30.0))
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

    assert set(found["Uid"].split()) == set(found["Gid"].split()) == {str(READER)}
    assert pwd.getpwnam("nobody").pw_uid != READER, "the embedded PostgreSQL's user"
    assert found["Groups"] == ""
    assert (int(found["CapPrm"], 16), int(found["CapEff"], 16)) == (0, 0)


def test_an_error_is_told_without_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    """Which may hold text of the document."""
    try:
        raise ValueError("the secret text")
    except ValueError as error:
        discreet(type(error), error, error.__traceback__)
    said = capsys.readouterr().err
    assert said.startswith("ValueError at ")
    assert "secret" not in said
