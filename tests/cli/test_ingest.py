"""`ibid ingest`: files and folders through a running service."""

import errno
import io
import json
import os
from pathlib import Path

import httpx
import pytest

from app.cli.ingest import Outcome, Status, UploadOptions, pdfs, upload
from tests.cli.conftest import Ibid, Running, lines
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Done


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """PDFs of both cases, one deeper, and other things beside."""
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "folder.pdf").mkdir()
    for name in ("b.pdf", "a.PDF", "notes.txt", "deep/deeper/c.Pdf", "pdf"):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def test_a_folder_gives_its_pdfs_of_any_case_and_depth(tree: Path) -> None:
    """Sorted; neither other files nor folders that are called like PDFs."""
    names = [str(path.relative_to(tree)) for path in pdfs([tree])]

    assert names == ["a.PDF", "b.pdf", "deep/deeper/c.Pdf"]


def test_ingest_says_what_became_of_each_file(ingested: Done) -> None:
    """Pages for those taken, the reason for those refused, a sum at the end; and exit code 1."""
    told = sorted(ingested.out.splitlines()[:-1])

    assert ingested.code == 1
    assert "LOCKED.PDF: The PDF is encrypted" in told[0]
    assert "notes.txt: Not a PDF" in told[1]
    assert "harbour.pdf: 2 pages" in told[2]
    assert ingested.out.splitlines()[-1] == "3 files: 1 taken (2 pages), 2 refused"


def test_ingesting_again_finds_it_there(held: Ibid, folder: Path, ingested: object) -> None:
    """The same bytes are known; nothing is refused, so the exit code is 0."""
    again = held("ingest", folder / "harbour.pdf", "--json")

    [line] = lines(again.out)
    assert (again.code, line["status"], line["problem"]) == (0, "known", None)
    assert line["document"]["scope"] == "global"


def test_machines_read_the_problem_of_a_refused_file(held: Ibid, folder: Path, service: Running) -> None:
    """With --json stdout holds JSON lines alone."""
    refused = held("ingest", folder / "LOCKED.PDF", "--json", "--session", "s")

    [line] = lines(refused.out)
    assert (refused.code, line["status"]) == (1, "refused")
    assert line["problem"]["type"] == "urn:ibid:problem:pdf-encrypted"


def test_a_new_version_needs_replace(held: Ibid, service: Running) -> None:
    """The name is taken, until the person says that the old one may go."""
    path = held.place / "version.pdf"
    path.write_bytes(text_pdf("The first version."))
    first = held("ingest", path, "--session", "v")
    path.write_bytes(text_pdf("The second version."))

    refused = held("ingest", path, "--session", "v")
    replaced = held("ingest", path, "--session", "v", "--replace")

    assert [run.code for run in (first, refused, replaced)] == [0, 1, 0]
    assert "taken by another document" in refused.out


def test_files_can_be_put_in_for_a_user(held: Ibid, service: Running) -> None:
    """So that they are exported and erased with that user."""
    path = held.place / "letter.pdf"
    path.write_bytes(text_pdf("Dear Ada, the ferry leaves at nine."))

    done = held("ingest", path, "--session", "letters", "--user", "ada", "--json")

    assert lines(done.out)[0]["document"]["user_id"] == "ada"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--session", "s", "--global"], "not both", id="two places"),
        pytest.param([], "Missing argument", id="no path"),
        pytest.param(["--sesion", "s"], "No such option", id="misspelt option"),
    ],
)
def test_wrong_usage_exits_with_two(ibid: Ibid, tmp_path: Path, arguments: list[str], said: str) -> None:
    """Nothing is opened for it."""
    paths = [] if said == "Missing argument" else [str(tmp_path)]

    done = ibid("ingest", *paths, *arguments)

    assert done.code == 2
    assert said in done.err
    assert not ibid.data.exists()


READY = {"id": "d", "state": "ready", "pages": 1200, "chunks": 3100}


def service(received: list[bytes]) -> httpx.AsyncClient:
    """A client of a service that takes everything and keeps what it was sent."""

    async def answer(request: httpx.Request) -> httpx.Response:
        received.append(await request.aread())
        return httpx.Response(201, json=READY)

    return httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://ibid")


async def ends(paths: list[Path], received: list[bytes]) -> list[Outcome]:
    """What became of the files, in the order of the paths."""
    form = UploadOptions("s", replace=False)
    async with service(received) as client:
        return [await upload(client, path, form) for path in paths]


async def test_a_name_that_is_not_utf8_is_sent_and_shown(tmp_path: Path) -> None:
    """Names on disk are bytes: what cannot be read of one becomes a mark, and the file goes in."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.pdf"))
    path.write_bytes(b"%PDF-")  # noqa: ASYNC240 - a moment
    received: list[bytes] = []

    [outcome] = await ends([path], received)

    assert outcome.status is Status.TAKEN
    assert "caf\ufffd.pdf".encode() in received[0]
    assert outcome.line().encode().endswith("caf\ufffd.pdf: 1,200 pages, 3,100 passages".encode())
    assert json.dumps(outcome.as_json(), ensure_ascii=False).encode()


async def test_a_file_that_cannot_be_read_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is gone, a folder, or fails half-way: it has failed, the rest goes in."""

    class Torn(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

    opened = Path.open
    good, torn = tmp_path / "good.pdf", tmp_path / "torn.pdf"
    good.write_bytes(b"%PDF-")
    monkeypatch.setattr(Path, "open", lambda path, mode: Torn() if path == torn else opened(path, mode))

    found = await ends([tmp_path / "gone.pdf", tmp_path, torn, good], [])

    assert [outcome.status for outcome in found] == [Status.FAILED] * 3 + [Status.TAKEN]
    assert found[2].line().endswith("torn.pdf: The file cannot be read: Input/output error")
