"""Child processes: start, call, restart, stop with the parent. `child.py` is the child's side.

`Child` is one process, from start to exit. `ChildProcess` replaces a child that died at the next call. Calls
are multiplexed over one Unix socket pair. A child has an empty environment (no settings, no keys) and its own
process group, its output is logged, and Linux kills it when the thread that started it (the event loop's)
ends. Raises `Died` when a child exits, hangs or does not start, `Fault` when it answers with an error, `Full`
when too many calls are in flight. Times are seconds.
"""

import asyncio
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from app.child import HEAD, FrameKind, Payload, frame

ENVIRONMENT = {
    "PYTHONPATH": str(Path(__file__).parents[1]),
    "PYTHONUTF8": "1",
    "LANG": "C.UTF-8",
    "HOME": "/",
}
"""The whole environment of a child."""
READ_AHEAD = 1 << 20
"""Bytes that the stream reader buffers; larger data are copied in pieces of half of it."""
EXIT_SECONDS = 5.0
"""How long to wait for the exit code after the socket closed."""
OUTPUT_LINES = 100
OUTPUT_CHARACTERS = 300
"""How much of one child's output is logged: a native crash prints a lot."""
UNTRUSTED_JSON = 1 << 16
"""Maximum bytes of JSON in a frame of an untrusted child: it is decoded on the event loop."""
UNTRUSTED_FRAME = 1 << 10
"""Overhead counted for each frame of an untrusted child, which bounds the number of empty frames."""

CRASHES = frozenset(
    -number for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
)
"""Exit codes that suggest damaged files. SIGKILL does not."""
SUSPICIONS = 2
"""Crashes within SUSPECT_SECONDS after which files are given up: Postgres has all of their content."""
SUSPECT_SECONDS = 180.0
"""Longer than two calls that hang one after the other take."""

log = structlog.get_logger(__name__)


class Died(Exception):
    """The child exited before it answered, or was killed because it hung."""

    def __init__(self, detail: str, *, code: int | None = None, hung: bool = False) -> None:
        super().__init__(detail)
        self.code = code
        """Exit status, negative for a signal; None if the parent ended it, or it never ran."""
        self.hung = hung


class NotStarted(Died):
    """There is no child, and none can be started now."""

    def __init__(self, detail: str, *, code: int | None = None, reason: str = "") -> None:
        super().__init__(reason or detail, code=code)
        self.reason = reason
        """The child's own explanation, or ""."""


class Fault(Exception):
    """The child answered with an error; its handler chose the payload."""

    def __init__(self, payload: Payload) -> None:
        super().__init__(payload)
        self.payload = payload


class Full(Exception):
    """`Program.calls` calls are in flight already."""


@dataclass(frozen=True, slots=True)
class Program:
    """A command and the limits of the processes it starts."""

    name: str
    command: Sequence[str]
    session: bool = True
    """Start a new session. False stays in ours, where the scheduler compares its niceness with ours."""
    start_seconds: float = 60.0
    close_seconds: float = 1.5
    """How long `close` waits for calls in flight; 0 kills at once. If Chroma and Qdrant both hang, Postgres
    still needs time within the five seconds of a stop (`cli/serve.py`)."""
    silence_seconds: float | None = None
    """A child that sends nothing for so long during a call has hung. It must send heartbeats (`serve`)."""
    check_seconds: float = 1.0
    """Interval of the check whether it hangs."""
    calls: int = 1_024
    """Maximum calls in flight."""
    output_bytes: int | None = None
    """Total bytes an untrusted child may send; None: the child is trusted."""


@dataclass(frozen=True, slots=True)
class ChildReply:
    payload: Payload
    data: bytes | bytearray


@dataclass(frozen=True, slots=True)
class PendingCall:
    answer: "asyncio.Future[ChildReply]"
    until: float | None
    """Loop time after which the child counts as hung."""
    each: Callable[[ChildReply], object] | None
    about: str
    """What is blamed if the child crashes."""


def python(module: str) -> Sequence[str]:
    """Command line that runs `main()` of a module; with `-m` it would be compiled at each start."""
    return (sys.executable, "-P", "-s", "-c", f"from {module} import main; main()")


class Child:
    """One process, used from the event loop that started it."""

    def __init__(self, program: Program, process: "subprocess.Popen[bytes]") -> None:
        self.program = program
        self.hello: Payload = {}
        """The payload of its READY frame."""
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._writer: asyncio.StreamWriter | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._numbers = itertools.count(1)
        self._calls: dict[int, PendingCall] = {}
        self._closing = False
        self._over = False
        self._hung = False
        self._refusal = ""
        self._blamed: frozenset[str] = frozenset()
        self._last_frame_at = 0.0
        self._output = 0
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    async def start(cls, program: Program, *arguments: str, files: Sequence[int] = ()) -> "Child":
        """Start a process and wait until it is ready. It inherits the open `files`. Raises `NotStarted`."""
        try:
            process, ours = spawned(program, arguments, files)
        except OSError as error:
            log.warning("child_not_started", child=program.name, fault=str(error))
            raise NotStarted(f"its process cannot be started: {error}") from error
        child = cls(program, process)
        try:
            async with asyncio.timeout(program.start_seconds):
                await child._open(ours)
        except BaseException as error:
            if child._writer is None:
                ours.close()
            child._closing = True
            child._end(Died("its start was given up"))
            await child.close()
            if isinstance(error, TimeoutError):
                raise NotStarted(f"it was not ready after {program.start_seconds:g} s") from None
            raise
        return child

    @property
    def ended(self) -> bool:
        return self._over or self._process.poll() is not None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def under_way(self) -> int:
        return len(self._calls)

    async def blamed(self, codes: Collection[int] = CRASHES) -> frozenset[str] | None:
        """The `about` of the calls that were unanswered when it crashed or, if it hung, of those that were
        overdue; None: it did neither. Waits for its exit code."""
        code = await self.exited()
        if self._hung:
            return self._blamed
        return self._blamed | self._unanswered() if code in codes else None

    async def call(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        data: bytes = b"",
        *,
        hangs_after: float | None = None,
        each: Callable[[ChildReply], object] | None = None,
        about: str = "",
    ) -> ChildReply:
        """Call a handler of the child; items are passed to `each`. After `hangs_after` seconds without an
        answer the child is killed, even if the caller was cancelled. `about`: for `blamed`. Raises `Died`,
        `Fault`, `Full`."""
        if self.ended:
            raise Died("its process ended")
        if len(self._calls) >= self.program.calls:
            raise Full(f"{self.program.name}: too many calls at once")
        now = self._loop.time()
        if not self._calls:
            self._last_frame_at = now
        number = next(self._numbers)
        told = frame(FrameKind.CALL, number, {"call": name, **(payload or {})}, data)
        until = None if hangs_after is None else now + hangs_after
        pending = self._calls[number] = PendingCall(self._loop.create_future(), until, each, about)
        self._write(told)
        if self._timer is None:
            self._timer = self._loop.call_later(self.program.check_seconds, self._watch)
        try:
            return await pending.answer
        except asyncio.CancelledError:
            self._write(frame(FrameKind.CANCEL, number))
            raise

    def kill(self) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def exited(self) -> int | None:
        """Wait for its exit code; kill it if that takes too long. None: it survived even that."""
        pause = 0.001
        for until in (self._loop.time() + EXIT_SECONDS, self._loop.time() + EXIT_SECONDS + 1.0):
            while self._loop.time() < until:
                if (code := self._process.poll()) is not None:
                    return code
                await asyncio.sleep(pause)
                pause = min(2 * pause, 0.05)
            self.kill()
        return None

    async def close(self) -> None:
        """End the process, letting calls in flight finish within `close_seconds`. Pending calls then fail."""
        self._closing = True
        if self._writer and self._ready.done() and not self.ended and self.program.close_seconds:
            self._writer.write_eof()
            await asyncio.wait(self._tasks[:1], timeout=self.program.close_seconds)
        self._end(Died("it is closed"))
        await self.exited()
        if not self._tasks and self._process.stdout:
            self._process.stdout.close()
        if self._tasks:  # for its last output; a grandchild may keep the pipe open
            await asyncio.wait(self._tasks, timeout=0.5)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _open(self, ours: socket.socket) -> None:
        reader, self._writer = await asyncio.open_unix_connection(sock=ours, limit=READ_AHEAD)
        work = self._read(reader), self._log_output()
        # Not in the context of the question that started it: log lines would name that request.
        self._tasks = [asyncio.create_task(each, context=Context()) for each in work]
        await self._ready

    async def _log_output(self) -> None:
        """Log its output until the pipe closes; a grandchild may hold it open after the child has exited."""
        reader = asyncio.StreamReader()
        pipe, _ = await self._loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._process.stdout
        )
        try:
            lines = 0
            while part := await reader.read(1 << 12):
                for line in part.decode("utf-8", "replace").splitlines():
                    lines += 1
                    if lines <= OUTPUT_LINES and (text := line.strip()):
                        log.warning("child_output", child=self.program.name, text=text[:OUTPUT_CHARACTERS])
        finally:
            pipe.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                code, number, size, length = HEAD.unpack(await reader.readexactly(HEAD.size))
                kind = FrameKind(code)
                self._check_size(size, length)
                payload = json.loads(await reader.readexactly(size)) if size else {}
                data = await read(reader, length)
                self._handle_frame(kind, number, payload, data)
        except (asyncio.IncompleteReadError, OSError):
            self._over = True  # new calls need not wait for the exit code
            status = await self.exited()
            self._end(Died(f"its process ended with {status}", code=status))
        except (ValueError, TypeError, LookupError, RecursionError, MemoryError) as error:
            self._end(Died(f"its process said what cannot be read ({type(error).__name__})"))

    def _check_size(self, size: int, length: int) -> None:
        if self.program.output_bytes is not None:
            self._output += size + length + UNTRUSTED_FRAME
            if size > UNTRUSTED_JSON or self._output > self.program.output_bytes:
                raise ValueError("too much")

    def _handle_frame(self, kind: FrameKind, number: int, payload: Payload, data: bytes | bytearray) -> None:
        """Raises `ValueError`, `TypeError` or `LookupError` for a protocol violation."""
        self._last_frame_at = self._loop.time()
        if not isinstance(payload, dict):
            raise TypeError("no object")
        if kind == FrameKind.BEAT:
            return
        if number == 0 and not self._ready.done():
            if kind == FrameKind.READY:
                self.hello = payload
                self._ready.set_result(None)
            else:
                self._refusal = str(payload["error"])
            return
        pending, reply = self._calls[number], ChildReply(payload, data)
        if kind == FrameKind.ITEM and pending.each is not None:
            pending.each(reply)
            return
        if kind not in {FrameKind.RESULT, FrameKind.FAULT}:
            raise ValueError("out of order")
        del self._calls[number]
        if pending.answer.done():
            return  # its caller was cancelled
        if kind == FrameKind.RESULT:
            pending.answer.set_result(reply)
        else:
            pending.answer.set_exception(Fault(payload))

    def _write(self, frame: bytes) -> None:
        if self._writer and not self._over:
            self._writer.write(frame)

    def _watch(self) -> None:
        """Kill the child if it hangs. Runs every `check_seconds` while calls are in flight."""
        now, due = self._loop.time(), self._timer.when() if self._timer else 0.0
        self._timer = None
        if self._over or not self._calls:
            return
        if now - due > self.program.check_seconds:  # the loop was blocked: frames may wait to be read
            self._last_frame_at = now
        elif self._hangs(now):
            self._hung = True
            self._blamed = self._unanswered(now)
            self._end(Died("its process does not answer", hung=True))
            return
        self._timer = self._loop.call_later(self.program.check_seconds, self._watch)

    def _hangs(self, now: float) -> bool:
        silence = self.program.silence_seconds
        return (silence is not None and now - self._last_frame_at > silence) or any(
            pending.until is not None and now > pending.until for pending in self._calls.values()
        )

    def _unanswered(self, overdue: float | None = None) -> frozenset[str]:
        """The `about` of calls in flight; with a loop time, of those that are overdue by then."""
        return frozenset(
            pending.about
            for pending in self._calls.values()
            if pending.about and (overdue is None or (pending.until is not None and overdue > pending.until))
        )

    def _end(self, died: Died) -> None:
        if not self._closing:
            self._closing = True
            waiting = len(self._calls)
            log.warning("child_ended", child=self.program.name, detail=str(died), waiting=waiting)
        self._over = True
        self.kill()
        if self._writer:
            self._writer.transport.abort()
        if self._timer:
            self._timer.cancel()
        if not self._ready.done():
            self._ready.set_exception(NotStarted(str(died), code=died.code, reason=self._refusal))
            self._ready.exception()  # mark it as retrieved: `start` may have been cancelled
        if not self._hung:
            self._blamed |= self._unanswered()
        calls, self._calls = self._calls, {}
        for pending in calls.values():
            if not pending.answer.done():
                pending.answer.set_exception(Died(str(died), code=died.code, hung=died.hung))


def spawned(
    program: Program, arguments: Sequence[str], files: Sequence[int]
) -> tuple["subprocess.Popen[bytes]", socket.socket]:
    """Fork and exec; the process and our end of its socket pair. Blocks 1 to 3 ms. Raises `OSError`."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(  # noqa: S603 - our own program
                [*program.command, str(os.getpid()), str(theirs.fileno()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                env=ENVIRONMENT,
                cwd="/",
                pass_fds=(theirs.fileno(), *files),
                start_new_session=program.session,
                process_group=None if program.session else 0,
            )
        except OSError:
            ours.close()
            raise
    return process, ours


async def read(reader: asyncio.StreamReader, size: int) -> bytes | bytearray:
    """Exactly `size` bytes, large ones in pieces so that other tasks can run in between."""
    if size <= READ_AHEAD:
        return await reader.readexactly(size)
    data, at = bytearray(size), 0
    while at < size:
        part = await reader.readexactly(min(READ_AHEAD // 2, size - at))
        data[at : at + len(part)] = part
        at += len(part)
        await asyncio.sleep(0)
    return data


@asynccontextmanager
async def started(program: Program, *arguments: str, files: Sequence[int] = ()) -> AsyncIterator[Child]:
    """A child for one use, closed at the end. Raises `NotStarted`."""
    child = await Child.start(program, *arguments, files=files)
    try:
        yield child
    finally:
        await child.close()


class ChildProcess:
    """A child that is started at the first call and restarted when it died.

    Concurrent callers share one start; a caller that is cancelled does not cancel it. A failed start is
    repeated to all callers for `rest` seconds, and there are at most `starts` starts within `within` seconds,
    so that calls which kill their child cannot keep the machine busy.
    """

    def __init__(
        self,
        start: Callable[[], Coroutine[Any, Any, Child]],
        *,
        starts: int = 5,
        within: float = 10.0,
        rest: float = 5.0,
    ) -> None:
        self._start = start
        self._within = within
        self._rest = rest
        self._starts: deque[float] = deque(maxlen=starts)
        self._failed = 0.0
        self._starting: asyncio.Task[Child] | None = None
        self._replaced: asyncio.Task[Child] | None = None
        """The child that a restart is about to end."""
        self._closed = False

    async def child(self) -> Child:
        """The running child, started if necessary. Raises `NotStarted`, and what `start` raises."""
        if self._starting is None or self._is_over(self._starting):
            now = asyncio.get_running_loop().time()
            if len(self._starts) == self._starts.maxlen and now - self._starts[0] < self._within:
                raise NotStarted(f"its process ended {len(self._starts)} times within {self._within:g} s")
            self._starting = self._begin(self._start)
            self._starts.append(now)
        if self._closed:
            raise NotStarted("it is closed")
        return await asyncio.shield(self._starting)

    async def call(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        data: bytes = b"",
        *,
        hangs_after: float | None = None,
        about: str = "",
        again: bool = False,
    ) -> ChildReply:
        """See `Child.call`. `again`: if the child dies meanwhile, repeat the call once with the next."""
        while True:
            child = await self.child()
            try:
                return await child.call(name, payload, data, hangs_after=hangs_after, about=about)
            except Died:
                if not again:
                    raise
                again = False

    async def restart(self, between: Callable[[], Awaitable[object]]) -> None:
        """End the child, await `between`, start another. Calls made meanwhile wait for the new one."""
        before = self._replaced = self._starting

        async def renewed() -> Child:
            await ended(before)
            await between()
            return await self._start()

        self._starting = self._begin(renewed)
        await asyncio.shield(self._starting)
        self._replaced = None

    async def close(self) -> None:
        """End the child; calls in flight fail."""
        self._closed = True
        if self._starting is not None:
            self._starting.cancel()
        await ended(self._starting)
        await ended(self._replaced)

    def _begin(self, start: Callable[[], Coroutine[Any, Any, Child]]) -> "asyncio.Task[Child]":
        if self._closed:
            raise NotStarted("it is closed")
        task = asyncio.create_task(start())
        task.add_done_callback(self._note)
        return task

    def _note(self, starting: "asyncio.Task[Child]") -> None:
        if not starting.cancelled() and starting.exception():
            self._failed = asyncio.get_running_loop().time()

    def _is_over(self, starting: "asyncio.Task[Child]") -> bool:
        if not starting.done():
            return False
        if starting.cancelled():
            return True
        if starting.exception():
            return asyncio.get_running_loop().time() - self._failed >= self._rest
        return starting.result().ended


class CrashBlame:
    """Finds what keeps crashing or hanging a child process: SUSPICIONS times within SUSPECT_SECONDS."""

    def __init__(self, codes: Collection[int] = CRASHES) -> None:
        self._codes = codes
        self._crashes: list[tuple[float, frozenset[str]]] = []

    async def note(self, child: Child | None, *always: str) -> None:
        """Count the end of a child, if it crashed. `always`: also blamed."""
        blamed = await child.blamed(self._codes) if child else None
        if blamed is not None:
            self._crashes.append((time.monotonic(), blamed | {*always}))

    def suspects(self) -> list[str]:
        now = time.monotonic()
        self._crashes = [crash for crash in self._crashes if now - crash[0] < SUSPECT_SECONDS]
        counts = Counter(name for _, names in self._crashes for name in names)
        return [name for name, count in counts.items() if count >= SUSPICIONS]

    def forget(self) -> None:
        self._crashes.clear()


async def ended(starting: "asyncio.Task[Child] | None") -> None:
    if starting is not None:
        await asyncio.wait({starting})
        if not starting.cancelled() and not starting.exception():
            await starting.result().close()
