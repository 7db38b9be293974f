"""Where the requests of commands go, and what the answers become."""

import json
import os
from collections.abc import AsyncIterator, Iterable
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli import client as module
from app.cli.client import LOCAL, Answered, client, events, holder, own_service, taken
from app.cli.terminal import settings
from app.db.folder import hold, read_lock
from app.errors import Unavailable
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
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.0)

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


async def test_it_answers_on_this_machine_and_holds_the_folder_meanwhile(begun: Ibid) -> None:
    """The same HTTP as a service's, with its local token; gone behind the block."""
    config, _ = settings(begun.data)
    async with own_service(config) as opened:
        assert opened.base_url.host == LOCAL
        assert (await opened.get("/readyz")).is_success
        assert read_lock(begun.data) is not None
    assert read_lock(begun.data) is None


TEXTS = st.lists(st.text(min_size=1), max_size=5)


async def chunked(stream: bytes, cuts: Iterable[int]) -> AsyncIterator[bytes]:
    """The stream, cut where the network happens to cut it."""
    edges = [0, *sorted({cut % (len(stream) + 1) for cut in cuts}), len(stream)]
    for start, end in pairwise(edges):
        yield stream[start:end]


async def read(stream: bytes, cuts: Iterable[int] = ()) -> list[tuple[str, object]]:
    """All events of a stream."""
    return [event async for event in events(chunked(stream, cuts))]


@given(
    texts=TEXTS, cuts=st.lists(st.integers(min_value=0), max_size=6), ending=st.sampled_from(["\n", "\r\n"])
)
async def test_events_do_not_depend_on_where_the_bytes_are_cut(
    texts: list[str], cuts: list[int], ending: str
) -> None:
    """Any text, U+2028 and half characters included, arrives whole however the stream is split."""
    blocks = [
        ending.join(["event: token", f"data: {json.dumps({'text': text}, ensure_ascii=False)}", "", ""])
        for text in texts
    ]
    stream = "".join(blocks).encode()

    found = await read(stream, cuts)

    assert found == [("token", {"text": text}) for text in texts]
