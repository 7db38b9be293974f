"""Points of older tools as rows of the record (`ibid adopt`).

A page of points commits with its rows, their entries in `ibid.imported` and, by triggers, in the outbox. A
point is imported once: again only when its payload has changed, and then its row is replaced. A row that was
removed stays so. Nothing is written for a user who was erased after the point was read. Raises `Unavailable`.
"""

import asyncio
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.clients.faults import postgres_faults
from app.clients.points import Point
from app.clients.pool import Pool
from app.domain.corpus import IDS, Given, placed
from app.domain.memory import RAW, Memory
from app.domain.passage import Embedding, Scope
from app.index import payload, referred, remembered
from app.retrieval.imported import Homes
from app.stores import corpus, register
from app.stores.memories import WRITE, Analysed
from app.stores.spaces import read_spaces
from app.stores.text import storable, storable_json
from app.stores.transaction import Connection, transaction

HOMES = "SELECT name, home, space FROM ibid.collection_home"
COLLECTIONS = "SELECT DISTINCT collection FROM ibid.corpus_text"
UNIMPORTED = """
    SELECT name FROM ibid.collection_home
    WHERE NOT EXISTS (SELECT FROM ibid.imported WHERE collection = name) ORDER BY name
"""
KEEP_HOME = """
    INSERT INTO ibid.collection_home AS known (name, home, space) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET space = excluded.space
    RETURNING xmax = 0 AS fresh
"""
REFILL = "INSERT INTO ibid.outbox (engine) VALUES ('qdrant')"
CHANGED = """
    SELECT given.point FROM unnest($2::text[], $3::bytea[]) AS given (point, digest)
    LEFT JOIN ibid.imported AS known ON known.collection = $1 AND known.point = given.point
    WHERE known.digest IS DISTINCT FROM given.digest
"""
CLOCK = "SELECT clock_timestamp()"
BEFORE = "SELECT DISTINCT tenant, user_id FROM ibid.imported WHERE collection = $1 AND point = ANY($2)"
ERASED = """
    SELECT tenant, user_id FROM ibid.memory_user
    WHERE (tenant, user_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
    AND erased_at IS NOT NULL AND (erased_at > $3 OR ended_at IS NULL)
"""
REPLACED = """
    DELETE FROM ibid.{table} AS kept USING ibid.imported AS known
    WHERE known.collection = $1 AND known.point = ANY($2) AND kept.{column} = known.id
"""
REPLACED_MEMORIES = REPLACED.format(table="memory", column="id")
REPLACED_TEXTS = REPLACED.format(table="corpus_text", column="point")
HAVE_MEMORIES = "SELECT id FROM ibid.memory WHERE id = ANY($1)"
HAVE_TEXTS = "SELECT id FROM ibid.corpus_text WHERE tenant = $1 AND collection = $2 AND id = ANY($3)"
NOTE = """
    INSERT INTO ibid.imported (collection, point, tenant, user_id, id, digest) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (collection, point) DO UPDATE SET tenant = excluded.tenant, user_id = excluded.user_id,
        id = excluded.id, digest = excluded.digest
"""


@dataclass(frozen=True, slots=True)
class Import:
    """A point to be imported."""

    point: Point
    digest: bytes
    tenant: str
    user_id: str
    """"" for a reference text."""
    vector: Embedding
    tokens: int


async def read_homes(pool: Pool) -> Homes:
    """Where the copies of imported collections are."""
    with postgres_faults():
        rows = await pool.fetch(HOMES)
    return Homes({row["name"]: row["home"] for row in rows}, {row["name"]: row["space"] for row in rows})


async def read_unimported(pool: Pool) -> list[str]:
    """Collections of older tools with a copy in Qdrant, of which no point is a row: as an earlier
    version adopted them, or a run that was ended at its first page left them."""
    with postgres_faults():
        return [row[0] for row in await pool.fetch(UNIMPORTED)]


class ImportStore:
    """See the module."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def homes(self) -> Homes:
        """As they are now."""
        return await read_homes(self._pool)

    async def spaces(self) -> set[str]:
        """Names of those that the record has had."""
        return {*await read_spaces(self._pool)}

    async def collections(self) -> list[str]:
        """Those of the record."""
        with postgres_faults():
            return [RAW, *(row[0] for row in await self._pool.fetch(COLLECTIONS))]

    async def keep_home(self, name: str, home: str, space: str | None) -> None:
        """Qdrant holds our copy of `name` in `home` from now on; what it had elsewhere is copied there.
        `space`: of the older tool's vectors, if they belong to one of ours."""
        async with transaction(self._pool) as connection:
            if await connection.fetchval(KEEP_HOME, name, home, space):
                await connection.execute(REFILL)

    async def changed(self, collection: str, digests: Mapping[str, bytes]) -> set[str]:
        """Which of these points were not imported as they are now."""
        with postgres_faults():
            rows = await self._pool.fetch(CHANGED, collection, [*digests], [*digests.values()])
        return {row[0] for row in rows}

    async def clock(self) -> datetime:
        """Postgres's, as `erased_at` is."""
        with postgres_faults():
            now: datetime = await self._pool.fetchval(CLOCK)
        return now

    async def take(self, collection: str, imports: Sequence[Import], space: str, *, since: datetime) -> int:
        """Import points, all or none, that were read after `since`; how many. `space`: of their vectors."""
        size = sum(len(each.vector) + len(payload.text(each.point.payload)) for each in imports)
        self._pool.check_room(2 * size)
        async with transaction(self._pool) as connection:
            if collection == RAW:
                rows = await self._memories(connection, imports, space, since)
            else:
                rows = await self._texts(connection, collection, imports, space)
            notes = [
                (collection, each.point.id, each.tenant, each.user_id, row, each.digest) for each, row in rows
            ]
            await connection.executemany(NOTE, notes)
        return len(notes)

    async def _memories(
        self, connection: Connection, imports: Sequence[Import], space: str, since: datetime
    ) -> list[tuple[Import, str]]:
        """Under their own ids, which votes and answers name; with the row's id, "" where another has it."""
        points = [each.point.id for each in imports]
        before = await connection.fetch(BEFORE, RAW, points)
        owners = sorted({(each.tenant, each.user_id) for each in imports} | {tuple(row) for row in before})
        for owner in owners:
            await register.hold(connection, *owner)
        columns = [[owner[at] for owner in owners] for at in range(2)]
        erased = {tuple(row) for row in await connection.fetch(ERASED, *columns, since)}
        await connection.execute(REPLACED_MEMORIES, RAW, points)
        have = {row[0] for row in await connection.fetch(HAVE_MEMORIES, points)}
        _, revision = await register.stamp(connection)
        those = [each for each in imports if (each.tenant, each.user_id) not in erased]
        memories = [memory_of(each, revision) for each in those]
        analysed = await asyncio.to_thread(lambda: [Analysed.of(memory) for memory in memories])
        every = zip(those, memories, analysed, strict=True)
        rows = [
            (each.tenant, space, *register.row_of(memory), each.vector, found.terms, found.days_of(memory))
            for each, memory, found in every
            if memory.id not in have
        ]
        await connection.executemany(WRITE, rows)
        for owner in owners:
            await register.bump(connection, *owner)
        return [(each, "" if each.point.id in have else each.point.id) for each in those]

    async def _texts(
        self, connection: Connection, collection: str, imports: Sequence[Import], space: str
    ) -> list[tuple[Import, str]]:
        """Under the ids that their passages had, where no other text has them; with the row's point."""
        points = [each.point.id for each in imports]
        before = await connection.fetch(BEFORE, collection, points)
        tenants = sorted({each.tenant for each in imports} | {row["tenant"] for row in before})
        for tenant in tenants:
            await corpus.turn(connection, Scope(tenant), collection)
        await connection.execute(REPLACED_TEXTS, collection, points)
        revision = await connection.fetchval(corpus.REVISION)
        taken = []
        for tenant in tenants:
            some = [each for each in imports if each.tenant == tenant]
            texts = await self._named(connection, tenant, collection, some)
            terms = await asyncio.to_thread(corpus.packed, texts)
            rows = []
            for each, given, packed in zip(some, texts, terms, strict=True):
                place = placed(tenant, collection, given)
                facts = json.dumps(storable_json(dict(given.metadata)))
                told = (storable(given.text), storable(given.title), facts, each.tokens, space, each.vector)
                rows.append((tenant, collection, *place, *told, revision, packed, given.created_at))
                taken.append((each, place[1]))
            await connection.executemany(corpus.ADMIT, rows)
            await corpus.bump(connection, tenant, collection)
        return taken

    async def _named(
        self, connection: Connection, tenant: str, collection: str, imports: Sequence[Import]
    ) -> list[Given]:
        """With ids that no other text of the collection has: their own, their points', or made of them."""
        texts = [referred.given(each.point) for each in imports]
        choices = [
            (storable(text.id or ""), each.point.id, str(uuid.uuid5(IDS, f"{collection}\x1f{each.point.id}")))
            for text, each in zip(texts, imports, strict=True)
        ]
        wanted = [name for names in choices for name in names]
        used = {row[0] for row in await connection.fetch(HAVE_TEXTS, tenant, collection, wanted)}
        named = []
        for text, names in zip(texts, choices, strict=True):
            name = next(name for name in names if name not in used)
            used.add(name)
            named.append(replace(text, id=name))
        return named


def memory_of(each: Import, revision: int) -> Memory:
    """A point as the memory that is kept; it has no place among what was said to us."""
    found = remembered.memory(each.point)
    return replace(
        found,
        user_id=each.user_id,
        text=storable(found.text),
        tokens=each.tokens,
        kind=storable(found.kind),
        tags=tuple(map(storable, found.tags)),
        origin=storable(found.origin),
        vantage_id=storable(found.vantage_id) if found.vantage_id else None,
        thread_id=storable(found.thread_id) if found.thread_id else None,
        place=0,
        fields={storable(name): storable_json(value) for name, value in found.fields.items()},
        revision=revision,
    )
