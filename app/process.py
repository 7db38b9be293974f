"""Child processes: started, called, restarted, ended with their parent. `child.py` is the child's side.

`Child` is one process, from its start to its end. `ChildProcess` is one for as long as a service lives: what
died is replaced at the next call. Several calls may be under way at once, over one Unix socket pair. A child
has no setting and no key in its environment, leads a process group of its own, and ends with the thread that
started it (the event loop's); what it prints is logged. Raises `Died` where a child ends, hangs or does not
start, `Fault` for what it answers in place of a result, `Full`. Seconds.
"""

import asyncio
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from app.child import HEAD, Kind, Payload, frame

ENVIRONMENT = {
    "PYTHONPATH": str(Path(__file__).parents[1]),
    "PYTHONUTF8": "1",
    "LANG": "C.UTF-8",
    "HOME": "/",
}
"""All of a child's."""
READ_AHEAD = 1 << 20
"""Bytes of a child's that are kept for who has not read them yet."""
EXIT_SECONDS = 5.0
"""From the end of a child's socket, or a kill, to its exit code."""
SAID_LINES = 100
SAID_LETTERS = 300
"""Logged of what one child prints: a native crash is talkative."""
UNTRUSTED_JSON = 1 << 16
"""Bytes of JSON in a frame of a child that is not trusted: it is decoded on the event loop."""
UNTRUSTED_FRAME = 1 << 10
"""Bytes for which such a frame counts beyond its own: there may be a million empty ones."""

log = structlog.get_logger(__name__)


class Died(Exception):
    """A child ended before it answered, or was ended because it hung."""

    def __init__(self, detail: str, *, code: int | None = None, hung: bool = False) -> None:
        super().__init__(detail)
        self.code = code
        """Exit status, or less than 0 a signal; None: it was ended from here, or never ran."""
        self.hung = hung


class NotStarted(Died):
    """There is no child, and there cannot be one now."""

    def __init__(self, detail: str, *, code: int | None = None, reason: str = "") -> None:
        super().__init__(reason or detail, code=code)
        self.reason = reason
        """Why it refuses to start, in the child's own words."""


class Fault(Exception):
    """What a child answers in place of a result."""

    def __init__(self, payload: Payload) -> None:
        super().__init__(payload)
        self.payload = payload


class Full(Exception):
    """As many calls as may be are under way."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is started, and what it is allowed."""

    name: str
    """In the log."""
    command: Sequence[str]
    session: bool = True
    """In a session of its own. Else in ours, where the kernel weighs its niceness against our own."""
    start_seconds: float = 60.0
    close_seconds: float = 5.0
    """For calls under way at the end. 0: it keeps nothing, and is killed."""
    silence_seconds: float | None = None
    """Without a word, while a call is under way, after which it hangs; it has to say that it lives."""
    look_seconds: float = 1.0
    """Between looks at whether it hangs."""
    calls: int = 1_024
    """Under way at once."""
    output_bytes: int | None = None
    """All that a child which is not trusted may say. None: it is trusted."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A result, or an item ahead of it."""

    payload: Payload
    data: bytes | bytearray


@dataclass(frozen=True, slots=True)
class Pending:
    """A call that is not answered yet."""

    answer: "asyncio.Future[Reply]"
    until: float | None
    """Loop time at which its child hangs."""
    each: Callable[[Reply], object] | None


def python(module: str) -> Sequence[str]:
    """The command that runs a module of ours."""
    return (sys.executable, "-P", "-s", "-m", module)


class Child:
    """One process. For one event loop, in which it is started."""

    def __init__(self, program: Program, process: "subprocess.Popen[bytes]") -> None:
        self.program = program
        self.hello: Payload = {}
        """What it said when it was ready."""
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._writer: asyncio.StreamWriter | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._numbers = itertools.count(1)
        self._calls: dict[int, Pending] = {}
        self._closing = False
        self._over = False
        self._refusal = ""
        self._heard = 0.0
        self._output = 0
        self._look: asyncio.TimerHandle | None = None

    @classmethod
    async def start(cls, program: Program, *arguments: str, files: Sequence[int] = ()) -> "Child":
        """A child that is ready to be called; it inherits these open files. Raises `NotStarted`."""
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                child = cls(program, spawned(program, theirs, arguments, files))
        except OSError as error:
            ours.close()
            log.warning("child_not_started", child=program.name, fault=str(error))
            raise NotStarted(f"its process cannot be started: {error}") from error
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
        """Whether it takes no more calls."""
        return self._over or self._process.poll() is not None

    @property
    def pid(self) -> int:
        """The process's."""
        return self._process.pid

    @property
    def under_way(self) -> int:
        """Calls that are not answered, those included that nobody waits for any more."""
        return len(self._calls)

    async def call(
        self,
        name: str,
        payload: Mapping[str, Any] | None = None,
        data: bytes = b"",
        *,
        hangs_after: float | None = None,
        each: Callable[[Reply], object] | None = None,
    ) -> Reply:
        """The answer. `each` is given the items ahead of it. `hangs_after`: seconds after which the child is
        killed, whoever still waits. Raises `Died`, `Fault`, `Full`."""
        if self.ended:
            raise Died("its process ended")
        if len(self._calls) >= self.program.calls:
            raise Full(f"{self.program.name}: too many calls at once")
        now = self._loop.time()
        if not self._calls:
            self._heard = now
        number = next(self._numbers)
        until = None if hangs_after is None else now + hangs_after
        pending = self._calls[number] = Pending(self._loop.create_future(), until, each)
        self._send(Kind.CALL, number, {"call": name, **(payload or {})}, data)
        if self._look is None:
            self._look = self._loop.call_later(self.program.look_seconds, self._watch)
        try:
            return await pending.answer
        except asyncio.CancelledError:
            self._send(Kind.CANCEL, number)
            raise

    def kill(self) -> None:
        """At once, with its group."""
        if self._process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def exited(self) -> int | None:
        """Its exit code: it has ended, or soon will. One that lives on is killed; None: it survives that."""
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
        """End it, in order if it is given time for that. No call is left waiting, and no process."""
        self._closing = True
        if self._writer and self._ready.done() and not self.ended and self.program.close_seconds:
            self._writer.write_eof()
            await asyncio.wait(self._tasks[:1], timeout=self.program.close_seconds)
        self._end(Died("it is closed"))
        await self.exited()
        if not self._tasks and self._process.stdout:
            self._process.stdout.close()
        if self._tasks:  # its last words, unless a child of its own keeps them open
            await asyncio.wait(self._tasks, timeout=0.5)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _open(self, ours: socket.socket) -> None:
        """Until its first word."""
        reader, self._writer = await asyncio.open_unix_connection(sock=ours, limit=READ_AHEAD)
        self._tasks = [asyncio.create_task(self._read(reader)), asyncio.create_task(self._overhear())]
        await self._ready

    async def _overhear(self) -> None:
        """Log what it prints, to the end. That may come later than its own, if it has children."""
        reader = asyncio.StreamReader()
        pipe, _ = await self._loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._process.stdout
        )
        try:
            lines = 0
            while part := await reader.read(1 << 12):
                for line in part.decode("utf-8", "replace").splitlines():
                    lines += 1
                    if lines <= SAID_LINES and (text := line.strip()):
                        log.warning("child_says", child=self.program.name, text=text[:SAID_LETTERS])
        finally:
            pipe.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        """Hand out what it answers, to the end."""
        try:
            while True:
                code, number, size, length = HEAD.unpack(await reader.readexactly(HEAD.size))
                kind = Kind(code)
                self._weigh(size, length)
                payload = json.loads(await reader.readexactly(size)) if size else {}
                data = await read(reader, length)
                self._hear(kind, number, payload, data)
        except (asyncio.IncompleteReadError, OSError):
            self._over = True  # who calls from now on has another, while the exit code is awaited
            status = await self.exited()
            self._end(Died(f"its process ended with {status}", code=status))
        except (ValueError, TypeError, LookupError, RecursionError, MemoryError) as error:
            self._end(Died(f"its process said what cannot be read ({type(error).__name__})"))

    def _weigh(self, size: int, length: int) -> None:
        """Raises `ValueError` where one that is not trusted says too much."""
        if self.program.output_bytes is not None:
            self._output += size + length + UNTRUSTED_FRAME
            if size > UNTRUSTED_JSON or self._output > self.program.output_bytes:
                raise ValueError("too much")

    def _hear(self, kind: Kind, number: int, payload: Payload, data: bytes | bytearray) -> None:
        """One frame. Raises `ValueError`, `TypeError` or `LookupError` where it is out of order."""
        self._heard = self._loop.time()
        if kind == Kind.BEAT:
            return
        if number == 0 and not self._ready.done():
            if kind == Kind.READY:
                self.hello = payload
                self._ready.set_result(None)
            else:
                self._refusal = str(payload["error"])
            return
        pending, reply = self._calls[number], Reply(payload, data)
        if kind == Kind.ITEM and pending.each is not None:
            pending.each(reply)
            return
        if kind not in {Kind.RESULT, Kind.FAULT} or not isinstance(payload, dict):
            raise ValueError("out of order")
        del self._calls[number]
        if pending.answer.done():
            return  # nobody waits for it any more
        if kind == Kind.RESULT:
            pending.answer.set_result(reply)
        else:
            pending.answer.set_exception(Fault(payload))

    def _send(self, kind: Kind, number: int, payload: Payload | None = None, data: bytes = b"") -> None:
        """One frame; to nobody, if it has ended."""
        if self._writer and not self._over:
            self._writer.write(frame(kind, number, payload, data))

    def _watch(self) -> None:
        """End it, if it hangs."""
        now, due = self._loop.time(), self._look.when() if self._look else 0.0
        self._look = None
        if self._over or not self._calls:
            return
        if now - due > self.program.look_seconds:  # this process stood still: what it said is not read yet
            self._heard = now
        elif self._hangs(now):
            self._end(Died("its process does not answer", hung=True))
            return
        self._look = self._loop.call_later(self.program.look_seconds, self._watch)

    def _hangs(self, now: float) -> bool:
        """Whether it has been silent, or takes for a call, too long."""
        silence = self.program.silence_seconds
        return (silence is not None and now - self._heard > silence) or any(
            pending.until is not None and now > pending.until for pending in self._calls.values()
        )

    def _end(self, died: Died) -> None:
        """Nobody waits for it any longer, and it lives no longer."""
        if not self._closing:
            self._closing = True
            waiting = len(self._calls)
            log.warning("child_ended", child=self.program.name, detail=str(died), waiting=waiting)
        self._over = True
        self.kill()
        if self._writer:
            self._writer.transport.abort()
        if self._look:
            self._look.cancel()
        if not self._ready.done():
            self._ready.set_exception(NotStarted(str(died), code=died.code, reason=self._refusal))
            self._ready.exception()  # that nobody waits for it is no fault
        calls, self._calls = self._calls, {}
        for pending in calls.values():
            if not pending.answer.done():
                pending.answer.set_exception(Died(str(died), code=died.code, hung=died.hung))


def spawned(
    program: Program, wire: socket.socket, arguments: Sequence[str], files: Sequence[int]
) -> "subprocess.Popen[bytes]":
    """The process, with its end of the socket pair. 1 to 3 ms of the loop. Raises `OSError`."""
    return subprocess.Popen(  # noqa: S603 - our own program
        [*program.command, str(os.getpid()), str(wire.fileno()), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        env=ENVIRONMENT,
        cwd="/",
        pass_fds=(wire.fileno(), *files),
        start_new_session=program.session,
        process_group=None if program.session else 0,
    )


async def read(reader: asyncio.StreamReader, size: int) -> bytes | bytearray:
    """So many bytes; many of them piece by piece, so that other tasks have their turns. Raises
    `IncompleteReadError`."""
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
    """A child for one use. Raises `NotStarted`."""
    child = await Child.start(program, *arguments, files=files)
    try:
        yield child
    finally:
        await child.close()


class ChildProcess:
    """A child that is started when it is first called, and again where it died.

    One start at a time, which all callers wait for and none of them can cancel. After a start that failed
    everybody is told so for `rest` seconds, and after `starts` of them within `within` seconds there is none
    for a while: calls that kill their child must not keep a machine busy.
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
        self._closed = False

    async def child(self) -> Child:
        """One that is ready. Raises `NotStarted`, or whatever else its start does."""
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
        again: bool = False,
    ) -> Reply:
        """See `Child.call`. `again`: asked once more, of the next child, where this one dies meanwhile."""
        while True:
            child = await self.child()
            try:
                return await child.call(name, payload, data, hangs_after=hangs_after)
            except Died:
                if not again:
                    raise
                again = False

    async def restart(self, between: Callable[[], Awaitable[object]]) -> None:
        """End the child, await `between`, start another. Who calls meanwhile waits for that one."""
        before = self._starting

        async def renewed() -> Child:
            await ended(before)
            await between()
            return await self._start()

        self._starting = self._begin(renewed)
        await asyncio.shield(self._starting)

    async def close(self) -> None:
        """End the child; who waits is told so."""
        self._closed = True
        if self._starting is not None:
            self._starting.cancel()
        await ended(self._starting)

    def _begin(self, start: Callable[[], Coroutine[Any, Any, Child]]) -> "asyncio.Task[Child]":
        """A start. Raises `NotStarted`."""
        if self._closed:
            raise NotStarted("it is closed")
        task = asyncio.create_task(start())
        task.add_done_callback(self._note)
        return task

    def _note(self, starting: "asyncio.Task[Child]") -> None:
        """When it failed. That nobody waits for it is no fault."""
        if not starting.cancelled() and starting.exception():
            self._failed = asyncio.get_running_loop().time()

    def _is_over(self, starting: "asyncio.Task[Child]") -> bool:
        """Whether another is to be started in its place."""
        if not starting.done():
            return False
        if starting.cancelled():
            return True
        if starting.exception():
            return asyncio.get_running_loop().time() - self._failed >= self._rest
        return starting.result().ended


async def ended(starting: "asyncio.Task[Child] | None") -> None:
    """Wait for a start, and end what it started."""
    if starting is not None:
        await asyncio.wait({starting})
        if not starting.cancelled() and not starting.exception():
            await starting.result().close()
