"""The child's side of a child process: framing, life cycle, limits. `process.py` is the parent's side.

A child is a module's `main()` with the arguments PARENT SOCKET [ARGUMENT...]: the parent's process id and an
inherited socket. It sends READY, then answers each call once, with RESULT or FAULT, after any number of
ITEMs. A frame is kind, call number and two lengths (network order), a JSON object, and raw bytes. Imports
only the standard library, to keep starts short.
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
"""Exit codes: it cannot start and has sent the reason; an unexpected error in one of its threads."""
JOIN_SECONDS = 4.0
"""How long `serve` waits for calls in flight at the end: less than the parent waits before it kills."""
GRACE_SECONDS = 5.0
"""After the parent's deadline a confined child ends itself, in case the parent does not."""
FILES = 64
"""Open files of a confined child."""
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
UNPRIVILEGED = 65_533
"""User and group of root's confined child; no account. Not `nobody`, the user of the embedded PostgreSQL."""

Payload: TypeAlias = dict[str, Any]


class FrameKind(IntEnum):
    """CALL and CANCEL go to the child, the others to the parent."""

    READY = 0
    """Its call number is 0."""
    CALL = 1
    """`call` in the payload names the handler."""
    CANCEL = 2
    """The caller was cancelled. The call must be answered all the same."""
    ITEM = 3
    """A part of the answer."""
    RESULT = 4
    FAULT = 5
    """An error; with call number 0: why it cannot start (`error`)."""
    BEAT = 6


def frame(kind: FrameKind, number: int, payload: Mapping[str, Any] | None = None, data: bytes = b"") -> bytes:
    text = json.dumps(payload).encode() if payload else b""
    return HEAD.pack(kind, number, len(text), len(data)) + text + data


def receive(source: socket.socket) -> tuple[FrameKind, int, Payload, bytearray]:
    """The next frame. Blocks. Raises `EOFError` when the other side has closed, and `OSError`."""
    kind, number, text, length = HEAD.unpack(exactly(source, HEAD.size))
    payload = json.loads(exactly(source, text)) if text else {}
    return FrameKind(kind), number, payload, exactly(source, length)


def exactly(source: socket.socket, size: int) -> bytearray:
    """Releases the GIL while it waits and copies."""
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        count = source.recv_into(rest)
        if count == 0:
            raise EOFError
        rest = rest[count:]
    return data


class Call:
    """A call of the parent. Answer it once, with `reply` or `fail`, from any thread."""

    def __init__(self, parent: "Parent", number: int, payload: Payload, data: bytearray) -> None:
        self.name = str(payload.pop("call"))
        self.payload = payload
        self.data = data
        self.cancelled = False
        self.on_cancel: Callable[[], object] = lambda: None
        self._parent = parent
        self._number = number

    def reply(self, payload: Mapping[str, Any] | None = None, data: bytes = b"") -> None:
        self._parent.answered(self._number, FrameKind.RESULT, payload, data)

    def fail(self, payload: Mapping[str, Any]) -> None:
        self._parent.answered(self._number, FrameKind.FAULT, payload)

    def item(self, payload: Mapping[str, Any] | None = None, data: bytes = b"") -> None:
        self._parent.send(FrameKind.ITEM, self._number, payload, data)

    def cancel(self) -> None:
        self.cancelled = True
        self.on_cancel()


class Parent:
    """The connection to the parent. Thread-safe; frames to a dead parent are dropped."""

    def __init__(self, pid: int, wire: socket.socket) -> None:
        self.pid = pid
        self._wire = wire
        self._sending = threading.Lock()
        self._calls: dict[int, Call] = {}

    def ready(self, payload: Mapping[str, Any] | None = None) -> None:
        self.send(FrameKind.READY, 0, payload)

    def refuse(self, reason: str) -> NoReturn:
        self.send(FrameKind.FAULT, 0, {"error": reason})
        end(REFUSED, reason)

    def serve(self, answer: Callable[[Call], None], *, threads: int = 0, beat: float = 0.0) -> None:
        """Pass calls to `answer` until the parent closes the socket: in `threads` threads, or one by one in
        this one. `beat`: interval of heartbeats while calls are in flight; 0: none."""
        line: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        pool = [threading.Thread(target=work, args=(line, answer), daemon=True) for _ in range(threads)]
        for thread in pool:
            thread.start()
        if beat:
            threading.Thread(target=self._beat, args=(beat,), daemon=True).start()
        with suppress(EOFError, OSError):
            while True:
                kind, number, payload, data = receive(self._wire)
                if kind == FrameKind.CANCEL:
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

    def answered(
        self, number: int, kind: FrameKind, payload: Mapping[str, Any] | None, data: bytes = b""
    ) -> None:
        self._calls.pop(number, None)
        self.send(kind, number, payload, data)

    def send(
        self, kind: FrameKind, number: int, payload: Mapping[str, Any] | None = None, data: bytes = b""
    ) -> None:
        told = frame(kind, number, payload, data)
        with self._sending, suppress(OSError):
            self._wire.sendall(told)

    def _beat(self, seconds: float) -> None:
        while True:
            time.sleep(seconds)
            if self._calls:
                self.send(FrameKind.BEAT, 0)


def work(line: "queue.SimpleQueue[Call | None]", answer: Callable[[Call], None]) -> None:
    """Worker thread. Skips calls that were cancelled in the queue."""
    while (call := line.get()) is not None:
        if call.cancelled:
            call.fail({"error": "cancelled"})
        else:
            answer(call)


def connected() -> tuple[Parent, list[str]]:
    """Tie this process to its parent and connect to it; returns the other arguments. Call this first."""
    parent, descriptor, *arguments = sys.argv[1:]
    sys.excepthook = discreet
    threading.excepthook = lambda failed: end(INTERNAL, place(failed.exc_type, failed.exc_traceback))
    end_with(int(parent))
    # A service manager may signal every process; the parent ends its children when it is done with them.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return Parent(int(parent), socket.socket(fileno=int(descriptor))), arguments


def end_with(parent: int) -> None:
    """Die with the parent, even if it is killed. Systems other than Linux rely on the closing socket."""
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def prctl(option: int, value: int) -> None:
    """The kernel requires the unused arguments to be zero, as longs."""
    ctypes.CDLL(None).prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0)))


def end(code: int, said: str = "") -> NoReturn:
    """Exit at once, also from a thread. The parent logs `said`."""
    with suppress(OSError):  # the parent may be dead
        if said:
            sys.stderr.write(f"{said}\n")
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def discreet(kind: type[BaseException], _error: BaseException, trace: TracebackType | None) -> None:
    """Exception hook that prints type and place but no message, which may quote a user's text."""
    sys.stderr.write(f"{place(kind, trace)}\n")


def place(kind: type[BaseException], trace: TracebackType | None) -> str:
    while trace and trace.tb_next:
        trace = trace.tb_next
    return (
        f"{kind.__name__} at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        if trace
        else kind.__name__
    )


def confine(parent: int, memory_mb: int, seconds: float) -> None:
    """Permanently limit this process before it reads a hostile file: address space (MiB, including what is
    loaded already), processor time, files, priority; root becomes an unprivileged user. Load modules and data
    before: that user may not be able to read them."""
    if sys.platform == "linux":
        with suppress(OSError):
            # If memory runs out, the kernel should kill this process first.
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
        # A root that may not change its user has no rights outside its container: it stays root.
        with suppress(OSError):
            os.setgroups([])
            os.setresgid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
            os.setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED)
        # A change of user clears the parent-death signal (prctl(2)).
        end_with(parent)


def limit(name: int, value: int) -> None:
    hard = resource.getrlimit(name)[1]
    least = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with nullcontext() if sys.platform == "linux" else suppress(ValueError, OSError):
        resource.setrlimit(name, (least, least))
