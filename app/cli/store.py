"""The record itself, for the few commands that speak to it and not to the service (`keys`, `migrate`).

The configured server, else the embedded one: that of the process that holds the folder, else started here.
Raises `StartError`, `Unavailable`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from app.clients.faults import postgres_faults
from app.clients.folder import hold, read_lock
from app.clients.pool import Pool, open_pool
from app.clients.postgres import open_postgres
from app.clients.revision import bring
from app.config import Settings
from app.domain.errors import Unavailable

SOCKET_LINE = 4
"""Of postmaster.pid, from 0: the socket's folder (PostgreSQL, utils/pidfile.h)."""


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Pool]:
    """A pool on the migrated record."""
    folder = settings.ibid.data_dir
    if settings.postgres.dsn is None and read_lock(folder) is not None:
        dsn = held_dsn(folder / "postgres")
        with postgres_faults():
            await bring(dsn)
        async with open_pool(dsn) as pool:
            yield pool
    elif settings.postgres.dsn is None:
        async with hold(folder), open_postgres(settings) as pool:
            yield pool
    else:
        async with open_postgres(settings) as pool:
            yield pool


def held_dsn(home: Path) -> str:
    """How to reach the embedded server that another process runs: over its socket, as its user or root."""
    try:
        socket = (home / "data" / "postmaster.pid").read_text().splitlines()[SOCKET_LINE]
    except (OSError, IndexError):
        raise Unavailable("the folder's PostgreSQL is starting or stopping; try again in a moment") from None
    return f"postgresql://ibid@/ibid?host={socket}"
