"""Postgres, for the few commands that use it directly and not through the service (keys, migrate, doctor).

It is the configured server, else the embedded one: of the process that holds the folder, or started here.
Raises `StartError`, `Unavailable`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from app.db.folder import hold, read_lock
from app.db.pool import Pool, open_pool, postgres_faults
from app.db.postgres import check_revision, migrate_if_needed, open_postgres
from app.errors import StartError, Unavailable
from app.settings import Settings

SOCKET_LINE = 4
"""The line of postmaster.pid, from 0, with the socket's folder (PostgreSQL, utils/pidfile.h)."""


@asynccontextmanager
async def open_store(settings: Settings, *, migrate: bool = True) -> AsyncIterator[Pool]:
    """A pool on the migrated database. With `migrate` false an older schema is left as it is and raises
    `Behind`; a missing database is still created."""
    folder = settings.ibid.data_dir
    lock = None if settings.postgres.dsn else read_lock(folder)
    if lock is not None:
        dsn = held_dsn(folder / "postgres", lock.url)
        with postgres_faults():
            await (migrate_if_needed(dsn) if migrate else check_revision(dsn))
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
    """The DSN of the embedded server that another process runs: over its socket, as its user or root. `url`
    is that process's address, "" while it starts."""
    try:
        socket = (home / "data" / "postmaster.pid").read_text().splitlines()[SOCKET_LINE]
    except (OSError, IndexError):
        if url and not (home / "data").exists():
            raise StartError(f"the service at {url} uses another Postgres: set its POSTGRES_DSN") from None
        raise Unavailable("the folder's PostgreSQL is starting or stopping; try again in a moment") from None
    return f"postgresql://ibid@/ibid?host={socket}"
