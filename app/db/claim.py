"""A service's claim on the engines of its Postgres: an embedded engine belongs to one service alone.

Postgres keeps one outbox and one position for each kind of engine (`outbox.py`). Two services with an engine
of their own would take each other's entries and refill theirs for ever. So a service with an embedded engine
locks it alone, and services with a server share the lock. It is a session's advisory lock: Postgres gives it
up with the connection. Two services with two different servers are not told apart: the lock knows only that
each has a server. Raises `StartError`.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

from app.db.jobs import is_open
from app.db.pool import DOWN, Pool, postgres_faults
from app.db.rows import Connection
from app.errors import StartError
from app.settings import Settings

TRIES = 20
"""Of a start: the other service may just be ending."""
RETRY_SECONDS = 0.25
TEST_SECONDS = 5.0
TRY_LOCK = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
TRY_SHARED_LOCK = "SELECT pg_try_advisory_lock_shared(hashtextextended($1, 0))"
KEEPALIVE = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
"""So that Postgres soon notices that the machine of a service is gone, and its claim with it."""
SERVERS = {"qdrant": "QDRANT_URL", "chroma": "CHROMA_URL"}


class EngineClaim:
    def __init__(self, pool: Pool, engines: Mapping[str, bool]) -> None:
        """`engines`: by name, whether each is embedded."""
        self._pool = pool
        self._engines = engines
        self._connection: Connection | None = None
        self._missing = [*engines]
        self._taking = asyncio.Lock()

    async def missing(self) -> list[str]:
        """Engines that another service has claimed; claims them again after the connection was lost. Raises
        `Unavailable`."""
        async with self._taking:
            if not await self._holds():
                await self.release()
                self._missing = [*self._engines]
            if self._missing:
                with postgres_faults():
                    await self._take()
            return list(self._missing)

    async def _holds(self) -> bool:
        """False if the connection is gone. A query finds out."""
        connection = self._connection
        if connection is None or not is_open(connection):
            return False
        try:
            await connection.fetchval("SELECT 1", timeout=TEST_SECONDS)
        except DOWN:
            return False
        return True

    async def _take(self) -> None:
        if self._connection is None:
            self._connection = await self._pool.acquire()
            await self._connection.execute(KEEPALIVE)
        for name in list(self._missing):
            lock = TRY_LOCK if self._engines[name] else TRY_SHARED_LOCK
            if await self._connection.fetchval(lock, f"ibid.engine\x1f{name}"):
                self._missing.remove(name)

    async def release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*DOWN):
                connection.terminate()
            with suppress(*DOWN):
                await self._pool.release(connection)


@asynccontextmanager
async def claim_engines(settings: Settings, pool: Pool) -> AsyncIterator[EngineClaim | None]:
    """The claim of a service until the end of the block; None: its Postgres is embedded, nobody shares it."""
    if settings.postgres.dsn is None:
        yield None
        return
    engines = {"qdrant": settings.qdrant.url is None, "chroma": settings.chroma.url is None}
    claim = EngineClaim(pool, engines)
    try:
        for _ in range(TRIES):
            if not (taken := await claim.missing()):
                break
            await asyncio.sleep(RETRY_SECONDS)
        else:
            raise StartError(refusal(taken))
        yield claim
    finally:
        await claim.release()


def refusal(engines: list[str]) -> str:
    names = " and ".join(name.capitalize() for name in engines)
    wanted = " and ".join(SERVERS[name] for name in engines)
    return (
        f"another service on this Postgres uses {names}, and one of the two has it embedded, in its own data"
        f" folder. Set {wanted} to one server for all services, or stop the other service"
    )
