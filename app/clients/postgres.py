"""Postgres, opened: the embedded server where POSTGRES_DSN is unset, migrated, behind a pool.

The pool's connections give and take `vector` columns as the domain's `Embedding` bytes (`vector.py`), jsonb
as text, times as aware UTC. Statements' faults: `faults.py`. Raises `StartError` on opening.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import asyncpg

from app.clients.cluster import open_cluster
from app.clients.faults import postgres_faults
from app.clients.pool import PATIENCE, PATIENCE_SHARE, Pool, open_pool
from app.clients.revision import bring, look
from app.config import Settings
from app.domain.errors import StartError

PROBE_SECONDS = 2.0


@asynccontextmanager
async def open_server(settings: Settings) -> AsyncIterator[str]:
    """The DSN of a running server: the one that is configured, or our own while the block lasts."""
    if settings.postgres.dsn:
        yield settings.postgres.dsn.get_secret_value()
        return
    async with open_cluster(settings.ibid.data_dir / "postgres") as cluster:
        yield cluster.dsn


@asynccontextmanager
async def open_postgres(settings: Settings, *, migrate: bool = True) -> AsyncIterator[Pool]:
    """A pool on a migrated database, until the end of the block. `migrate` false: as it is, or `Behind`."""
    async with open_server(settings) as dsn:
        try:
            await (bring(dsn) if migrate else look(dsn))
        except ValueError:  # its text quotes the DSN, and so perhaps the password
            raise StartError(
                "POSTGRES_DSN is not of the form postgresql://user:password@host/database"
            ) from None
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            raise StartError(f"Postgres cannot be opened: {error}") from error
        async with open_pool(dsn) as pool:
            if settings.postgres.dsn is None:
                pool.superuser = superuser(dsn)
                pool.home = settings.ibid.data_dir / "postgres"
            pool.patience = min(PATIENCE, PATIENCE_SHARE * settings.rag.timeout_seconds)
            yield pool


def superuser(dsn: str) -> str:
    """Of the embedded server, whose socket none but us can reach."""
    return dsn.replace("postgresql://ibid@", "postgresql://postgres@", 1)


class PostgresProbe:
    """Whether Postgres answers, for /readyz (`domain/ports.py`, Probe)."""

    name = "postgres"

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def check(self) -> Mapping[str, str | int | float]:
        """Versions and connections in use; `Unavailable` if it does not answer in 2 s."""
        with postgres_faults():
            async with self.pool.acquire(timeout=PROBE_SECONDS) as connection:
                version = await connection.fetchval("SHOW server_version", timeout=PROBE_SECONDS)
        return {"version": str(version), "connections": self.pool.get_size()}
