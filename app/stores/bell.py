"""Rings when something is announced (NOTIFY), as a job is, at the latest after POLL seconds.

A notification only saves waiting: if the listening connection breaks (Postgres restarts, a failover) the
bell polls until it listens again. Times are seconds. Nothing here raises.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

import asyncpg

from app.clients.faults import DOWN
from app.clients.pool import Pool
from app.stores.transaction import Connection

POLL = 1.0
"""Also finds what nobody announces: a retry that is due, a lease that ran out."""
CLOSE_SECONDS = 2.0


class Bell:
    """Entered, it keeps one connection of the pool for listening; not entered, it just polls."""

    def __init__(self, pool: Pool, channel: str, heard: Callable[[str], None] | None = None) -> None:
        """`heard`: called with the text of each notification."""
        self._pool = pool
        self._channel = channel
        self._heard = heard
        self._connection: Connection | None = None
        self._entered = False
        self._rung = asyncio.Event()
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        self._entered = True
        await self._listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered = False
        async with self._lock:
            await self._let_go()

    async def wait(self, *, seconds: float) -> None:
        """Until it rings, at most `seconds` and POLL. It remembers a ring that nobody waited for."""
        await self._listen()
        with suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, POLL)):
                await self._rung.wait()
        self._rung.clear()

    async def _listen(self) -> None:
        """Listen, if we should and do not."""
        async with self._lock:
            if not self._entered or lives(self._connection):
                return
            await self._let_go()
            with suppress(*DOWN):
                self._connection = await self._pool.acquire()
                await self._connection.add_listener(self._channel, self._ring)

    async def _let_go(self) -> None:
        """Give the connection back to the pool; a broken one too, and never one that still listens."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        deaf = False
        with suppress(*DOWN):
            async with asyncio.timeout(CLOSE_SECONDS):
                await connection.remove_listener(self._channel, self._ring)
            deaf = True
        with suppress(*DOWN):
            if not deaf:  # the pool resets nothing: whoever has it next would be rung at
                connection.terminate()
            await self._pool.release(connection, timeout=CLOSE_SECONDS)

    def _ring(self, _connection: object, _pid: object, _channel: object, payload: object) -> None:
        if self._heard:
            self._heard(str(payload))
        self._rung.set()


def lives(connection: Connection | None) -> bool:
    """Whether a connection is open: the pool takes a broken one back by itself, and then asking raises."""
    with suppress(asyncpg.InterfaceError):
        return connection is not None and not connection.is_closed()
    return False
