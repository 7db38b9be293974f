"""Long-lived tasks, concurrent work on many items, deadlines, blocking work, and the stopwatch of an answer
(milliseconds).

A long-lived task that dies is a bug: it is logged, and restarted after PAUSE seconds, so that a service never
runs without its worker. A deadline is a time of the loop. Times are in seconds.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from itertools import islice
from typing import Any, ParamSpec, TypeVar

import structlog

from app.errors import RetrievalError
from app.types import Degraded

PAUSE = 1.0
LOOP_CHARACTERS = 1_000
"""Characters of text that are processed on the event loop: about a millisecond."""

P = ParamSpec("P")
T = TypeVar("T")

Work = Callable[[], Awaitable[None]]
Item = TypeVar("Item")
Result = TypeVar("Result")

log = structlog.get_logger(__name__)


@asynccontextmanager
async def crew(works: Mapping[str, Work], *, stop_seconds: float = 5.0) -> AsyncIterator[None]:
    """Run each of `works` until the end of the block; then cancel, and wait `stop_seconds` at most."""
    tasks = [asyncio.create_task(kept_going(name, work), name=name) for name, work in works.items()]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        _, hung = await asyncio.wait(tasks, timeout=stop_seconds) if tasks else (set(), set())
        for task in hung:
            log.error("task did not stop", task=task.get_name())


async def kept_going(name: str, work: Work) -> None:
    """Run `work`; if it ends or dies, log that and run it again."""
    while True:
        task = asyncio.ensure_future(work())
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        log.error(
            "task ended", task=name, error=repr(task.exception()) if not task.cancelled() else "cancelled"
        )
        await asyncio.sleep(PAUSE)


async def side_by_side(
    work: Callable[[Item], Coroutine[Any, Any, Result]], items: Iterable[Item], at_once: int
) -> AsyncGenerator[Result, None]:
    """Results of `work` for each item, as they come, `at_once` concurrently. The first error cancels the
    others."""
    left, running = iter(items), set[asyncio.Task[Result]]()
    try:
        while True:
            running |= {asyncio.create_task(work(item)) for item in islice(left, at_once - len(running))}
            if not running:
                return
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                yield task.result()
    finally:
        await cancelled(running)


async def cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until they have ended; their outcomes are dropped."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    await asyncio.gather(*ending, return_exceptions=True)


def deadline(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


async def timely(name: str, work: Awaitable[T], until: float, lost: list[Degraded]) -> T | None:
    """The result of `work`; None, and an entry in `lost`, if it fails or is not there by `until`."""
    try:
        async with asyncio.timeout_at(until):
            return await work
    except TimeoutError:
        reason = "timeout"
    except RetrievalError as error:
        reason = error.reason
    log.warning("part failed", part=name, reason=reason)
    lost.append(Degraded(name, reason))
    return None


async def aside(size: int, work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Blocking work on `size` characters of text; in a thread if they are more than LOOP_CHARACTERS."""
    return await asyncio.to_thread(work, *args, **named) if size > LOOP_CHARACTERS else work(*args, **named)


class Stages:
    def __init__(self) -> None:
        self.took: dict[str, int] = {}
        """Milliseconds by stage, in the order of their ends."""
        self._since = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.took[name] = round((now - self._since) * 1000)
        self._since = now


def elapsed(since: datetime, now: datetime) -> int:
    return round((now - since).total_seconds() * 1000)
