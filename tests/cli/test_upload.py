"""What becomes of files on their way up: told as people and as machines read it."""

from pathlib import Path

import httpx
import pytest

from app.cli import upload
from app.cli.session import Answered
from app.cli.upload import Form, Outcome, Status, settled

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
