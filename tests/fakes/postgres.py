"""Servers of Postgres: a database a test, fresh and migrated, an embedded server looked at from outside, and
a real one for POSTGRES_DSN, killed, started again, or hung.

A database is one that an earlier test gave back, if nothing tells it from new: to empty the tables that a
test has written to takes a third of what a copy of the template does (300 files), or less. What cannot be
made as it was, another schema for one, is dropped; so is what has had `ANALYZE`.
"""

import itertools
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
from anyio.from_thread import BlockingPortal, start_blocking_portal

from app.db.embedded import Cluster, ClusterPlaces, prepare
from tests.fakes.process import family, kill


@dataclass
class PostgresServer:
    """A server and its faults; `dsn` stays the same over all of them."""

    cluster: Cluster
    portal: BlockingPortal

    @property
    def dsn(self) -> str:
        return self.cluster.dsn

    def start(self) -> None:
        """Up and answering, recovered from whatever ended it."""
        self.portal.call(self.cluster.start)

    def kill(self) -> None:
        """Gone at once (`kill -9` of all its processes): connections break, new ones are refused."""
        kill(self.family())

    def stop_answering(self) -> None:
        """Hung (SIGSTOP): the kernel still takes connections, and nothing is said on them."""
        for pid in self.family():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        """As before, with all that was asked meanwhile."""
        for pid in self.family():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    async def ended(self) -> None:
        """The loop knows that the postmaster is dead."""
        if self.cluster.process:
            await self.cluster.process.wait()

    def family(self) -> set[int]:
        """The postmaster and its backends."""
        assert self.cluster.process
        return family(self.cluster.process.pid)


@contextmanager
def postgres_server(home: Path) -> Iterator[PostgresServer]:
    """One that answers; dead after the block whatever happened."""
    with start_blocking_portal() as portal:
        server = PostgresServer(Cluster(prepare(home), {}), portal)
        portal.call(server.cluster.create)  # unless it is there
        try:
            server.start()
            yield server
        finally:
            server.kill()
            # The loop ends with this block: what it has not heard the end of it tells as a leak, at any test.
            portal.call(server.ended)
            server.cluster.places.vacate()


async def ask(cluster: Cluster, sql: str) -> object:
    """One value, over a connection of its own."""
    connection = await asyncpg.connect(cluster.dsn)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


def pid(cluster: Cluster) -> int:
    assert cluster.process
    return cluster.process.pid


def status(number: int) -> dict[str, str]:
    """/proc's page on a process; empty if there is none."""
    page = Path(f"/proc/{number}/status")
    lines = page.read_text().splitlines() if page.exists() else []
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def alive(number: int) -> bool:
    """True if a process runs; one that only waits to be reaped does not."""
    return status(number).get("State", "Z")[0] != "Z"


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
    (SELECT count(*) FROM pg_db_role_setting WHERE setdatabase <> 0),
    (SELECT string_agg(concat_ws(' ', ctid, xmin, row), ',' ORDER BY ctid) FROM (
        SELECT ctid, xmin, id || created_at AS row FROM ibid.tenant UNION ALL
        SELECT ctid, xmin, version_num FROM ibid.alembic_version)))"""
"""Changes of the schema, statistics, rights, and the rows that the migrations wrote."""
SEEDS = {"ibid.tenant", "ibid.alembic_version"}
SIZES = """SELECT oid::regclass::text, pg_relation_size(oid) FROM pg_class
    WHERE relkind = 'r' AND oid >= 16384 AND relnamespace <> 'watch'::regnamespace ORDER BY oid"""
BEGUN = """SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    FROM pg_sequences WHERE last_value IS NOT NULL"""
LEAVE = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1"
"""Milliseconds to be gone in."""


@dataclass(frozen=True)
class State:
    """What tells a new database from one that was used."""

    sealed: str
    sizes: dict[str, int]


@dataclass
class Databases:
    """Those of one worker's server."""

    places: ClusterPlaces
    admin: asyncpg.Connection
    fresh: State | None = None
    spare: list[str] = field(default_factory=list)
    """Under names that no test has been told: what an earlier one left running finds none of them."""
    serial: Iterator[int] = field(default_factory=itertools.count)

    async def lend(self, name: str) -> str:
        """The DSN of one. The name is new, and with it its identity (`app/db/postgres.py`)."""
        if self.fresh is None:
            template = await asyncpg.connect(self.places.dsn("postgres", "ibid"))
            await template.execute(WATCH)
            await template.close()
        if self.spare:
            await self.admin.execute(f"ALTER DATABASE {self.spare.pop()} RENAME TO {name}")
        else:
            await self.admin.execute(f"CREATE DATABASE {name} TEMPLATE ibid OWNER ibid")
        if self.fresh is None:
            connection = await asyncpg.connect(self.places.dsn("postgres", name))
            sizes = {row[0]: row[1] for row in await connection.fetch(SIZES)}
            self.fresh = State(await connection.fetchval(SEALED), sizes)
            await connection.close()
        return self.places.dsn("ibid", name)

    async def back(self, name: str) -> None:
        """As it was, for another test; or gone."""
        await self.admin.execute(LEAVE, name)
        hidden = f"spare_{next(self.serial)}"
        try:
            await self.admin.execute(f"ALTER DATABASE {name} RENAME TO {hidden}")
        except asyncpg.ObjectInUseError:  # somebody has come in again
            await self.admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
            return
        if await self.renewed(hidden):
            self.spare.append(hidden)
        else:
            await self.admin.execute(f"DROP DATABASE {hidden} WITH (FORCE)")

    async def renewed(self, name: str) -> bool:
        """Empty what has grown, begin the sequences again; True if then nothing tells it from new."""
        assert self.fresh
        try:
            connection = await asyncpg.connect(self.places.dsn("postgres", name))
        except asyncpg.PostgresError:  # nobody may come in
            return False
        try:
            sizes = await connection.fetch(SIZES)
            grown = {table for table, size in sizes if size != self.fresh.sizes.get(table)}
            if SEEDS & grown:
                return False
            if grown:
                await connection.execute(f"TRUNCATE {', '.join(grown)} CASCADE")
            await connection.execute("DELETE FROM ibid.tenant WHERE id <> 'default'")
            await connection.fetch(BEGUN)
            return bool(await connection.fetchval(SEALED) == self.fresh.sealed)
        except asyncpg.PostgresError:  # tables of ours are gone
            return False
        finally:
            await connection.close()
