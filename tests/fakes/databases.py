"""A database a test, fresh and migrated: one that an earlier test gave back, if nothing tells it from new.

To empty the tables that a test has written to takes a third of what a copy of the template does (300 files),
or less. What cannot be made as it was, another schema for one, is dropped; so is what has had `ANALYZE`.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import asyncpg

from app.db.embedded import ClusterPlaces

WATCH = """CREATE SCHEMA watch; CREATE TABLE watch.change (tag text); GRANT USAGE ON SCHEMA watch TO PUBLIC;
    GRANT INSERT ON watch.change TO PUBLIC;
    CREATE FUNCTION watch.note() RETURNS event_trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO watch.change VALUES (tg_tag); END $$;
    CREATE EVENT TRIGGER watch ON ddl_command_end EXECUTE FUNCTION watch.note()"""
"""In the template: every change of the schema leaves a row."""
SEALED = """SELECT concat_ws(' ', (SELECT count(*) FROM watch.change),
    (SELECT count(*) FROM pg_statistic WHERE starelid >= 16384),
    (SELECT concat_ws(' ', datdba, datacl, datconnlimit, datallowconn, datistemplate) FROM pg_database
     WHERE datname = current_database()),
    (SELECT count(*) FROM pg_db_role_setting WHERE setdatabase <> 0))"""
SEEDED = """SELECT string_agg(concat_ws(' ', ctid, xmin, row), ',' ORDER BY ctid) FROM (
    SELECT ctid, xmin, id || created_at AS row FROM ibid.tenant UNION ALL
    SELECT ctid, xmin, version_num FROM ibid.alembic_version)"""
SIZES = """SELECT oid::regclass::text, pg_total_relation_size(oid) FROM pg_class
    WHERE relkind = 'r' AND oid >= 16384 AND relnamespace <> 'watch'::regnamespace ORDER BY oid"""
CALLED = (
    "SELECT format('%I.%I', schemaname, sequencename), last_value, start_value FROM pg_sequences ORDER BY 1"
)
LEAVE = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1"
"""Milliseconds to be gone in."""


@dataclass(frozen=True)
class State:
    """All that a test may change of a database."""

    sealed: str
    sizes: dict[str, int]
    called: dict[str, int | None]


@dataclass
class Databases:
    """Those of one worker's server."""

    places: ClusterPlaces
    fresh: State | None = None
    spare: list[str] = field(default_factory=list)
    """Under names that no test has been told: what an earlier one left running finds none of them."""
    serial: Iterator[int] = field(default_factory=itertools.count)

    async def lend(self, admin: asyncpg.Connection, name: str) -> str:
        """The DSN of one. The name is new, and with it its identity (`app/db/postgres.py`)."""
        if self.fresh is None:
            template = await asyncpg.connect(self.places.dsn("postgres", "ibid"))
            await template.execute(WATCH)
            await template.close()
        if self.spare:
            await admin.execute(f"ALTER DATABASE {self.spare.pop()} RENAME TO {name}")
        else:
            await admin.execute(f"CREATE DATABASE {name} TEMPLATE ibid OWNER ibid")
        if self.fresh is None:
            self.fresh = await self.cleaned(name)
        return self.places.dsn("ibid", name)

    async def back(self, admin: asyncpg.Connection, name: str) -> None:
        """As it was, for another test; or gone."""
        await admin.execute(LEAVE, name)
        hidden = f"spare_{next(self.serial)}"
        try:
            await admin.execute(f"ALTER DATABASE {name} RENAME TO {hidden}")
        except asyncpg.ObjectInUseError:  # somebody has come in again
            await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
            return
        if await self.renewed(hidden):
            self.spare.append(hidden)
        else:
            await admin.execute(f"DROP DATABASE {hidden} WITH (FORCE)")

    async def renewed(self, name: str) -> bool:
        """True if nothing tells it from new."""
        try:
            return await self.cleaned(name) == self.fresh
        except asyncpg.PostgresError:  # tables of ours are gone, or nobody may come in
            return False

    async def cleaned(self, name: str) -> State:
        """What it is like with the tables empty that should be, and no number of a sequence given."""
        connection = await asyncpg.connect(self.places.dsn("postgres", name))
        try:
            if self.fresh:
                await clean(connection, self.fresh)
            return await state(connection)
        finally:
            await connection.close()


async def clean(connection: asyncpg.Connection, fresh: State) -> None:
    """Empty what has grown, but for the rows of the migrations; a sequence gives its first number."""
    grown = [table for table, size in await connection.fetch(SIZES) if size != fresh.sizes.get(table)]
    if grown and not {"ibid.tenant", "ibid.alembic_version"} & set(grown):
        await connection.execute(f"TRUNCATE {', '.join(grown)} CASCADE")
    await connection.execute("DELETE FROM ibid.tenant WHERE id <> 'default'")
    for sequence, last, start in await connection.fetch(CALLED):
        if last is not None:
            await connection.execute("SELECT setval($1::text::regclass, $2, false)", sequence, start)


async def state(connection: asyncpg.Connection) -> State:
    """As it is now."""
    sealed = f"{await connection.fetchval(SEALED)} {await connection.fetchval(SEEDED)}"
    sizes, called = await connection.fetch(SIZES), await connection.fetch(CALLED)
    return State(sealed, {row[0]: row[1] for row in sizes}, {row[0]: row[1] for row in called})
