"""One process with the bundled model, from its start to its end, and what is asked of it.

For one event loop, on whose thread it is started: with that it dies. Raises `Ended`. Seconds.
"""

import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

import structlog

from app.clients.link import begun, overhear
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding
from app.models.encoder import CHARACTERS, SIZE
from app.models.lanes import Kind
from app.models.wire import Wire, Word

COMMAND = (sys.executable, "-P", "-s", "-m", "app.models.child")
START_SECONDS = 60.0
"""Until it is ready: half a second, and what a busy machine makes of it."""
LOOK_SECONDS = 5.0
HUNG_SECONDS = 15.0
"""Without a word while somebody waits; it says every five seconds that it lives."""
CLOSE_SECONDS = 5.0
"""What the kernel may take to end it: it keeps nothing, so there is no other order."""
WAITING = 1_024
"""Questions under way; its lanes refuse two thirds of them."""

log = structlog.get_logger(__name__)


class Ended(Exception):
    """The child ended before it answered."""


class Child:
    """See the module."""

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
        self._opening = self._loop.create_task(self._open(ours))
        self._opening.add_done_callback(seen)

    async def _open(self, ours: socket.socket) -> None:
        """The way to it, and its first word."""
        try:
            threading.Thread(
                target=outlived, args=(self._process,), name="embedder-says", daemon=True
            ).start()
            async with asyncio.timeout(START_SECONDS):
                await self._loop.create_unix_connection(lambda: self._wire, sock=ours)
                await self._first
        except (OSError, RuntimeError):  # too late, or no thread is left
            ours.close()
            self._lost()
            raise Ended from None

    async def ready(self) -> None:
        """Until it has its model; whoever leaves meanwhile takes nothing with him. Raises `Ended`."""
        if not self._opening.done():
            await asyncio.shield(self._opening)
        if self.ended:
            raise Ended

    async def ask(self, kind: Kind, texts: Sequence[str]) -> list[Embedding]:
        """The texts' vectors, in order. Raises `Ended` and `RetrievalError`."""
        if self.ended:
            raise Ended
        if len(self._waiting) >= WAITING:
            raise RetrievalError("overloaded")
        if not self._waiting:
            self._heard = self._loop.time()
        number, answer = next(self._numbers), self._loop.create_future()
        self._waiting[number] = answer
        self._wire.send(number, kind, json.dumps([text[:CHARACTERS] for text in texts]).encode())
        if self._look is None:
            self._look = self._loop.call_later(LOOK_SECONDS, self._watch)
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
        now, due = self._loop.time(), self._look.when() if self._look else 0.0
        self._look = None
        if now - due > LOOK_SECONDS:  # this process stood still: what was said meanwhile is not read yet
            self._heard = now
        if self._waiting and now - self._heard > HUNG_SECONDS:
            log.warning("the embedder's process does not answer; it is ended")
            self._lost()
        elif self._waiting and not self.ended:
            self._look = self._loop.call_later(LOOK_SECONDS, self._watch)

    def _lost(self) -> None:
        """It is gone, or as good as that: nobody waits any longer."""
        if not self.ended:
            log.warning("the embedder's process ended", waiting=len(self._waiting))
        self.kill()
        self._wire.close()
        for answer in (self._first, *self._waiting.values()):
            if not answer.done():
                answer.set_exception(Ended())

    def kill(self) -> None:
        """At once."""
        self.ended = True
        self._process.kill()

    async def close(self) -> None:
        """Nobody is left waiting, and no process."""
        self.ended = True  # as it was meant to: nothing to warn of
        self._lost()
        if self._look:
            self._look.cancel()
        await asyncio.gather(self._opening, return_exceptions=True)
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self._process.wait, CLOSE_SECONDS)


def outlived(process: "subprocess.Popen[bytes]") -> None:
    """A thread: log what it says, and let the kernel forget it."""
    try:
        if process.stdout:
            overhear(process.stdout, "embedder_says")
    finally:
        process.wait()


def seen(opening: asyncio.Task[None]) -> None:
    """Its failure is told to whoever waits; that nobody does is no fault."""
    if not opening.cancelled():
        opening.exception()


def spawned(theirs: socket.socket) -> "subprocess.Popen[bytes]":
    """The process. Not in a session of its own: only within one does the kernel weigh its niceness against
    ours. 1 to 3 ms of the loop."""
    return begun([*COMMAND, str(os.getpid()), str(theirs.fileno())], theirs, session=False)
