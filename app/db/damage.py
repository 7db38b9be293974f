"""Finds and repairs damage in the embedded PostgreSQL: reads every table and index once.

Reading a page verifies its checksum; amcheck compares B-trees with their tables. The two extensions are
created in a transaction that is rolled back, so nothing changes. Relations that are locked (a rewrite after
an erasure) or dropped meanwhile are skipped. Raises asyncpg's errors.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg

from app.db.pool import DAMAGE

SECONDS = 30.0
"""Seconds for reading all relations; the rest is not read."""
LOCK_SECONDS = 2
"""Shorter than a rewrite of a table, which is then skipped."""
REFILL_ALL = "INSERT INTO ibid.outbox (engine) VALUES ('qdrant'), ('chroma')"
CONNECT_SECONDS = 10.0
MISSING = "its file is missing"

# Long values are in a TOAST table, reported under the table it belongs to. Small tables first, as most are.
RELATIONS = """
    SELECT this.oid, this.relkind = 'i' AS is_index, this.oid::regclass::text AS name,
        coalesce(owner.oid, index.indrelid, this.oid)::regclass::text AS of,
        CASE WHEN this.relkind = 'r' THEN this.reltuples / nullif(this.relpages, 0) END AS rows,
        am.amname = 'btree' AND index.indisvalid AND index.indisready AS is_tree
    FROM pg_class AS this
    LEFT JOIN pg_index AS index ON index.indexrelid = this.oid
    LEFT JOIN pg_am AS am ON am.oid = this.relam
    LEFT JOIN pg_class AS owner ON owner.reltoastrelid = coalesce(index.indrelid, this.oid)
    WHERE this.relkind IN ('r', 'i', 't', 'm') AND this.relpersistence <> 't'
    ORDER BY this.relkind = 'i', this.relpages, this.oid
"""
READ = "SELECT pg_prewarm($1::oid::regclass, 'buffer')"
HOLD = "SELECT bt_index_check($1::oid::regclass, true)"
PASSED = (asyncpg.LockNotAvailableError, asyncpg.UndefinedTableError, asyncpg.UndefinedObjectError)


@dataclass(frozen=True, slots=True)
class Damage:
    name: str
    """The name in SQL."""
    of: str
    """The table of an index or of a TOAST table; else its own name."""
    said: str
    is_index: bool
    rows: int = 0
    """Estimated rows per page; 0: unknown."""

    def __str__(self) -> str:
        """`table ibid.memory (invalid page in block 5 of relation …; about 3 rows a page)`."""
        kind = "index" if self.is_index else "table"
        of = f" of {self.of}" if self.of != self.name else ""
        return (
            f"{kind} {self.name}{of} ({self.said}{f'; about {self.rows} rows a page' if self.rows else ''})"
        )


@dataclass(frozen=True, slots=True)
class Look:
    damages: Sequence[Damage]
    read: int
    there: int


async def look(dsn: str, *, seconds: float = SECONDS) -> Look:
    until = time.monotonic() + seconds
    connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS, command_timeout=seconds)
    found, tables, read = list[Damage](), set[str](), 0
    try:
        await connection.transaction().start()
        await connection.execute(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'")
        for extension in ("pg_prewarm", "amcheck"):
            await connection.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
        relations = await connection.fetch(RELATIONS)
        for row in relations:
            held = row["is_tree"] and row["of"] not in tables  # a damaged table cannot be compared
            try:
                said = await complaint(connection, row["oid"], (READ, HOLD) if held else (READ,), until)
            except TimeoutError:
                break
            read += 1
            if said:
                rows = round(max(0, row["rows"] or 0))
                found.append(Damage(row["name"], row["of"], said, row["is_index"], rows))
                tables |= set() if row["is_index"] else {row["of"]}
    finally:
        connection.terminate()  # the server rolls back
    return Look(found, read, len(relations))


async def complaint(connection: asyncpg.Connection, oid: int, statements: Sequence[str], until: float) -> str:
    """PostgreSQL's error for one relation, or "". Its lock is released. Raises `TimeoutError`."""
    point = connection.transaction()
    await point.start()
    try:
        for statement in statements:
            if (left := until - time.monotonic()) <= 0:
                raise TimeoutError
            await connection.execute(statement, oid, timeout=left)
    except asyncpg.InvalidParameterValueError:  # pg_prewarm's error for a relation without its first file
        return MISSING
    except DAMAGE as error:
        return str(error)
    except PASSED:
        return ""
    finally:
        await point.rollback()
    return ""


async def rebuild(dsn: str, damages: Sequence[Damage]) -> None:
    connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
    try:
        for each in damages:
            if each.is_index:
                await connection.execute(f"REINDEX INDEX {each.name}")
    finally:
        connection.terminate()


async def give_up(dsn: str, damages: Sequence[Damage]) -> None:
    """Discard the rows of damaged pages, and all rows of a table whose file is missing. The search engines
    are refilled at the next start: no trigger reports those rows."""
    connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
    try:
        await connection.execute("SET zero_damaged_pages = on")
        for each in damages:
            if not each.is_index:
                await connection.execute(f"{'TRUNCATE' if each.said == MISSING else 'VACUUM FULL'} {each.of}")
        if await connection.fetchval("SELECT to_regclass('ibid.outbox')"):
            await connection.execute(REFILL_ALL)
    finally:
        connection.terminate()
