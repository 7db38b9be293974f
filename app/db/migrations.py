"""Upgrades a database to the newest schema (`alembic/versions`) when `postgres.py` finds an older one.

All in one transaction under an advisory lock: concurrent starts take turns (also within a process, whose
alembic state is global), and a failed migration leaves no trace. Importing this takes half a second
(SQLAlchemy): import it late. Raises `StartError` if a person must act, else asyncpg's errors for a missing
server.
"""

import asyncpg
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from alembic import command
from app.db.postgres import CONNECT_SECONDS, scripts
from app.errors import StartError

STATEMENT_SECONDS = 600.0
"""A migration may rewrite a large table, or wait for another replica's."""

LOCK = text("SELECT pg_advisory_xact_lock(6941)")
"""Any number that no other program uses on this database."""

PGVECTOR = (
    "; let an administrator run CREATE EXTENSION vector on this database once (pgvector must be installed "
    "on its machine, as in the image pgvector/pgvector)"
)


def configuration() -> Config:
    config = Config()
    config.set_main_option("script_location", str(scripts()).replace("%", "%%"))
    return config


def upgrade(connection: Connection, revision: str) -> None:
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


async def migrate(dsn: str, revision: str = "head") -> None:
    """Upgrade the database at `dsn`. Takes a few milliseconds if it is up to date."""
    # asyncpg reads the DSN itself: sockets, several hosts, sslmode and passfile work as in the pool.
    opened = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS, command_timeout=STATEMENT_SECONDS)

    async def given() -> asyncpg.Connection:
        return opened

    engine = create_async_engine("postgresql+asyncpg://", async_creator=given, poolclass=NullPool)
    try:
        async with engine.begin() as connection:
            await connection.execute(LOCK)
            await connection.run_sync(upgrade, revision)
    except CommandError as error:
        raise StartError(f"the database was written by another version of Ibid: {error}") from error
    except DBAPIError as error:
        hint = PGVECTOR if "CREATE EXTENSION" in (error.statement or "") else ""
        raise StartError(f"the database cannot be migrated: {error.orig}{hint}") from error
    finally:
        await engine.dispose()
