"""One transaction of a store, all or none: the one door for writes of more than one statement.

Raises `Unavailable` when Postgres is down or slow, `NoRoom` when its disk is full; what the body raises rolls
back and passes on.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

import asyncpg
from asyncpg.pool import PoolConnectionProxy

from app.clients.pool import Pool

if TYPE_CHECKING:
    Connection: TypeAlias = PoolConnectionProxy[asyncpg.Record]
else:
    Connection = PoolConnectionProxy  # generic in the stubs alone


@asynccontextmanager
async def transaction(pool: Pool) -> AsyncIterator[Connection]:
    """A connection in a transaction: committed at the end, rolled back on any error or cancellation."""
    pool.check_room()
    with pool.asking():
        async with pool.acquire() as connection, connection.transaction():
            yield connection
