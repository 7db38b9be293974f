"""The bundled model in a process of its own (`child.py`): started, asked, started anew, ended.

For one event loop. A child that dies or hangs loses what was asked of it, which is asked once more of the
next. Raises `RetrievalError`: embedding (it failed twice), unavailable (there is no child, and there cannot
be one now, or it is closing), and what a lane refuses by; `StartError` where the model is not the one Ibid
was made for, or no child can be started at all. Seconds.
"""

import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import structlog

from app.clients.link import ENVIRONMENT, overhear
from app.domain.errors import RetrievalError, StartError
from app.domain.passage import Embedding
from app.index.pieces import spelling
from app.models.encoder import CHARACTERS, SIZE
from app.models.lanes import Kind
from app.models.wire import Wire, Word

COMMAND = (sys.executable, "-P", "-s", "-m", "app.models.child")
SUMS = "OPENBLAS_"
"""Settings of numpy's sums. The child has them, too: its vectors are this process's to the last bit."""
START_SECONDS = 60.0
"""Until it is ready: half a second, and what a busy machine makes of it."""
LOOK_SECONDS = 5.0
HUNG_SECONDS = 15.0
"""Without a word while somebody waits; it says every five seconds that it lives."""
REST_SECONDS = 5.0
"""After a start that failed; until then who asks is told at once."""
CLOSE_SECONDS = 6.0
"""What it may take to end in order: its lanes take five at most."""
ATTEMPTS = 2

log = structlog.get_logger(__name__)


class Ended(Exception):
    """The child ended before it answered."""


class Child:
    """One process, from its start to its end. Started on the loop's thread: with that it dies."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._first: asyncio.Future[bytes] = self._loop.create_future()
        self._wire = Wire(self._hear, self._lost)
        self._heard = self._loop.time()
        self._look: asyncio.TimerHandle | None = None
        self.ended = False
        self.refusal = ""
        """Why it cannot embed at all."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = spawned(theirs)
            except OSError:
                ours.close()
                raise
        threading.Thread(target=outlived, args=(self._process,), name="embedder-says", daemon=True).start()
        self._opening = self._loop.create_task(self._open(ours))
        self._opening.add_done_callback(seen)

    async def _open(self, ours: socket.socket) -> None:
        """The way to it, and its first word."""
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._loop.create_unix_connection(lambda: self._wire, sock=ours)
                await self._first
        except TimeoutError:
            self.kill()
            raise Ended from None

    async def ready(self) -> None:
        """Until it has its model; whoever leaves meanwhile takes nothing with him. Raises `Ended`."""
        if not self._opening.done() or self.ended:
            await asyncio.shield(self._opening)
        if self.ended:
            raise Ended

    async def ask(self, kind: Kind, texts: Sequence[str]) -> list[Embedding]:
        """The texts' vectors, in order. Raises `Ended` and `RetrievalError`."""
        if self.ended:
            raise Ended
        if not self._waiting:
            self._heard = self._loop.time()
        number, answer = next(self._numbers), self._loop.create_future()
        self._waiting[number] = answer
        self._wire.send(number, kind, json.dumps([text[:CHARACTERS] for text in texts]).encode())
        self._look = self._look or self._loop.call_later(LOOK_SECONDS, self._watch)
        try:
            vectors: bytes = await answer
        except asyncio.CancelledError:
            self._wire.send(number, Word.CANCEL)
            raise
        finally:
            self._waiting.pop(number, None)
        return [vectors[at : at + SIZE] for at in range(0, len(vectors), SIZE)]

    def _hear(self, number: int, kind: int, body: bytes) -> None:
        """A word of it."""
        self._heard = self._loop.time()
        answer = self._waiting.get(number) if number else self._first
        if answer is None or answer.done() or kind == Word.BEAT:
            return
        if kind != Word.FAULT:
            answer.set_result(body)
        elif number:
            answer.set_exception(RetrievalError(body.decode()))
        else:
            self.refusal = body.decode()

    def _watch(self) -> None:
        """End it, if somebody waits and it has not said a word for long."""
        self._look = None
        if self._waiting and self._loop.time() - self._heard > HUNG_SECONDS:
            log.warning("the embedder's process does not answer; it is ended", waiting=len(self._waiting))
            self.kill()
        elif self._waiting and not self.ended:
            self._look = self._loop.call_later(LOOK_SECONDS, self._watch)

    def _lost(self) -> None:
        """It is gone: nobody waits any longer."""
        self.kill()
        for answer in (self._first, *self._waiting.values()):
            if not answer.done():
                answer.set_exception(Ended())

    def kill(self) -> None:
        """At once."""
        self.ended = True
        self._process.kill()

    async def close(self) -> None:
        """In order, if it ends in time. Nobody is left behind, and no process."""
        if not self._opening.done():
            self.kill()
        self._wire.close()
        self.ended = True
        try:
            await asyncio.to_thread(self._process.wait, CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            await asyncio.to_thread(self._process.wait)
        if self._look:
            self._look.cancel()
        self._opening.cancel()
        await asyncio.gather(self._opening, return_exceptions=True)


def outlived(process: "subprocess.Popen[bytes]") -> None:
    """A thread: log what it says, and let the kernel forget it."""
    if process.stdout:
        overhear(process.stdout, "embedder_says")
    process.wait()


def seen(opening: asyncio.Task[None]) -> None:
    """Its failure is told to whoever waits; that nobody does is no fault."""
    if not opening.cancelled():
        opening.exception()


def spawned(theirs: socket.socket) -> "subprocess.Popen[bytes]":
    """The process, in a group of its own: Ctrl-C is for us. Not in a session of its own: only within one does
    the kernel weigh its niceness against ours. 1 to 3 ms of the loop."""
    return subprocess.Popen(  # noqa: S603 - our own program
        [*COMMAND, str(os.getpid()), str(theirs.fileno())],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=ENVIRONMENT | {name: value for name, value in os.environ.items() if name.startswith(SUMS)},
        cwd="/",
        pass_fds=(theirs.fileno(),),
        process_group=0,
    )


class Apart:
    """Keeps `embedder.Model`."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._failed = -REST_SECONDS
        self._closed = False

    async def open(self) -> None:
        """The first child. Raises `StartError`."""
        try:
            await self._there()
        except RetrievalError as error:
            why = self._child.refusal if self._child else ""
            raise StartError(why or "the bundled model's process does not start: see the log") from error

    async def run(self, kind: Kind, texts: Sequence[str]) -> list[Embedding]:
        """The texts' vectors, in order."""
        if not texts:
            return []
        for _ in range(ATTEMPTS):
            child = await self._there()
            try:
                return await child.ask(kind, texts)
            except Ended:
                log.warning("the embedder's process ended", lane=kind.name)
        raise RetrievalError("embedding")

    async def _there(self) -> Child:
        """A child that is ready; another, if there is none."""
        child = self._child = self._living() or self._begun()
        try:
            await child.ready()
        except Ended:
            self._failed = asyncio.get_running_loop().time()
            raise RetrievalError("unavailable") from None
        return child

    def _living(self) -> Child | None:
        """The child, unless it has ended."""
        return None if self._closed or self._child is None or self._child.ended else self._child

    def _begun(self) -> Child:
        """A new one."""
        now = asyncio.get_running_loop().time()
        if self._closed or now - self._failed < REST_SECONDS:
            raise RetrievalError("unavailable")
        try:
            return Child()
        except OSError as error:
            self._failed = now
            log.warning("the embedder's process cannot be started", fault=str(error))
            raise RetrievalError("unavailable") from error

    async def close(self) -> None:
        """End the child; who waits is refused."""
        self._closed = True
        if self._child is not None:
            await self._child.close()


@asynccontextmanager
async def open_apart() -> AsyncIterator[Apart]:
    """The model in its process, and here what tells how a question is read. It ends with the context."""
    apart = Apart()
    try:
        await asyncio.gather(apart.open(), asyncio.to_thread(spelling))
        yield apart
    finally:
        await apart.close()
