"""Turns at something scarce: a few at a time, the least work first, of equal work who came first.

Long work takes many short turns, and between two of its own somebody else's: little work waits for one turn
and never for all. For one event loop. Nothing here raises.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count


class Turns:
    """`at_once` of them."""

    def __init__(self, at_once: int) -> None:
        self._free = at_once
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._came = count()

    @asynccontextmanager
    async def of(self, work: int) -> AsyncIterator[None]:
        """One turn; `work` is what is left to be done, this included, in whatever unit all use."""
        await self._taken(work)
        try:
            yield
        finally:
            self._passed()

    async def _taken(self, work: int) -> None:
        """Wait for it."""
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (work, next(self._came), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # given to one who has just left
                self._passed()
            raise

    def _passed(self) -> None:
        """To the next who still waits, if anybody does."""
        while self._waiting:
            turn = heappop(self._waiting)[2]
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
