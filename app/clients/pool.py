"""The pool of Postgres connections, with deadlines (seconds) and Postgres's breaker (`domain/breaker.py`).

Every wait has a deadline, also the wait for a free connection. Opening connects to nothing; a first statement
does. Methods raise what asyncpg raises; `reading`, `recording` and `asking` go around them, translate that
(`faults.py`), and refuse at once while Postgres is known to be down.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path

import asyncpg
from asyncpg.pool import PoolAcquireContext, PoolConnectionProxy

from app import disk
from app.clients.faults import postgres_faults, record_faults, retrieval_faults
from app.clients.vector import register
from app.domain.breaker import Breaker, is_down
from app.domain.errors import RetrievalError, Unavailable

MAX_CONNECTIONS = 16
"""A replica's share: the embedded server takes 50, a small managed one 100."""
CONNECT_SECONDS = 5.0
ACQUIRE_SECONDS = 5.0
COMMAND_SECONDS = 15.0
"""A statement's own deadline where the caller gives none (`timeout=`)."""
RELEASE_SECONDS = 0.1
"""For giving a connection back, its interrupted statement called off: whoever has given up waiting for a hung
server must not wait for the giving up. Where it takes longer the connection is dropped."""
CLOSE_SECONDS = 5.0
PATIENCE = 1.5
"""A caller that waited this long and then gave up had a deadline; one before that has left."""
PATIENCE_SHARE = 0.25
"""Of RAG_TIMEOUT_SECONDS, where that is less: below every deadline that is a part of it."""
LASTING = 3.0
"""Failures within less open nothing, as while Postgres is restarted (docs/decisions/0020)."""


class Connection(asyncpg.Connection):
    """A connection that is given back as it is: nothing of ours outlives its transaction (advisory locks and
    cursors are a transaction's, the bell takes its LISTEN back), and the statement that would undo it costs
    every other statement a round trip. A transaction left open is still rolled back."""

    def get_reset_query(self) -> str:
        """None."""
        return ""


class Pool(asyncpg.Pool):
    """asyncpg's pool, but nobody queues for a connection for ever."""

    superuser: str | None = None
    """DSN of the embedded server's own superuser; None: the server is another's."""
    home: Path | None = None
    """Folder of the embedded server; None: likewise."""
    patience: float = PATIENCE
    """See PATIENCE."""
    breaker: Breaker
    """Opened by `reading` and `recording` alone: a large upload or a long list may be slow on a server that
    is well."""

    def check_room(self, size: int = 0) -> None:
        """Raise `NoRoom` before a write that could leave the embedded server without room for its log: it
        would stop, and reads with it. `size`: bytes of new content, where there are many."""
        if self.home:
            disk.check(self.home, disk.RESERVE if size else disk.LEAST, size)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around what an answer can do without. Raises `RetrievalError`."""
        if self.breaker.refuses:
            raise RetrievalError("unavailable")
        with self.breaker.attempt(is_down, patience=self.patience), retrieval_faults():
            yield

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Around the log of answers. Raises `Unavailable`, `NoRoom`, `Damaged`, `Rejected`."""
        self._refuse()
        with self.breaker.attempt(is_down, patience=PATIENCE), record_faults():
            yield

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Around all else. While the breaker is open one of these may be its probe. Not within one another.
        Raises `Unavailable`, `NoRoom`, `Damaged`."""
        self._refuse()
        with nullcontext() if self.breaker.closed else self.breaker.attempt(is_down), postgres_faults():
            yield

    def _refuse(self) -> None:
        if self.breaker.refuses:
            raise Unavailable("Postgres does not answer", retry_after=self.breaker.retry_after)

    def acquire(self, *, timeout: float | None = None) -> "PoolAcquireContext[asyncpg.Record]":
        """A connection within `timeout` seconds; `TimeoutError` after that."""
        return super().acquire(timeout=ACQUIRE_SECONDS if timeout is None else timeout)

    async def release(
        self,
        connection: "PoolConnectionProxy[asyncpg.Record]",
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - asyncpg's
    ) -> None:
        """Given back, or dropped: what the statement came to is for its caller, not how it was put away."""
        with suppress(TimeoutError):  # asyncpg has ended the connection by then
            await super().release(connection, timeout=RELEASE_SECONDS if timeout is None else timeout)


def build(dsn: str, max_size: int) -> Pool:
    """The pool, not yet opened."""
    pool = Pool(
        dsn,
        min_size=0,
        max_size=max_size,
        max_queries=50_000,
        max_inactive_connection_lifetime=300.0,
        init=register,
        loop=None,
        connection_class=Connection,
        record_class=asyncpg.Record,
        timeout=CONNECT_SECONDS,
        command_timeout=COMMAND_SECONDS,
        server_settings={"application_name": "ibid", "timezone": "UTC"},
    )
    pool.breaker = Breaker(time.monotonic, lasting=LASTING)
    return pool


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
