"""Which service a command speaks to, and what its answers become."""

import json
import os
from pathlib import Path

import httpx
import pytest

from app import settings as settings_
from app.cli import session
from app.cli.session import Answered, client, holder, taken
from app.db.embedded import Lock, hold, read_lock
from app.errors import Unavailable
from app.settings import Settings
from tests.cli.conftest import Ibid
from tests.fakes.pdfs import text_pdf


def test_a_problem_becomes_an_error_with_its_words() -> None:
    """Title and detail are what the reader sees; the document stays whole for machines."""
    body = {"title": "Not a PDF", "detail": "It begins with PK.", "status": 415}

    with pytest.raises(Answered, match=r"^Not a PDF: It begins with PK\.$") as raised:
        taken(httpx.Response(415, json=body))

    assert raised.value.problem == body
    assert raised.value.code == 415


def test_an_answer_that_is_no_json_is_told_by_its_status() -> None:
    """As when something else listens at the address."""
    with pytest.raises(Answered, match="The service answered 502"):
        taken(httpx.Response(502, text="<html>"))


async def test_nobody_holds_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """A first command opens the stores itself."""
    assert await holder(tmp_path / "none") is None


async def test_a_service_that_came_meanwhile_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder was free when it was looked at, and to import a service takes a second."""
    looked = list[Path]()

    async def free_at_first(data_dir: Path) -> Lock | None:
        looked.append(data_dir)
        return await holder(data_dir) if len(looked) > 1 else None

    monkeypatch.setattr(session, "holder", free_at_first)
    settings = Settings(_env_file=None, ibid=settings_.Ibid(data_dir=tmp_path))
    async with hold(tmp_path) as held:
        held.publish("http://127.0.0.1:1")
        async with session.connect(settings) as opened:
            assert str(opened.base_url) == "http://127.0.0.1:1"


async def test_a_service_that_says_where_is_found(tmp_path: Path) -> None:
    """Its address and token come from the lock file."""
    async with hold(tmp_path) as held:
        held.publish("http://127.0.0.1:1")

        lock = await holder(tmp_path)

    assert lock is not None
    assert (lock.pid, lock.url, lock.token) == (os.getpid(), "http://127.0.0.1:1", held.token)


async def test_a_folder_held_by_a_command_is_told_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After waiting for an address that does not come, the message says what to do."""
    monkeypatch.setattr(session, "PATIENCE_SECONDS", 0.0)

    async with hold(tmp_path):
        with pytest.raises(Unavailable, match=f"in use by process {os.getpid()}"):
            await holder(tmp_path)


async def test_a_service_that_does_not_answer_is_told_with_its_address() -> None:
    """No traceback of the HTTP client."""
    with pytest.raises(Unavailable, match=r"the service at http://127\.0\.0\.1:9 does not answer"):
        async with client("http://127.0.0.1:9", "t") as opened:
            await opened.get("/healthz")


def test_without_a_service_commands_open_the_stores_themselves(
    ibid: Ibid, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one command writes the next one finds; the folder is free again in between."""
    monkeypatch.setenv("IBID_WORKERS", "0")  # there is nobody else to leave the work to
    path = ibid.place / "tower.pdf"
    path.write_bytes(text_pdf("The tower clock of Ribe was repaired by a blacksmith named Sorensen in 1911."))

    ingested = ibid("ingest", path)
    answered = ibid("ask", "Who repaired the tower clock of Ribe?")
    key = ibid("keys", "create", "--tenant", "acme")
    listed = ibid("keys", "list", "--json")

    assert (ingested.code, answered.code, key.code) == (0, 0, 0)
    assert "[tower.pdf#1]" in answered.out
    assert json.loads(listed.out)["tenant"] == "acme"
    assert read_lock(ibid.data) is None
