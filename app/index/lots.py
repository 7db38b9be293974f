"""Lots: the words of a project's rows in memory, a shelf for each tenant, owner and project.

A row at a revision (its xmin) is a document of one passage, named `<id> <revision>`: whoever changes a row
makes another of it. A newer version of a lot reads the list of its rows and the words of those that are new;
what lacks words of today's analysis is analysed in a thread, and kept. All of it in short turns, the lot with
the least left first: one that is large and new holds up nobody else. Raises `RetrievalError`.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import structlog

from app.clients.faults import record_faults, retrieval_faults
from app.clients.pool import Pool
from app.domain.errors import Rejected, Unavailable
from app.index.block import Block
from app.index.bookcase import Bookcase
from app.index.place import Spot
from app.index.shelf import Shelf
from app.index.table import WHOSE, Table, Where
from app.index.turns import Turns
from app.index.words import keep, packed, readable, spoken, unpacked
from app.retrieval.terms import VERSION

MEMORY_BYTES = 512 << 20
AT_ONCE = 2_000
"""Rows whose words one statement reads: some megabytes."""
ANEW = 100
"""Rows that are analysed in one turn: a tenth of a second in a thread, and some hundred kilobytes of text."""
READS = 2
"""Lots read at once: a tenant's hundred projects must not take every connection."""
ANALYSES = 1
"""Beside them, analysed at once: more would wait for the interpreter."""

VERSIONS = """
    SELECT owner, project, version FROM ibid.project_part
    WHERE {where} AND kind = {kind} ORDER BY owner, project
"""
# One statement sees one state: the list is the version's.
LISTED = """
    SELECT coalesce((SELECT version FROM ibid.project_part
            WHERE tenant = $1 AND owner = $2 AND project = $3 AND kind = $4), 0) AS version,
        (SELECT string_agg({id}::text || ' ' || xmin::text, ',') FROM {table}
            WHERE {whose} AND {project} AND ({told})) AS rows
"""
STORED = """
    SELECT id, terms FROM unnest($2::text[], $3::text[]) AS wanted (id, seen)
    JOIN ibid.project_words AS words USING (id, seen) WHERE words.kind = $1 AND words.analysis = $4
"""
TEXTS = "SELECT {id}::text AS id, xmin::text AS seen, {columns} FROM {table} WHERE {id} = ANY($1::uuid[])"
ORPHANS = """
    DELETE FROM ibid.project_words WHERE kind = $1 AND id = ANY($2::text[])
    AND NOT EXISTS (SELECT FROM {table} AS held WHERE held.{id} = project_words.id::uuid)
"""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Lot:
    """Whose rows, of which project."""

    tenant: str
    owner: str
    project: str
    """Its first 200 characters; "": of none."""


Rows: TypeAlias = Shelf[Lot, Spot]
"""Each row by its name, with where it stands."""


class Lots(Bookcase[Lot, Rows]):
    """Those of one table."""

    def __init__(self, pool: Pool, table: Table, *, memory_bytes: int = MEMORY_BYTES) -> None:
        super().__init__(memory_bytes=memory_bytes)
        self._pool = pool
        self._table = table
        self._reads, self._analyses = Turns(READS), Turns(ANALYSES)
        self.gone: Callable[[Collection[str]], None] | None = None
        """Told of the ids of rows that a lot has no more."""

    async def versions(self, tenant: str, where: Where) -> list[tuple[Lot, int]]:
        """The lots in reach and how they stand, in one round trip."""
        [kind] = where.next(1)
        with retrieval_faults():
            rows = await self._pool.fetch(
                VERSIONS.format(where=where.parts, kind=kind), *where.values, self._table.kind
            )
        return [(Lot(tenant, row["owner"], row["project"]), row["version"]) for row in rows]

    def nothing(self, part: Lot) -> Rows:
        """No rows."""
        return Shelf(part, 0, {})

    async def refreshed(self, part: Lot) -> Rows:
        """What is listed now, and only what is new of it read."""
        async with self._reads.of(0):
            version, told = await self._listed(part)
        before = self.held(part) or self.nothing(part)
        change = await asyncio.to_thread(compared, before, told)
        fresh = await self._loaded(change.fresh)
        shelf = await asyncio.to_thread(followed, before, version, change.listed, fresh)
        self.keep(part, shelf)
        if change.gone:
            self.started(self._tidied(change.gone))
            if self.gone:
                self.gone(change.gone)
        return shelf

    async def _listed(self, lot: Lot) -> tuple[int, str]:
        """The version, and every row at its revision."""
        table = self._table
        project = "left(project, 200) = $3" if lot.project else "(project = $3 OR project IS NULL)"
        statement = LISTED.format(
            id=table.id, table=table.name, whose=WHOSE, project=project, told=table.told
        )
        with retrieval_faults():
            row = await self._pool.fetchrow(statement, lot.tenant, lot.owner, lot.project, table.kind)
        assert row is not None  # noqa: S101 - it selects no rows but its own
        return row["version"], row["rows"] or ""

    async def _loaded(self, names: Sequence[str]) -> Block | None:
        """Rows as one block; those that have gone meanwhile are left out."""
        words: dict[str, bytes] = {}
        missing: list[str] = []
        for at in range(0, len(names), AT_ONCE):
            async with self._reads.of(len(names) - at):
                known = await self._stored(names[at : at + AT_ONCE])
            missing += [name for name in names[at : at + AT_ONCE] if name not in known]
            words |= known
        if missing:
            log.info("rows are analysed", kind=self._table.kind, rows=len(missing))
        for at in range(0, len(missing), ANEW):
            async with self._analyses.of(len(missing) - at):
                words |= await self._analysed(missing[at : at + ANEW])
        return await asyncio.to_thread(block, words) if words else None

    async def _stored(self, names: Sequence[str]) -> dict[str, bytes]:
        """Words of today's analysis, by row."""
        by_id = dict(name.split(" ") for name in names)
        with retrieval_faults():
            rows = await self._pool.fetch(
                STORED, self._table.kind, list(by_id), list(by_id.values()), VERSION
            )
        return {f"{row['id']} {by_id[row['id']]}": row["terms"] for row in rows if readable(row["terms"])}

    async def _analysed(self, names: Sequence[str]) -> dict[str, bytes]:
        """Words made from the rows' columns, and kept for the next process. What has changed since it was
        listed stands under its old name until the next search lists it anew."""
        table, by_id = self._table, {row_of(name): name for name in names}
        statement = TEXTS.format(id=table.id, columns=table.columns, table=table.name)
        with retrieval_faults():
            rows = await self._pool.fetch(statement, list(by_id))
        words = await asyncio.to_thread(analysed, table, [dict(row) for row in rows])
        try:
            with record_faults():
                await keep(self._pool, table, words, {row["id"]: row["seen"] for row in rows})
        except (Unavailable, Rejected):
            log.warning("words not kept", kind=table.kind)
        return {by_id[key]: terms for key, terms in words.items()}

    async def _tidied(self, ids: Sequence[str]) -> None:
        """Drop the words of rows that are nowhere any more; a row may have moved to another lot."""
        statement = ORPHANS.format(table=self._table.name, id=self._table.id)
        try:
            with record_faults():
                await self._pool.execute(statement, self._table.kind, ids)
        except (Unavailable, Rejected):
            log.warning("words not dropped", kind=self._table.kind)


def row_of(name: str) -> str:
    """The id of a row named with its revision."""
    return name.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class Change:
    """What a newer list says of a shelf."""

    listed: frozenset[str]
    fresh: Sequence[str]
    """Rows that are new, in order."""
    gone: Sequence[str]
    """Ids of rows that are in this lot no more."""


def compared(before: Rows, told: str) -> Change:
    """A list of rows with those on a shelf; fifty thousand take some 20 ms of a thread."""
    listed = frozenset(told.split(",")) if told else frozenset[str]()
    lost = {row_of(name) for name in before.documents.keys() - listed}
    still = {row_of(name) for name in listed} if lost else set[str]()
    return Change(listed, sorted(listed - before.documents.keys()), sorted(lost - still))


def analysed(table: Table, rows: Sequence[Mapping[str, Any]]) -> dict[str, bytes]:
    """Packed words by id."""
    return {row["id"]: packed(spoken(table, row)) for row in rows}


def block(words: Mapping[str, bytes]) -> Block:
    """Rows as one block, a passage each."""
    return Block(tuple(words), tuple(range(len(words) + 1)), unpacked(list(words.values())), None)


def followed(before: Rows, version: int, listed: Collection[str], fresh: Block | None) -> Rows:
    """The shelf at a newer version, with where each row stands."""
    still = dict.fromkeys(listed, (0, 0))
    shelf = before.followed(version, still, [fresh] if fresh else [])
    return replace(shelf, documents=spots(shelf.blocks))


def spots(blocks: Sequence[Block]) -> dict[str, Spot]:
    """Of the living: a row is a document of one passage."""
    alive = [[True] * each.rows if each.live is None else each.live.tolist() for each in blocks]
    return {
        name: (number, row)
        for number, each in enumerate(blocks)
        for row, name in enumerate(each.documents)
        if alive[number][row]
    }
