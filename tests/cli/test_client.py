"""Where the requests of commands go and what the answers become; `ibid ask`."""

import json
import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import given
from hypothesis import strategies as st

from app.cli import client as module
from app.cli.client import client, events, holder
from app.db.folder import hold, read_lock
from app.errors import Unavailable
from tests.cli.conftest import PROGRAM, Ibid, Running, lines
from tests.fakes.model import Fault, ModelServer, model_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import furnish


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
    found = ibid("search", "Who repaired the tower clock of Ribe?")
    key = ibid("keys", "create", "--tenant", "acme")
    listed = ibid("keys", "list", "--json")

    assert (ingested.code, answered.code, key.code) == (0, 0, 0)
    assert "[tower.pdf#1]" in answered.out
    assert re.match(r"\[tower.pdf#1\] .+, page 1\n  The tower clock of Ribe", found.out)
    assert json.loads(listed.out)["tenant"] == "acme"
    assert read_lock(ibid.data) is None


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


def test_ask_streams_an_answer_and_names_its_sources(held: Ibid, ingested: object) -> None:
    """The passage is cited in the text, and listed with its page below."""
    answered = held("ask", "Why was the harbour of Esbjerg dredged?")

    assert answered.code == 0
    assert "larger ferries" in answered.out
    assert "[harbour.pdf#1]" in answered.out
    assert answered.out.splitlines()[-1] == "  [harbour.pdf#1] On harbours, pages 1–2"


def test_ask_gives_machines_the_whole_reply(held: Ibid, ingested: object) -> None:
    """One JSON object with the facts of the API."""
    [reply] = lines(held("ask", "Who planted the oldest apple tree?", "--json").out)

    assert reply["rag"]["used"] is True
    assert reply["cited"]
    assert "cook" in reply["answer"]


def test_ask_says_when_nothing_matches(held: Ibid, ingested: object) -> None:
    """An answer without sources is marked as one."""
    answered = held("ask", "How do submarines navigate beneath arctic ice sheets?")

    assert answered.code == 0
    assert "Answered without sources" in answered.err


def test_a_problem_of_the_service_is_told_in_words(held: Ibid, service: Running) -> None:
    """One sentence, no traceback; exit code 2, since it was typed."""
    refused = held("ask", 40_000 * "x")

    assert refused.code == 2
    assert refused.err.startswith("ibid: Invalid request field")
    assert "Traceback" not in refused.err


def test_a_reader_that_leaves_early_is_no_error(held: Ibid, ingested: object) -> None:
    """`ibid ask … | head -c 1` ends without a traceback."""
    command = f"{PROGRAM} ask 'Why was the harbour of Esbjerg dredged?' | head -c 1"

    piped = subprocess.run(
        ["/bin/sh", "-c", command], env=held.environment(), capture_output=True, timeout=60, check=False
    )

    assert len(piped.stdout) == 1
    assert b"Traceback" not in piped.stderr


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """A chat model on a loop of its own: commands block this thread."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(model_server()) as server:
        yield server


@pytest.fixture(scope="module")
def asked(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ibid]:
    """The command beside a service that has the model."""
    begun = Ibid(tmp_path_factory.mktemp("asked"))
    furnish(begun.data)
    running = begun.start(CHAT_BASE_URL=server.url)
    yield begun
    running.stop()


@pytest.fixture
def model(server: ModelServer) -> ModelServer:
    """As it is at first."""
    server.fault, server.reply = Fault(), "A reply."
    server.requests.clear()
    return server


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param(
            Fault(status=401), "ibid: The model's server refused the request", id="before the answer"
        ),
        pytest.param(Fault(error_after=1), "ibid: The chat model failed", id="in the middle of it"),
    ],
)
def test_a_model_that_fails_is_told(asked: Ibid, model: ModelServer, fault: Fault, said: str) -> None:
    """Whether as a status or as an event: exit code 1 and the problem's words."""
    model.fault = fault

    failed = asked("ask", "What is the matter with the model?")

    assert failed.code == 1
    assert failed.err.startswith(said)


def test_an_answer_commands_no_terminal(asked: Ibid, model: ModelServer) -> None:
    """Its words are shown, without what would colour them, name the window or fill the clipboard."""
    model.reply = "It is \x1b[31mred\x1b[0m,\x1b]0;owned\x07 \x1b]52;c;cm0gLXJm\x07says \x9b2Jthe\x08 model."

    answered = asked("ask", "What is red?")

    assert answered.out.startswith("It is red, says the model.")
    assert not [sign for sign in answered.out + answered.err if not (sign.isprintable() or sign == "\n")]
