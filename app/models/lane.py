"""A lane: daemon threads that turn texts into vectors, one text at a time, for callers on the event loop.

Callers take turns text by text, so a document of thousands of texts holds nobody up. What a cancelled
caller still waited for is dropped. Raises `RetrievalError`: overloaded (too many callers wait),
embedding (the model failed), unavailable (closing).
"""

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from app.domain.errors import RetrievalError
from app.domain.passage import Embedding

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How a lane runs."""

    name: str
    threads: int
    waiting: int
    """Callers that may wait; one more is refused at once."""
    nice: int = 0
    """Added to its threads' niceness: 10 leaves the processor to whoever else wants it."""


class Work:
    """One caller's texts on their way to vectors."""

    def __init__(self, texts: Sequence[str], loop: asyncio.AbstractEventLoop) -> None:
        self.texts = texts
        self.vectors: list[Embedding] = [b""] * len(texts)
        self.started = 0
        self.left = len(texts)
        self.loop = loop
        self.done: asyncio.Future[list[Embedding]] = loop.create_future()

    def tell(self, fault: str | None = None) -> None:
        """Wake the caller, from any thread: with the vectors, or with a fault."""
        with contextlib.suppress(RuntimeError):  # the caller's loop may be closed by now
            self.loop.call_soon_threadsafe(self.settle, fault)

    def settle(self, fault: str | None) -> None:
        """On the loop. A caller that left has its future cancelled, and is not told."""
        if self.done.done():
            return
        if fault is None:
            self.done.set_result(self.vectors)
        else:
            self.done.set_exception(RetrievalError(fault))


class Lane:
    """See the module. Its threads start with it and end with `close`."""

    def __init__(
        self, embed: Callable[[str], Embedding], pace: Pace, faults: tuple[type[Exception], ...]
    ) -> None:
        self.embed = embed
        self.pace = pace
        self.faults = faults
        """What `embed` may raise; the caller gets `RetrievalError("embedding")`."""
        self.changed = threading.Condition()
        self.waiting: deque[Work] = deque()
        self.closing = False
        names = [f"{pace.name}-{n}" for n in range(pace.threads)]
        self.threads = [threading.Thread(target=self.serve, name=name, daemon=True) for name in names]
        for thread in self.threads:
            thread.start()

    async def run(self, texts: Sequence[str]) -> list[Embedding]:
        """The texts' vectors, in order."""
        if not texts:
            return []
        work = Work(texts, asyncio.get_running_loop())
        self.admit(work)
        return await work.done

    def admit(self, work: Work) -> None:
        """Queue it, or refuse it at once."""
        with self.changed:
            if self.closing:
                raise RetrievalError("unavailable")
            self.waiting = deque(other for other in self.waiting if not other.done.done())
            if len(self.waiting) >= self.pace.waiting:
                raise RetrievalError("overloaded")
            self.waiting.append(work)
            self.changed.notify(len(work.texts))

    def serve(self) -> None:
        """A thread's life."""
        lower_priority(self.pace.nice)
        while taken := self.take():
            work, n = taken
            vector = self.attempt(work.texts[n])
            self.keep(work, n, vector)

    def take(self) -> tuple[Work, int] | None:
        """The next text of the caller whose turn it is; None: the lane closes."""
        with self.changed:
            while not self.closing:
                if not self.waiting:
                    self.changed.wait()
                elif not (work := self.waiting.popleft()).done.done():
                    n, work.started = work.started, work.started + 1
                    if work.started < len(work.texts):
                        self.waiting.append(work)
                    return work, n
        return None

    def attempt(self, text: str) -> Embedding | None:
        """Its vector; None if the model failed. The text is never logged."""
        try:
            return self.embed(text)
        except self.faults as error:
            log.warning("embedding failed", fault=type(error).__name__, characters=len(text))
            return None

    def keep(self, work: Work, n: int, vector: Embedding | None) -> None:
        """Put a vector in its place; the last one wakes the caller."""
        if vector is None:
            return work.tell("embedding")
        with self.changed:
            work.vectors[n] = vector
            work.left -= 1
        return work.tell() if work.left == 0 else None

    async def close(self, seconds: float = 5.0) -> None:
        """Refuse what waits, finish what runs; a thread that hangs is left behind after `seconds`."""
        with self.changed:
            self.closing = True
            dropped, self.waiting = self.waiting, deque()
            self.changed.notify_all()
        for work in dropped:
            work.settle("unavailable")
        await asyncio.to_thread(self.join, time.monotonic() + seconds)

    def join(self, deadline: float) -> None:
        """Wait for the threads until `deadline` (monotonic seconds)."""
        for thread in self.threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def lower_priority(nice: int) -> None:
    """Of the calling thread alone; only Linux counts niceness by thread."""
    if nice and sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
