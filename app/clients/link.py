"""One child process with the embedded Chroma, from its start to its end, and the socket to it.

A thread of its own starts it, reads what it answers, and outlives it: the kernel ends a child with the
thread that started it. What it says on stdout and stderr goes to the log. Raises `Lost`. Seconds.
"""

import itertools
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from contextlib import suppress
from pathlib import Path
from typing import IO

import structlog

from app.clients.collection import Lost
from app.clients.frame import Matrix, Message, receive, send

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-P", "-s", "-m", "app.clients.child")
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "LANG": "C.UTF-8", "HOME": "/"}
"""All of the child's: no setting, no key."""
SEND_SECONDS = 30
"""What it may take to read a frame of ours."""
CLOSE_SECONDS = 5.0
"""What it may take to end in order."""
SAID_LINES = 100
SAID_LETTERS = 300
"""What is logged of what one child says."""
CRASHES = frozenset(
    -number for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
)
"""Exit codes of a process that stumbled over its data; SIGKILL is somebody else's doing."""

log = structlog.get_logger(__name__)

Answer = Future[tuple[Message, Matrix | None]]


class Link:
    """A child on a folder."""

    def __init__(self, folder: Path, *, aside: bool, look: bool = False) -> None:
        self._wire, self._theirs = socket.socketpair()
        # A child that is stopped must not hold up whoever sends to it (socket(7)).
        self._wire.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", SEND_SECONDS, 0))
        place = (str(os.getpid()), str(self._theirs.fileno()), str(folder.absolute()))
        self._command = [*COMMAND, *place, *["aside"] * aside, *["look"] * look]
        self._sending = threading.Lock()
        self._numbers = itertools.count(1)
        self._first: Answer = Future()
        self._waiting: dict[int, Answer] = {0: self._first}
        self._process: subprocess.Popen[bytes] | None = None
        self._doomed = False
        self.anew = False
        """Whether it began an empty folder, or has one that was not filled since."""
        self.code: int | None = None
        """How it ended: an exit status, or less than 0 a signal."""
        self.refusal = "its process ended"
        self._thread = threading.Thread(target=self._live, name="chroma-child", daemon=True)
        self._thread.start()

    @property
    def ended(self) -> bool:
        """Whether it is no more."""
        return self.code is not None

    def wait(self, seconds: float) -> None:
        """Until it has said its first word, or ended. One that does neither is killed."""
        try:
            first = self._first.result(seconds)[0]
        except (Late, Lost):
            self.kill()
            self._thread.join(CLOSE_SECONDS)
            self.code = -signal.SIGKILL if self.code is None else self.code
            return
        self.anew = bool(first.get("anew"))
        if "error" in first:
            self.refusal = first["error"]
            self._thread.join(CLOSE_SECONDS)

    def ask(self, message: Message, matrix: Matrix | None, seconds: float) -> tuple[Message, Matrix | None]:
        """One call: its answer's frame."""
        number, answer = next(self._numbers), Answer()
        self._waiting[number] = answer
        try:
            if self.ended:
                raise Lost(self.refusal, down=None)
            with self._sending:
                send(self._wire, {"id": number, **message}, matrix)
            reply, found = answer.result(seconds)
        except (OSError, Late) as error:
            self.kill()
            if self.ended or isinstance(error, ConnectionError):  # it died: that says nothing of the next
                raise Lost(self.refusal, down=None) from error
            raise Lost("its process does not answer") from error
        finally:
            self._waiting.pop(number, None)
        if "error" in reply:
            raise Lost(reply["error"], down=reply["down"])
        return reply, found

    def _live(self) -> None:
        """The thread. Whatever ends it, nobody reads any more: no child lives on unheard, nobody waits."""
        try:
            self._serve()
        except OSError as error:  # it could not be started
            self.refusal = str(error)
        finally:
            if self._process is not None and self.code is None:
                self._process.kill()
                self.code = self._process.wait()
            self._over(1 if self.code is None else self.code)

    def _serve(self) -> None:
        """Start it, hand out its answers, see it end."""
        process = self._process = self._spawned()
        if self._doomed:
            process.kill()
        said = threading.Thread(
            target=overhear, args=(process.stdout, "chroma_says"), name="chroma-says", daemon=True
        )
        said.start()
        self._read()
        # Before its last words are awaited: who asks meanwhile must be told that there is no child.
        self.code = ending(process)
        said.join(CLOSE_SECONDS)

    def _read(self) -> None:
        """Hand out its answers until it closes the socket. What is no answer of ours raises."""
        with suppress(EOFError, OSError):
            while True:
                reply, matrix = receive(self._wire)
                answer = self._waiting.get(reply["id"])
                if answer and not answer.done():
                    answer.set_result((reply, matrix))

    def _spawned(self) -> "subprocess.Popen[bytes]":
        """The process, in a session of its own: Ctrl-C is for us; we end it when we are done with it."""
        with self._theirs:
            return begun(self._command, self._theirs, session=True)

    def _over(self, code: int) -> None:
        """Nobody waits any longer. That it ended says nothing of the next one."""
        self.code = code
        self._wire.close()
        for answer in list(self._waiting.values()):
            if not answer.done():
                answer.set_exception(Lost(f"{self.refusal} with {code}", down=None))

    def kill(self) -> None:
        """At once."""
        self._doomed = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """In order, if it is ready and ends in time."""
        if self._first.done():
            with suppress(OSError):
                self._wire.shutdown(socket.SHUT_WR)
            self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            self.kill()
            self._thread.join(CLOSE_SECONDS)


def begun(command: Sequence[str], wire: socket.socket, *, session: bool) -> "subprocess.Popen[bytes]":
    """A child of ours with one end of a socket pair, in a session of its own or in ours, but in its own
    group: Ctrl-C is for us. Raises `OSError`."""
    return subprocess.Popen(  # noqa: S603 - our own program
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=ENVIRONMENT,
        cwd="/",
        pass_fds=(wire.fileno(),),
        start_new_session=session,
        process_group=None if session else 0,
    )


def ending(process: "subprocess.Popen[bytes]") -> int:
    """Its exit code. It has closed the socket, or is told to."""
    try:
        return process.wait(CLOSE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def overhear(said: IO[bytes], event: str) -> None:
    """Log what a child says; it never has a text to tell, but a native crash is talkative."""
    with said:
        for number, line in enumerate(said):
            if number < SAID_LINES:
                log.warning(event, text=line.decode("utf-8", "replace").strip()[:SAID_LETTERS])
