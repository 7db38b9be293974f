"""`ibid ask` with its options, `chat`, `why` and `open`: through a running service, and without one."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import get_args

import pytest
from anyio.from_thread import start_blocking_portal

from app.api.schemas.chat import SourceName
from app.cli.rendering import finished
from app.types import SOURCES
from tests.cli.conftest import PROGRAM, Ibid, Running, lines
from tests.fakes.model import Fault, ModelServer, model_server
from tests.fakes.pdfs import text_pdf

WHY_DREDGED = "Why was the harbour of Esbjerg dredged?"
LINK = re.compile(r"\x1b\]8;[^;]*;(http[^\x1b]*)\x1b\\")


def piped(ibid: Ibid, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PROGRAM), *arguments],
        input=text,
        env=ibid.environment(),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


class Screen:
    """A command on a terminal."""

    def __init__(self, ibid: Ibid, *arguments: str, **settings: str) -> None:
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            # A runner in the background ignores it, and a child would inherit that.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execve(  # noqa: S606 - our own program
                PROGRAM, [str(PROGRAM), *arguments], ibid.environment(TERM="xterm-256color", **settings)
            )
        self.shown = ""
        self._seen = 0

    def until(self, text: str, seconds: float = 30) -> None:
        """Wait until it shows `text` after what was waited for before."""
        end = time.monotonic() + seconds
        while (at := self.shown.find(text, self._seen)) < 0:
            assert time.monotonic() < end, self.shown
            self._read()
        self._seen = at + len(text)

    def _read(self) -> bool:
        if not select.select([self._fd], [], [], 30)[0]:
            raise AssertionError(self.shown)
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        self.shown += data.decode(errors="replace")
        return bool(data)

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def ended(self) -> int:
        """Its exit code, after the rest of its output."""
        while self._read():
            pass
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self._fd)
        return code


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(model_server()) as server:
        yield server


@pytest.fixture(scope="module")
def asked(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ibid]:
    """A folder with a document, served with a model."""
    ibid = Ibid(tmp_path_factory.mktemp("asked"))
    (ibid.place / "tower.pdf").write_bytes(text_pdf("The tower clock of Ribe was repaired in 1911."))
    running = ibid.start(CHAT_BASE_URL=model.url)
    assert ibid("ingest", ibid.place / "tower.pdf").code == 0
    yield ibid
    running.stop()


def test_the_sources_are_the_services() -> None:
    assert get_args(SourceName) == SOURCES


def test_a_question_comes_from_stdin(held: Ibid, ingested: object) -> None:
    """Alone, or as a part of the words."""
    for arguments in (("ask",), ("ask", "-")):
        assert "larger ferries" in piped(held, f"{WHY_DREDGED}\n", *arguments).stdout
    joined = piped(held, "Why was it dredged?", "ask", "About the harbour of Esbjerg:", "-", "--json")
    assert joined.returncode == 0
    found = held("why", json.loads(joined.stdout)["answer_id"], "--json")
    assert json.loads(found.out)["question"] == "About the harbour of Esbjerg:\n\nWhy was it dredged?"


def test_nothing_to_ask_is_wrong_usage(held: Ibid, service: Running) -> None:
    assert piped(held, " \n", "ask").returncode == 2
    assert held("ask", "Why?", "--source", "rumours").code == 2


def test_options_reach_the_service(asked: Ibid, model: ModelServer) -> None:
    """User with their memories, project and model."""
    model.reply = "Indeed."
    assert asked("memories", "add", "My dentist is Dr. Okafor.", "--user", "ann").code == 0
    said = asked("ask", "Who is my dentist?", "-u", "ann", "-m", "other-model", "--json")
    reply = json.loads(said.out)
    assert reply["model"] == "other-model"
    assert [each["source"] for each in reply["citations"]] == ["memories"]
    only = asked("ask", "Who is my dentist?", "-u", "ann", "--source", "documents,corpus", "--json")
    assert json.loads(only.out)["citations"] == []
    project = asked("ask", "What are the rules of this project?", "-p", "THN", "--json")
    assert project.code == 0


def test_a_terminal_gets_markdown_with_links_to_the_sources(asked: Ibid, model: ModelServer) -> None:
    """To the page of the document, and to nothing that the model wrote."""
    model.reply = "## The clock\n\nIt was **repaired** [tower.pdf#1]. [Win](http://evil.example) now."

    screen = Screen(asked, "ask", "When was the tower clock of Ribe repaired?")
    code = screen.ended()

    assert code == 0
    assert "**" not in screen.shown
    assert "\x1b[1m" in screen.shown
    found = set(LINK.findall(screen.shown))
    assert len(found) == 1
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/api/documents/[0-9a-f-]+/file#page=1", found.pop())
    assert "Win (http://evil.example) now." in screen.shown


def test_without_colours_and_in_a_pipe_there_are_none(asked: Ibid, model: ModelServer) -> None:
    model.reply = "It was **repaired** [tower.pdf#1]."
    screen = Screen(asked, "ask", "When was the tower clock of Ribe repaired?", NO_COLOR="1")
    assert screen.ended() == 0
    assert not re.search(r"\x1b\[[0-9;]*3\dm", screen.shown)
    plain = piped(asked, "", "ask", "When was the tower clock of Ribe repaired?")
    assert "\x1b" not in plain.stdout
    assert plain.stdout.startswith("It was **repaired** [tower.pdf#1].\n")


def test_chat_remembers_and_stops(asked: Ibid, model: ModelServer) -> None:
    """Ctrl-C stops the answer, not the chat, and the model with it; Ctrl-D leaves."""
    model.reply, model.fault = "word " * 400, Fault(pace=0.05)
    screen = Screen(asked, "chat", "--session", "talk")
    screen.until("> ")
    screen.type("Tell me about the tower clock of Ribe.\n")
    screen.until("word word")
    screen.type("\x03")
    screen.until("Stopped.")
    screen.until("> ")
    model.reply, model.fault = "It was 1911 [tower.pdf#1].", Fault()
    screen.type("When was it repaired?\n")
    screen.until("1911")
    screen.until("> ")
    screen.type("\x04")

    assert screen.ended() == 0
    turns = lines(asked("sessions", "show", "talk", "--json").out)
    # The next question may arrive before the service has noticed that the first client left.
    assert sorted(turn["role"] for turn in turns) == ["assistant", "assistant", "user", "user"]
    assert "Tell me about" in str(model.asked("/chat/completions")[-1])


def test_chat_reads_lines_from_a_pipe(asked: Ibid, model: ModelServer) -> None:
    model.reply = "It was 1911 [tower.pdf#1]."
    said = piped(asked, "When was the tower clock repaired?\n/why\n", "chat")
    assert said.returncode == 0
    assert said.stdout.count("It was 1911") == 1
    assert "* [tower.pdf#1]" in said.stdout


def test_why_says_what_was_read_and_what_was_not(held: Ibid, ingested: object) -> None:
    """Of the last answer; in words."""
    held("ask", WHY_DREDGED)

    told = held("why")

    assert told.code == 0
    assert f"Question  {WHY_DREDGED}" in told.out
    assert "Read by the model" in told.out
    assert "* [harbour.pdf#1] pages 1–2 · similarity" in told.out
    assert held("why", "no-such-answer").code == 1


def test_open_prints_the_address_of_a_source(held: Ibid, ingested: object, service: Running) -> None:
    """Of a label, of an answer, of the last one."""
    reply = json.loads(held("ask", WHY_DREDGED, "--json").out)
    address = re.compile(re.escape(service.url) + r"/api/documents/[0-9a-f-]+/file#page=1\n")

    for target in ((), ("harbour.pdf#1",), ("[harbour.pdf#1]",), (reply["answer_id"],)):
        assert address.fullmatch(held("open", *target, "--print").out)
    missing = held("open", "tower.pdf#9", "--print")
    assert (missing.code, missing.err) == (
        1,
        "ibid: no answer cites tower.pdf#9, and no document has that passage\n",
    )


def test_without_a_service_they_open_the_stores_themselves(begun: Ibid) -> None:
    """All of them; only a browser needs a service."""
    (begun.place / "tower.pdf").write_bytes(text_pdf("The tower clock of Ribe was repaired in 1911."))
    begun("ingest", begun.place / "tower.pdf")
    begun("ask", "When was the tower clock of Ribe repaired?")

    assert "* [tower.pdf#1]" in begun("why").out
    printed = begun("open", "--print")
    assert printed.out.endswith("/file#page=1\n")
    assert "No service is running" in printed.err
    refused = begun("open")
    assert refused.code == 1
    assert "ibid serve" in refused.err
    assert "1911" in piped(begun, "When was the tower clock of Ribe repaired?\n", "chat").stdout
    assert begun("docs", "list").out.startswith("tower.pdf\tall sessions\t1\t1\tready\t")
    assert "chat-" in begun("sessions", "list").out
    assert begun("docs", "delete", "tower.pdf", "--yes").out == "Deleted tower.pdf.\n"


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("one\n\ntwo", "one\n\n"),
        ("one\ntwo", ""),
        ("one\n\n", ""),
        ("```\na\n\nb", ""),
        ("- a\n\n  more", ""),
        ("```\na\n\nb\n```\n\nend", "```\na\n\nb\n```\n\n"),
    ],
)
def test_only_finished_paragraphs_are_printed(text: str, done: str) -> None:
    assert text[: finished(text)] == done
