"""A bounded pool of daemon threads for calls that block: vendors without an async client.

A hung call keeps its thread, a full pool refuses at once (`Overloaded`), and closing waits at most
CLOSE_SECONDS: daemon threads never keep the process alive. Used from one event loop.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from app.errors import Overloaded

CLOSE_SECONDS = 5.0
"""What closing waits for calls under way."""

Result = TypeVar("Result")


class Threads:
    """At most `threads` calls at once and `waiting` more in line."""

    def __init__(self, name: str, *, threads: int = 8, waiting: int = 64) -> None:
        self._name = name
        self._most = threads
        self._limit = threads + waiting
        self._held = 0
        """Calls that hold a place: also those whose caller has left."""
        self._counting = threading.Lock()
        self._line: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._under_way: set[asyncio.Future[Any]] = set()
        self._closed = False

    async def run(self, work: Callable[[], Result]) -> Result:
        """What `work` returns or raises. `Overloaded` if the pool is full or closed.

        Cancelled: a call still in line is not made; one under way runs on and keeps its thread.
        """
        if self._closed or self._held >= self._limit:
            raise Overloaded(f"{self._name}: too many calls at once")
        self._count(1)
        call: Future[Result] = Future()
        call.add_done_callback(lambda _: self._count(-1))  # before whoever waits goes on to ask again
        answer = asyncio.wrap_future(call)
        self._under_way.add(answer)
        answer.add_done_callback(self._under_way.discard)
        self._line.put((call, work))
        if len(self._threads) < min(self._most, self._held):
            name = f"{self._name}-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._serve, name=name, daemon=True))
            self._threads[-1].start()
        return await answer

    def _count(self, more: int) -> None:
        with self._counting:
            self._held += more

    def _serve(self) -> None:
        """A thread's life: one call after the other, until it is told to go."""
        while (item := self._line.get()) is not None:
            call, work = item
            if not call.set_running_or_notify_cancel():
                continue
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001 - it belongs to whoever awaits the call
                call.set_exception(error)
            else:
                call.set_result(result)

    async def aclose(self) -> None:
        """Take no more calls; wait for those under way, at most CLOSE_SECONDS; then leave them behind."""
        self._closed = True
        for _ in self._threads:
            self._line.put(None)
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=CLOSE_SECONDS)
