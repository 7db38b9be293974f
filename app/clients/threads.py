"""A bounded pool of daemon threads for calls that block: embedded stores, vendors without an async client.

A hung call keeps its thread, a full pool refuses at once (`Overloaded`), and closing waits at most
CLOSE_SECONDS: daemon threads never keep the process alive (DESIGN §6). Used from one event loop.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, TypeVar

from app.domain.errors import Overloaded

CLOSE_SECONDS = 5.0
"""What closing waits for calls under way."""

Result = TypeVar("Result")


class Call(Generic[Result]):
    """One call on its way through a thread: a context manager that hands on how its block ended."""

    def __init__(self, work: Callable[[], Result], free: Callable[[], None]) -> None:
        """`free`: its place, called on the loop however it ends."""
        self.work = work
        self.free = free
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Result] = self.loop.create_future()

    def __enter__(self) -> None:
        """Nothing to set up."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """The error belongs to whoever awaits the call, not to the thread."""
        if error is not None:
            self.settle(self.future.set_exception, error)
        return True

    def make(self) -> None:
        """In the thread. A call nobody waits for any more is not begun."""
        if self.future.cancelled():
            self.settle(self.future.set_exception, None)  # nobody is told
            return
        with self:
            self.settle(self.future.set_result, self.work())

    def settle(self, tell: Callable[[Any], None], outcome: object) -> None:
        """Back on the loop, which may be gone by now."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self.end, tell, outcome)

    def end(self, tell: Callable[[Any], None], outcome: object) -> None:
        """Its place is free before whoever waits goes on: he may ask for the next."""
        self.free()
        if not self.future.done():
            tell(outcome)


class Threads:
    """At most `threads` calls at once and `waiting` more in line."""

    def __init__(self, name: str, *, threads: int = 8, waiting: int = 64) -> None:
        self._name = name
        self._most = threads
        self._limit = threads + waiting
        self._line: queue.SimpleQueue[Call[Any] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._held = 0
        self._under_way: set[asyncio.Future[Any]] = set()
        self._closed = False

    async def run(self, work: Callable[[], Result]) -> Result:
        """What `work` returns or raises. `Overloaded` if the pool is full or closed.

        Cancelled: a call still in line is not made; one under way runs on and keeps its thread.
        """
        if self._closed or self._held >= self._limit:
            raise Overloaded(f"{self._name}: too many calls at once")
        call = Call(work, self._free)
        self._held += 1
        self._under_way.add(call.future)
        call.future.add_done_callback(self._under_way.discard)
        self._line.put(call)
        if len(self._threads) < min(self._most, self._held):
            self._start()
        return await call.future

    def _start(self) -> None:
        """One more thread."""
        name = f"{self._name}-{len(self._threads)}"
        self._threads.append(threading.Thread(target=self._serve, name=name, daemon=True))
        self._threads[-1].start()

    def _serve(self) -> None:
        """A thread's life: one call after the other, until it is told to go."""
        while (call := self._line.get()) is not None:
            call.make()

    def _free(self) -> None:
        """On the loop: one place less is held."""
        self._held -= 1

    async def aclose(self) -> None:
        """Take no more calls; wait for those under way, at most CLOSE_SECONDS; then leave them behind."""
        self._closed = True
        for _ in self._threads:
            self._line.put(None)
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=CLOSE_SECONDS)
