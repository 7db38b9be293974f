"""What becomes of files on their way up: told as people and as machines read it."""

import errno
import io
import json
import os
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest

from app.cli import upload
from app.cli.session import Answered
from app.cli.upload import Form, Outcome, Status, settled, upload_all

READY = {"id": "d", "state": "ready", "pages": 1200, "chunks": 3100}


def test_a_taken_file_shows_its_pages() -> None:
    """Pages and passages, with thousands marked."""
    line = Outcome(Path("a.pdf"), Status.TAKEN, READY).line()

    assert line == "taken          a.pdf: 1,200 pages, 3,100 passages"


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        pytest.param({"title": "T", "detail": "d"}, "T: d", id="title and detail"),
        pytest.param({"title": "T", "detail": "T"}, "T", id="detail repeats the title"),
        pytest.param({"title": "T"}, "T", id="no detail"),
    ],
)
def test_a_refused_file_says_why_once(problem: dict[str, str], why: str) -> None:
    """The problem's title and detail, not the same sentence twice."""
    assert Outcome(Path("a.pdf"), Status.REFUSED, problem=problem).line().endswith(f"a.pdf: {why}")


def test_machines_find_the_same_keys_in_every_line() -> None:
    """What does not apply is null, not left out."""
    told = Outcome(Path("a.pdf"), Status.KNOWN, READY).as_json()

    assert told == {"path": "a.pdf", "status": "known", "document": READY, "problem": None}


@pytest.mark.parametrize(
    ("form", "where"),
    [
        pytest.param(Form(None, replace=False), {"scope": "global", "replace": "false"}, id="global"),
        pytest.param(Form("s", replace=True), {"session_id": "s", "replace": "true"}, id="session"),
    ],
)
def test_a_form_names_one_place(form: Form, where: dict[str, str]) -> None:
    """Either the scope or the session, as the API wants it."""
    assert form.fields() == {**where, "wait": "10"}


@pytest.mark.parametrize(("status", "is_in"), list(zip(Status, [True, True, False, False], strict=True)))
def test_only_taken_and_known_files_are_in(status: Status, *, is_in: bool) -> None:
    """The exit code depends on it."""
    assert status.is_in is is_in


async def test_a_file_that_is_never_read_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service without workers keeps nobody waiting for ever."""
    monkeypatch.setattr(upload, "PATIENCE_SECONDS", -1.0)

    async with httpx.AsyncClient() as client:
        with pytest.raises(Answered, match="Still being read"):
            await settled(client, {"id": "d", "state": "processing"})


def service(received: list[bytes]) -> httpx.AsyncClient:
    """A client of a service that takes everything and keeps what it was sent."""

    async def answer(request: httpx.Request) -> httpx.Response:
        received.append(await request.aread())
        return httpx.Response(201, json=READY)

    return httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://ibid")


async def ends(paths: list[Path], received: list[bytes]) -> list[Outcome]:
    """What became of the files, in the order of the paths."""
    form, begun = Form("s", replace=False), list[str]()
    async with (
        service(received) as client,
        aclosing(upload_all(client, paths, form, begun.append)) as outcomes,
    ):
        found = [outcome async for outcome in outcomes]
    "".join(begun).encode()  # every name can be shown
    return sorted(found, key=lambda outcome: paths.index(outcome.path))


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
