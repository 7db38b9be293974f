"""One child process: how it begins, is spoken to, and ends, in every way in which one may."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from app.clients.child import NICE
from app.clients.collection import Lost
from app.clients.frame import BROKEN
from app.clients.link import ENVIRONMENT, Link
from tests.fakes.logged import captured
from tests.fakes.processes import is_alive, wait_for

COUNT = {"do": "count", "of": "ibid-a", "with": {}}
BEAT = {"do": "beat"}


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Link]:
    """One for the module, which no test may harm."""
    made = Link(tmp_path_factory.mktemp("link") / "chroma", aside=False)
    made.wait(30)
    yield made
    made.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Link]:
    """A test's own."""
    made = Link(tmp_path / "chroma", aside=False)
    made.wait(30)
    yield made
    made.close()


def pid(link: Link) -> int:
    """The child's."""
    assert link._process
    return link._process.pid


def test_it_begins_with_an_empty_folder(link: Link) -> None:
    """And says so."""
    assert (link.anew, link.ended) == (True, False)


def test_many_calls_are_under_way_at_once(link: Link) -> None:
    """Each has its own answer, whichever comes first."""

    def write(n: int) -> int:
        arguments = {"ids": ["x"], "metadatas": [{"n": n}]}
        of = f"ibid-many-{n}"
        link.ask({"do": "upsert", "of": of, "with": arguments}, np.full((1, n + 1), 1, np.float32), 30)
        found = link.ask({"do": "get", "of": of, "with": {"ids": ["x"], "include": ["embeddings"]}}, None, 30)
        assert found[1] is not None
        return int(found[1].shape[1])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(write, range(8))) == list(range(1, 9))


def test_what_the_child_refuses_is_lost_with_its_words(link: Link) -> None:
    """And the child lives on."""
    with pytest.raises(Lost, match="Error") as caught:
        link.ask({"do": "get", "of": "ibid-a", "with": {"where": {"$no": 1}}}, None, 30)
    assert caught.value.down is False
    assert link.ask(COUNT, None, 30)[0]["count"] == 0


def test_signals_of_the_terminal_and_of_a_service_manager_do_not_end_it(link: Link) -> None:
    """The service closes it in order; it is in a session of its own besides."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(pid(link), number)
    assert link.ask(COUNT, None, 30)[0]["count"] == 0
    assert os.getsid(pid(link)) == pid(link)


def test_it_steps_back_behind_the_service(link: Link) -> None:
    """Its niceness is above ours."""
    assert os.getpriority(os.PRIO_PROCESS, pid(link)) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICE)


def test_it_is_given_no_setting_and_no_key(link: Link) -> None:
    """Its environment is what we say, the vendor's own additions apart."""
    shown = Path(f"/proc/{pid(link)}/environ").read_bytes().split(b"\0")
    assert {item.split(b"=")[0].decode() for item in shown if item} == set(ENVIRONMENT)


def test_closing_ends_it_in_order(other: Link) -> None:
    """Exit code 0; calls after that are lost."""
    other.close()
    assert other.code == 0
    with pytest.raises(Lost):
        other.ask(BEAT, None, 30)


def test_killed_it_loses_the_calls_under_way(other: Link) -> None:
    """At once, and what is lost says nothing of the next child."""
    os.kill(pid(other), signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (pid(other), signal.SIGKILL)).start()
    with pytest.raises(Lost) as caught:
        other.ask(BEAT, None, 30)
    assert caught.value.down is None
    wait_for(lambda: other.ended)
    assert other.code == -signal.SIGKILL


def test_one_that_hangs_is_killed(other: Link) -> None:
    """After the time that a call has, so that the next finds another."""
    os.kill(pid(other), signal.SIGSTOP)
    with pytest.raises(Lost, match="does not answer") as caught:
        other.ask(BEAT, None, 0.2)
    assert caught.value.down is True
    wait_for(lambda: other.ended)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("error", [ValueError, KeyError, MemoryError], ids=["no JSON", "no id", "no memory"])
def test_one_that_says_what_cannot_be_read_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    """Nobody reads from it any more: the call under way is lost at once, and there is no child."""
    link = Link(tmp_path / "chroma", aside=False)
    link.wait(30)

    def unreadable(wire: socket.socket) -> None:
        raise error

    monkeypatch.setattr("app.clients.link.receive", unreadable)
    link.ask(BEAT, None, 30)  # the frame that was awaited already
    with suppress(Lost):
        link.ask(BEAT, None, 5)
    wait_for(lambda: link.ended)
    assert link.code == -signal.SIGKILL
    assert not is_alive(pid(link))
    link._thread.join(5)
    with pytest.raises(Lost) as caught:
        link.ask(BEAT, None, 5)
    assert caught.value.down is None


def test_its_last_words_hold_up_nobody(other: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    """While they are waited for, calls are told that there is no child: no failure of Chroma's."""
    os.kill(pid(other), signal.SIGKILL)
    told: list[bool | None] = []
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        with pytest.raises(Lost) as caught:
            other.ask(BEAT, None, 5)
        told.append(caught.value.down)
    assert set(told) == {None}


def test_an_end_is_known_before_the_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A grandchild that holds its stdout open does not keep the next child from being started."""
    hold = threading.Event()
    monkeypatch.setattr("app.clients.link.overhear", lambda said, _event: (hold.wait(20), said.close()))
    link = Link(tmp_path / "chroma", aside=False)
    link.wait(30)
    os.kill(pid(link), signal.SIGKILL)
    wait_for(lambda: link.ended, 2)
    assert link._thread.is_alive()
    hold.set()
    link.close()


def test_one_that_reads_nothing_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than the socket holds is not waited for longer than a moment; others are not held up for ever."""
    monkeypatch.setattr("app.clients.link.SEND_SECONDS", 1)
    link = Link(tmp_path / "chroma", aside=False)
    link.wait(30)
    os.kill(pid(link), signal.SIGSTOP)
    with pytest.raises(Lost, match="does not answer"):
        link.ask(BEAT, np.zeros((2_000, 1_000), np.float32), 60)
    wait_for(lambda: link.ended)


def test_one_that_hangs_does_not_hold_up_the_end(other: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing waits so long and no longer."""
    monkeypatch.setattr("app.clients.link.CLOSE_SECONDS", 0.3)
    os.kill(pid(other), signal.SIGSTOP)
    other.close()
    wait_for(lambda: not is_alive(pid(other)))


def test_closed_while_it_begins_it_ends(tmp_path: Path) -> None:
    """Nobody waits for its first word."""
    link = Link(tmp_path / "chroma", aside=False)
    link.close()
    wait_for(lambda: link.ended)
    assert not is_alive(pid(link))


def test_a_folder_that_cannot_be_used_is_told_by_its_end(tmp_path: Path) -> None:
    """And the reason is logged."""
    (tmp_path / "chroma.sqlite3").write_bytes(b"not a database" * 99)
    with captured() as lines:
        link = Link(tmp_path, aside=False)
        link.wait(30)
    assert link.code == BROKEN
    assert "not a database" in lines.of("chroma_says")[0]["text"]


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    """Even of `kill -9`: the kernel sees to it."""
    code = (
        "import sys, time, pathlib; from app.clients.link import Link\n"
        "link = Link(pathlib.Path(sys.argv[1]), aside=False); link.wait(30)\n"
        "print(link._process.pid, flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "chroma")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
    wait_for(lambda: not is_alive(child))
