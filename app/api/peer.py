"""The client at the other end: here, or gone. Nothing is raised but `ClientDisconnect`.

A request that nobody waits for any more is not worked on: the model behind it costs money.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

T = TypeVar("T")

ENDINGS: set[asyncio.Task[None]] = set()
"""What is being let go, held until it is done: nobody waits for it who may not be cancelled too."""


async def gone(receive: Receive) -> None:
    """Returns when the client has left. Only after the whole body was read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_gone(
    receive: Receive, work: Coroutine[Any, Any, T], *, lost: Callable[[T], Awaitable[None]] | None = None
) -> T:
    """What `work` returns or raises; the client leaving cancels it: `ClientDisconnect`. `lost` closes a
    result that nobody gets, because we were cancelled as it came."""
    task, leaving = asyncio.create_task(work), asyncio.create_task(gone(receive))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        # Done in the same moment: what was opened must reach its owner, who closes it.
        if task.done():
            await end(leaving)
            return task.result()
        raise ClientDisconnect
    except (asyncio.CancelledError, ClientDisconnect):
        ending = asyncio.create_task(let_go(task, leaving, lost))
        ENDINGS.add(ending)
        ending.add_done_callback(ENDINGS.discard)
        await asyncio.shield(ending)
        raise


async def let_go(
    task: asyncio.Task[T], leaving: asyncio.Task[None], lost: Callable[[T], Awaitable[None]] | None
) -> None:
    """End both, and close what came of the work all the same."""
    await end(task, leaving)
    if lost and not task.cancelled() and not task.exception():
        await lost(task.result())


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel what still runs and see it end, whatever it ends with: its owner is here."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()
