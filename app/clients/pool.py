"""The pool of Postgres connections: every wait of it has a deadline (seconds), also the wait for a free one.

Opening connects to nothing; a first statement does. Raises what asyncpg raises; see `faults.py`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import asyncpg
from asyncpg.pool import PoolAcquireContext

from app.clients.vector import register

MAX_CONNECTIONS = 16
"""A replica's share: the embedded server takes 50, a small managed one 100."""
CONNECT_SECONDS = 5.0
ACQUIRE_SECONDS = 5.0
COMMAND_SECONDS = 15.0
"""A statement's own deadline where the caller gives none (`timeout=`)."""
CLOSE_SECONDS = 5.0


class Pool(asyncpg.Pool):
    """asyncpg's pool, but nobody queues for a connection for ever."""

    def acquire(self, *, timeout: float | None = None) -> "PoolAcquireContext[asyncpg.Record]":
        """A connection within `timeout` seconds; `TimeoutError` after that."""
        return super().acquire(timeout=ACQUIRE_SECONDS if timeout is None else timeout)


def build(dsn: str, max_size: int) -> Pool:
    """The pool, not yet opened."""
    return Pool(
        dsn,
        min_size=0,
        max_size=max_size,
        max_queries=50_000,
        max_inactive_connection_lifetime=300.0,
        init=register,
        loop=None,
        connection_class=asyncpg.Connection,
        record_class=asyncpg.Record,
        timeout=CONNECT_SECONDS,
        command_timeout=COMMAND_SECONDS,
        server_settings={"application_name": "ibid", "timezone": "UTC"},
    )


@asynccontextmanager
async def open_pool(dsn: str, *, max_size: int = MAX_CONNECTIONS) -> AsyncIterator[Pool]:
    """A pool on a migrated database; leaving waits 5 s for statements under way, then cuts them off."""
    pool = await build(dsn, max_size)
    try:
        yield pool
    finally:
        with suppress(TimeoutError):  # asyncpg has cut the rest off by then
            async with asyncio.timeout(CLOSE_SECONDS):
                await pool.close()
