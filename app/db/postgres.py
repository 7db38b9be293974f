"""Opens Postgres: embedded or at POSTGRES_DSN, migrated if needed, behind the pool.

The schema's revision is compared without alembic, whose import takes half a second that nearly no start
needs. `identity` names the database, since two may share a cache, and a restored dump contains every row.
`VACUUM FULL` and a new log remove deleted rows from the files of the embedded server (docs/adr/0017); a table
is locked meanwhile, about a second for 100 MB. Times are in seconds. Raises `StartError`, `Damaged`,
`Unavailable`.
"""

import asyncio
import hashlib
import json
import re
import sysconfig
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import asyncpg

from app.db.embedded import open_cluster
from app.db.pool import DAMAGE, PATIENCE, PATIENCE_SHARE, Pool, damaged, open_pool, postgres_faults
from app.errors import StartError, Unavailable
from app.settings import Settings

CONNECT_SECONDS = 10.0

CHECKOUT = Path(__file__).parents[2] / "alembic"
INSTALLED = Path(sysconfig.get_path("data")) / "share" / "ibid" / "alembic"
"""Where pyproject's data-files put the scripts of an installed copy."""

DECLARED = re.compile(r'^(revision|down_revision)\b[^=\n]*= *"(\w+)"', re.MULTILINE)
RECORDED = "SELECT array_agg(version_num) FROM ibid.alembic_version"


def scripts() -> Path:
    for folder in (CHECKOUT, INSTALLED):
        if (folder / "env.py").is_file():
            return folder
    raise StartError(f"the migration scripts are missing: neither {CHECKOUT} nor {INSTALLED} is there")


def heads() -> list[str]:
    """Revisions that no other builds on; more than one is an error that alembic reports."""
    declared = [dict(DECLARED.findall(path.read_text())) for path in (scripts() / "versions").glob("*.py")]
    below = {each.get("down_revision") for each in declared}
    return [each["revision"] for each in declared if "revision" in each and each["revision"] not in below]


class Behind(StartError):
    """A read-only command found a schema older or newer than its own."""


async def is_newest(dsn: str) -> bool:
    """True if there is nothing to migrate. A migration under way has recorded nothing yet."""
    return await recorded(dsn) == heads()


async def recorded(dsn: str) -> list[str] | None:
    connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS, command_timeout=CONNECT_SECONDS)
    try:
        found: list[str] | None = await connection.fetchval(RECORDED)
    except DAMAGE as error:
        raise damaged(error) from error
    except asyncpg.PostgresError:  # no such table or schema, or no permission: alembic reports it
        return None
    else:
        return found
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


async def migrate_if_needed(dsn: str) -> None:
    if await is_newest(dsn):
        return
    from app.db.migrations import migrate  # noqa: PLC0415 - heavy vendor, opened late

    await migrate(dsn)


async def check_revision(dsn: str) -> None:
    """Raises `Behind` if the schema is not the newest: a running service of another version needs its own."""
    found = await recorded(dsn)
    if found is None:
        raise Behind("the database has no tables of Ibid yet")
    if found != heads():
        has, wants = ", ".join(found), ", ".join(heads())
        raise Behind(f"the database has the schema {has}, this version of Ibid wants {wants}")


PROBE_SECONDS = 2.0


@asynccontextmanager
async def open_server(settings: Settings) -> AsyncIterator[str]:
    """DSN of the configured server, or of an embedded one that runs until the end of the block."""
    if settings.postgres.dsn:
        yield settings.postgres.dsn.get_secret_value()
        return
    async with open_cluster(settings.ibid.data_dir / "postgres") as cluster:
        yield cluster.dsn


@asynccontextmanager
async def open_postgres(settings: Settings, *, migrate: bool = True) -> AsyncIterator[Pool]:
    """A pool on a migrated database. Without `migrate` it raises `Behind` for another schema."""
    async with open_server(settings) as dsn:
        try:
            await (migrate_if_needed(dsn) if migrate else check_revision(dsn))
        except ValueError:  # its text quotes the DSN, perhaps with the password
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
    return dsn.replace("postgresql://ibid@", "postgresql://postgres@", 1)


class PostgresProbe:
    name = "postgres"

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def check(self) -> Mapping[str, str | int | float]:
        with postgres_faults():
            async with self.pool.acquire(timeout=PROBE_SECONDS) as connection:
                version = await connection.fetchval("SHOW server_version", timeout=PROBE_SECONDS)
        return {"version": str(version), "connections": self.pool.get_size()}


BASE = """
    SELECT base.oid::bigint, base.datname, tenant.created_at::text
    FROM ibid.tenant AS tenant, pg_database AS base
    WHERE tenant.id = 'default' AND base.datname = current_database()
"""
"""The database's oid and name on its server, and the creation time of its first tables in microseconds."""
SERVER = "SELECT system_identifier FROM pg_control_system()"
"""The server's identifier, set by initdb; some hosts do not grant access to it."""


async def identity(pool: Pool) -> str:
    """64 hex digits, the same for every replica. Two databases share them only if the data folder of one is a
    copy of the other's."""
    with postgres_faults():
        parts = list(await pool.fetchrow(BASE) or ())
        with suppress(asyncpg.SyntaxOrAccessError):  # class 42: no permission, or it does not exist
            parts.append(await pool.fetchval(SERVER))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


VACUUM_CONNECT_SECONDS = 5.0
TABLE_SECONDS = 600.0
LOCK_SECONDS = 2.0
"""Short and retried, because later statements queue behind one that waits for a lock."""
TRIES = 30
OLD_SECONDS = 60.0
"""Seconds to wait for older statements: a rewritten table would keep the rows that they may still see."""

XID = "SELECT pg_current_xact_id()::xid"
# age() counts back from now: an older snapshot has a greater age.
OLDER = """
    SELECT count(*) FROM pg_stat_activity
    WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND age(backend_xmin) > age($1::text::xid)
"""
STATISTICS = "pg_catalog.pg_statistic"


async def compact(dsn: str, tables: Sequence[str]) -> None:
    """Rewrite these tables, the statistics and the log. `dsn`: of the server's superuser."""
    with postgres_faults():
        connection = await asyncpg.connect(dsn, timeout=VACUUM_CONNECT_SECONDS, command_timeout=TABLE_SECONDS)
        try:
            await connection.execute(f"SET lock_timeout = {round(LOCK_SECONDS * 1000)}")
            await wait_for_older_snapshots(connection)
            for table in (*tables, STATISTICS):
                await rewrite_table(connection, table)
            # The rest of the segment is zeroed by the switch; the checkpoint removes what is before it.
            await connection.execute("SELECT pg_switch_wal()")
            await connection.execute("CHECKPOINT")
        finally:
            await connection.close(timeout=VACUUM_CONNECT_SECONDS)


async def wait_for_older_snapshots(connection: asyncpg.Connection) -> None:
    now = str(await connection.fetchval(XID))
    async with asyncio.timeout(OLD_SECONDS):
        while await connection.fetchval(OLDER, now):  # noqa: ASYNC110 - no event announces it
            await asyncio.sleep(0.1)


async def rewrite_table(connection: asyncpg.Connection, table: str) -> None:
    """Rewrite a table with its indexes and statistics. `table` is a constant of ours, never user input."""
    for left in reversed(range(TRIES)):
        try:
            await connection.execute(f"VACUUM (FULL, ANALYZE) {table}")
            return
        except asyncpg.LockNotAvailableError:
            if not left:
                raise Unavailable(f"{table} is in use") from None
            await asyncio.sleep(0.2)
