"""Single flight: work that several ask for at once is begun once, and belongs to none of them.

Whoever leaves does not stop it for the others; when nobody waits any more it is cancelled. Each waiter has
a deadline of its own, in seconds. Errors of the work reach everybody who waits for it.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class Flights(Generic[Result]):
    """What is under way, by key."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Task[Result], int] = {}
        """Every task that has not ended, and how many wait for it."""
        self._under_way: dict[str, asyncio.Task[Result]] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    async def join(
        self, key: str, work: Callable[[], Coroutine[Any, Any, Result]], *, seconds: float
    ) -> Result | None:
        """What the work under way for `key` comes to, begun if there is none. None: not in `seconds`, or the
        service closes."""
        task = self._under_way.get(key) or self._begin(key, work())
        self._waiting[task] += 1
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            self._leave(key, task)
        return task.result() if task.done() and not task.cancelled() else None

    def _begin(self, key: str, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """The task of the first who asks."""
        task = self._under_way[key] = asyncio.create_task(work)
        self._waiting[task] = 0
        task.add_done_callback(lambda done: self._ended(key, done))
        return task

    def _leave(self, key: str, task: asyncio.Task[Result]) -> None:
        """One waiter less. A task that nobody wants is cancelled, and nobody may join it any more."""
        if task in self._waiting:
            self._waiting[task] -= 1
            if not self._waiting[task]:
                self._forget(key, task)
                task.cancel()

    def _ended(self, key: str, task: asyncio.Task[Result]) -> None:
        """Its error, if any, was for those who waited."""
        self._forget(key, task)
        self._waiting.pop(task, None)
        if not task.cancelled():
            task.exception()

    def _forget(self, key: str, task: asyncio.Task[Result]) -> None:
        """The next who asks begins anew."""
        if self._under_way.get(key) is task:
            del self._under_way[key]

    async def aclose(self) -> None:
        """End what is under way."""
        tasks = list(self._waiting)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
