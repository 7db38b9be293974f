"""Brings a database to the newest schema (`alembic/versions`), at a start that finds another (`postgres.py`).

All in one transaction under an advisory lock: whoever starts at once takes turns (alembic's state is global
to a process, so two runs in one must not overlap either), and a failed migration leaves nothing behind.
Importing this takes half a second (SQLAlchemy): import it late. Raises `StartError` where a person must act,
else what asyncpg raises for a server that is not there.
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
"""A migration may rewrite a large table; waiting for another replica's counts too."""

LOCK = text("SELECT pg_advisory_xact_lock(6941)")
"""Any number that nobody else on the database uses."""

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
    """Upgrade the database behind `dsn`; nothing to do is done in a few milliseconds."""
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
