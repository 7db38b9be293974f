"""The client at the other end: here, or gone. Nothing is raised but `ClientDisconnect`.

A request that nobody waits for any more is not worked on: the model behind it costs money.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

T = TypeVar("T")


async def gone(receive: Receive) -> None:
    """Returns when the client has left. Only after the whole body was read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns or raises; the client leaving cancels it: `ClientDisconnect`."""
    task, leaving = asyncio.create_task(work), asyncio.create_task(gone(receive))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        # Done in the same moment: what was opened must reach its owner, who closes it.
        if task.done():
            return task.result()
        raise ClientDisconnect
    finally:
        await end(task, leaving)


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel what still runs and see it end, whatever it ends with: its owner is here."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()
