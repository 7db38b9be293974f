"""The child's side of a child process (`process.py` is the parent's): frames, its life, its limits.

A child is run as `-m MODULE PARENT SOCKET [ARGUMENT...]`, with the parent's process id and an inherited
socket. It says READY once, then answers every call once, with a result or a fault, after any number of items.
A frame is a kind, the number of its call and two lengths (network order), then a JSON object and raw bytes.
Imports the standard library only: its start is waited for.
"""

import ctypes
import json
import math
import os
import queue
import resource
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, TypeAlias

HEAD = struct.Struct("!BIII")
"""Kind, number, bytes of JSON, bytes of data."""
REFUSED, INTERNAL = 3, 5
"""Exit codes: it cannot start and has said why; an error that nobody foresaw, in one of its threads."""
JOIN_SECONDS = 4.0
"""How long the end waits for calls under way: less than the parent does before it kills."""
GRACE_SECONDS = 5.0
"""After the parent's deadline, at which a confined child ends itself should nobody have ended it."""
FILES = 64
"""Open files of a confined child."""
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
UNPRIVILEGED = 65_533
"""User and group of root's confined child; no account. Not `nobody`, who is the embedded PostgreSQL."""

Payload: TypeAlias = dict[str, Any]


class Kind(IntEnum):
    """Of a frame. CALL and CANCEL go to the child, the others to the parent."""

    READY = 0
    """Number 0; it may be called."""
    CALL = 1
    """Its name is the payload's `call`."""
    CANCEL = 2
    """Nobody waits for that call any more. It is answered all the same."""
    ITEM = 3
    """A part of a call's answer."""
    RESULT = 4
    FAULT = 5
    """Why there is no result; with the number 0: why it cannot start (`error`)."""
    BEAT = 6
    """Still at work."""


def frame(kind: Kind, number: int, payload: Mapping[str, Any] | None = None, data: bytes = b"") -> bytes:
    """As it is sent."""
    text = json.dumps(payload).encode() if payload else b""
    return HEAD.pack(kind, number, len(text), len(data)) + text + data


def receive(source: socket.socket) -> tuple[Kind, int, Payload, bytearray]:
    """The next frame. Blocks. Raises `EOFError` at the end of the other side, and `OSError`."""
    kind, number, text, length = HEAD.unpack(exactly(source, HEAD.size))
    payload = json.loads(exactly(source, text)) if text else {}
    return Kind(kind), number, payload, exactly(source, length)


def exactly(source: socket.socket, size: int) -> bytearray:
    """So many bytes; without Python's lock while it waits and copies."""
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        count = source.recv_into(rest)
        if count == 0:
            raise EOFError
        rest = rest[count:]
    return data


class Call:
    """What the parent asks. It is to be answered once, by `reply` or `fail`, from any thread."""

    def __init__(self, parent: "Parent", number: int, payload: Payload, data: bytearray) -> None:
        self.name = str(payload.pop("call"))
        self.payload = payload
        self.data = data
        self.cancelled = False
        self.on_cancel: Callable[[], object] = bool
        self._parent = parent
        self._number = number

    def reply(self, payload: Mapping[str, Any] | None = None, data: bytes = b"") -> None:
        """The result."""
        self._parent.answered(self._number, Kind.RESULT, payload, data)

    def fail(self, payload: Mapping[str, Any]) -> None:
        """Why there is none."""
        self._parent.answered(self._number, Kind.FAULT, payload)

    def item(self, payload: Mapping[str, Any] | None = None, data: bytes = b"") -> None:
        """A part of the answer, ahead of it."""
        self._parent.send(Kind.ITEM, self._number, payload, data)

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        self.cancelled = True
        self.on_cancel()


class Parent:
    """The way to the parent. Sending is safe in threads, and to nobody where the parent is gone."""

    def __init__(self, pid: int, wire: socket.socket) -> None:
        self.pid = pid
        self._wire = wire
        self._sending = threading.Lock()
        self._calls: dict[int, Call] = {}

    def ready(self, payload: Mapping[str, Any] | None = None) -> None:
        """It may call from now on."""
        self.send(Kind.READY, 0, payload)

    def refuse(self, reason: str) -> NoReturn:
        """End, since it cannot start."""
        self.send(Kind.FAULT, 0, {"error": reason})
        end(REFUSED, reason)

    def serve(self, answer: Callable[[Call], None], *, threads: int = 0, beat: float = 0.0) -> None:
        """Answer calls until the parent closes its side: in `threads` at once, or here one after the other.
        `beat`: seconds after which the parent is told that this process lives, while it waits."""
        line: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        pool = [threading.Thread(target=work, args=(line, answer), daemon=True) for _ in range(threads)]
        for thread in pool:
            thread.start()
        if beat:
            threading.Thread(target=self._beat, args=(beat,), daemon=True).start()
        with suppress(EOFError, OSError):
            while True:
                kind, number, payload, data = receive(self._wire)
                if kind == Kind.CANCEL:
                    if known := self._calls.get(number):
                        known.cancel()
                    continue
                call = self._calls[number] = Call(self, number, payload, data)
                if pool:
                    line.put(call)
                else:
                    answer(call)
        until = time.monotonic() + JOIN_SECONDS
        for _ in pool:
            line.put(None)
        for thread in pool:
            thread.join(max(0.0, until - time.monotonic()))

    def answered(self, number: int, kind: Kind, payload: Mapping[str, Any] | None, data: bytes = b"") -> None:
        """The end of a call."""
        self._calls.pop(number, None)
        self.send(kind, number, payload, data)

    def send(
        self, kind: Kind, number: int, payload: Mapping[str, Any] | None = None, data: bytes = b""
    ) -> None:
        """One frame."""
        told = frame(kind, number, payload, data)
        with self._sending, suppress(OSError):
            self._wire.sendall(told)

    def _beat(self, seconds: float) -> None:
        """A thread's life."""
        while True:
            time.sleep(seconds)
            if self._calls:
                self.send(Kind.BEAT, 0)


def work(line: "queue.SimpleQueue[Call | None]", answer: Callable[[Call], None]) -> None:
    """A thread's life. What was cancelled in the queue is not begun."""
    while (call := line.get()) is not None:
        if call.cancelled:
            call.fail({"error": "cancelled"})
        else:
            answer(call)


def connected() -> tuple[Parent, list[str]]:
    """Bind this process to its parent's life; the way to it, and the arguments. Before anything else."""
    parent, descriptor, *arguments = sys.argv[1:]
    sys.excepthook = discreet
    threading.excepthook = lambda failed: end(INTERNAL, place(failed.exc_type, failed.exc_traceback))
    end_with(int(parent))
    # Ctrl-C and a service manager's signals reach whole groups; the parent ends its children when it is done.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return Parent(int(parent), socket.socket(fileno=int(descriptor))), arguments


def end_with(parent: int) -> None:
    """Die when the parent does, however it does. Elsewhere than on Linux the end of the socket has to do."""
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def prctl(option: int, value: int) -> None:
    """prctl(2); the kernel wants the unused arguments zero, as longs."""
    ctypes.CDLL(None).prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0)))


def end(code: int, said: str = "") -> NoReturn:
    """At once, also from a thread. What it says is logged by the parent."""
    if said:
        sys.stderr.write(f"{said}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def discreet(kind: type[BaseException], _error: BaseException, trace: TracebackType | None) -> None:
    """Say of an error its kind and place. Its message may hold text of a user's."""
    sys.stderr.write(f"{place(kind, trace)}\n")


def place(kind: type[BaseException], trace: TracebackType | None) -> str:
    """`ValueError at file:line`."""
    while trace and trace.tb_next:
        trace = trace.tb_next
    return (
        f"{kind.__name__} at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        if trace
        else kind.__name__
    )


def confine(parent: int, memory_mb: int, seconds: float) -> None:
    """Give up what reading a hostile file does not need, for good: memory (MiB of address space, what is
    loaded included), processor time, files, precedence, and being root. What is needed is loaded before:
    folders may be closed to whom root becomes."""
    if sys.platform == "linux":
        with suppress(OSError):
            # Should the machine run out of memory, the kernel is to take this process first.
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
        prctl(PR_SET_NO_NEW_PRIVS, 1)
    limits = {
        resource.RLIMIT_AS: memory_mb << 20,
        resource.RLIMIT_CPU: math.ceil(seconds) + 1,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: FILES,
    }
    for name, value in limits.items():
        limit(name, value)
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_SECONDS)
    os.nice(10)
    if sys.platform == "linux" and os.geteuid() == 0:
        "".encode("utf-16-le")  # its codec is a module
        # A root that may not change its user is none outside its container: it goes on as it is.
        with suppress(OSError):
            os.setgroups([])
            os.setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
            os.setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
        # A change of user clears the wish to die with the parent (prctl(2)).
        end_with(parent)


def limit(name: int, value: int) -> None:
    """Lower one limit. macOS knows some of them by name only."""
    hard = resource.getrlimit(name)[1]
    least = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with nullcontext() if sys.platform == "linux" else suppress(ValueError, OSError):
        resource.setrlimit(name, (least, least))
