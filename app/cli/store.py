"""The record itself, for the few commands that speak to it and not to the service (keys, migrate, doctor).

The configured server, else the embedded one: that of the process that holds the folder, else started here.
Raises `StartError`, `Unavailable`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from app.db.embedded import hold, read_lock
from app.db.pool import Pool, open_pool, postgres_faults
from app.db.postgres import bring, look, open_postgres
from app.errors import StartError, Unavailable
from app.settings import Settings

SOCKET_LINE = 4
"""Of postmaster.pid, from 0: the socket's folder (PostgreSQL, utils/pidfile.h)."""


@asynccontextmanager
async def open_store(settings: Settings, *, migrate: bool = True) -> AsyncIterator[Pool]:
    """A pool on the migrated record. `migrate` false: whoever only looks finds the schema as it is, or raises
    `Behind`; nothing there at all is made."""
    folder = settings.ibid.data_dir
    lock = None if settings.postgres.dsn else read_lock(folder)
    if lock is not None:
        dsn = held_dsn(folder / "postgres", lock.url)
        with postgres_faults():
            await (bring(dsn) if migrate else look(dsn))
        async with open_pool(dsn) as pool:
            yield pool
    elif settings.postgres.dsn is None:
        bare = not (folder / "postgres" / "data").exists()
        async with hold(folder), open_postgres(settings, migrate=migrate or bare) as pool:
            yield pool
    else:
        async with open_postgres(settings, migrate=migrate) as pool:
            yield pool


def held_dsn(home: Path, url: str = "") -> str:
    """How to reach the embedded server that another process runs: over its socket, as its user or root.
    `url`: of the service that does, or seems to; "" while it starts."""
    try:
        socket = (home / "data" / "postmaster.pid").read_text().splitlines()[SOCKET_LINE]
    except (OSError, IndexError):
        if url and not (home / "data").exists():
            raise StartError(f"the service at {url} uses another Postgres: set its POSTGRES_DSN") from None
        raise Unavailable("the folder's PostgreSQL is starting or stopping; try again in a moment") from None
    return f"postgresql://ibid@/ibid?host={socket}"
