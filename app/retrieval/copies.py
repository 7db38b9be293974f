"""The copies of the record in Qdrant (memories, reference texts) and Chroma (documents), for the outbox.

A copy takes single items as the record has them now, or everything (a refill): it writes what the record has,
then deletes what the record does not have. Rows are read page by page and nothing is embedded. Each copy also
stores its `Position`. Raises `RetrievalError`, `Unavailable`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from secrets import randbelow
from uuid import uuid4

import asyncpg
import numpy as np
import structlog

from app.db.corpus import COLUMNS as TEXT_COLUMNS
from app.db.corpus import reference
from app.db.memories import COLUMNS, OTHERS, RAW, memory
from app.db.outbox import Position, RefillCursor
from app.db.pool import Pool, postgres_faults
from app.db.rows import Connection, transaction
from app.db.vectors import read_spaces
from app.errors import RetrievalError, Unavailable, required
from app.retrieval.index_cache import EXACT_BYTES
from app.retrieval.points import memory_to_point, owned, text_to_point
from app.retrieval.retrievers.chroma import OURS, Chroma, collection, key_of, passage_id
from app.retrieval.retrievers.chroma_child import REMADE_MOST
from app.retrieval.retrievers.points import DENSE, Point, Where
from app.retrieval.retrievers.qdrant import (
    MARK,
    NOT_IMPORTED,
    NOT_OURS,
    CollectionCache,
    ImportedCollections,
    PayloadIndexes,
    Qdrant,
    fits,
    free,
    is_ours,
)
from app.types import Embedding, Scope, Space

PAGE = 256
"""Rows or points per page."""
IDS = 2_000
"""Vector ids per request."""
SAMPLE = 16
"""Vectors of a collection that are compared with the record."""
ALIKE = 1e-3
"""Largest difference between equal vectors: an engine may normalise them again."""
STATE = "51d1b1d0-0000-5000-8000-000000000001"
"""Id of the point in `memory_raw` that holds the position; it has no user, so no search reaches it."""
POSITION = "ibid-position"
"""Collection and id of the vector that holds Chroma's position."""
READ_SECONDS = 60.0
"""Deadline of reading the vectors of one document."""
FIELDS = PayloadIndexes(
    keys=("source", "kind", "vantage_id", "space", *MARK),
    tenants=("tenant", "user_id"),
    times=("created_at",),
)
MEMORIES = f"SELECT {COLUMNS}, tenant, space, embedding FROM ibid.memory WHERE space = $1 AND "  # noqa: S608
TEXTS = f"""
    SELECT {TEXT_COLUMNS}, tenant, collection, space, embedding FROM ibid.corpus_text WHERE space = $1 AND
"""  # noqa: S608 - constants of ours
NEXT_MEMORIES = f"{MEMORIES} id > $2 ORDER BY id LIMIT $3"
THESE_MEMORIES = f"{MEMORIES} id = ANY($2)"
NEXT_TEXTS = f"{TEXTS} (tenant, collection, id) > ($2, $3, $4) ORDER BY tenant, collection, id LIMIT $5"
THESE_TEXTS = f"{TEXTS} collection = $2 AND point = ANY($3)"
SWEEP = "3 sweep"
"""Last part of a refill: deletes Ibid's points that are not in the record."""
PARTS = {
    "1 memories": (NEXT_MEMORIES, ("id",), "2 texts"),
    "2 texts": (NEXT_TEXTS, ("tenant", "collection", "id"), SWEEP),
}
"""Earlier parts in order: the statement of the next page, the key of its rows, and the part that follows."""
COUNTS = f"""
    SELECT '{RAW}', count(*) FROM ibid.memory WHERE space = $1 HAVING count(*) > 0
    UNION ALL SELECT collection, count(*) FROM ibid.corpus_text WHERE space = $1 GROUP BY collection
"""  # noqa: S608 - constants of ours
KNOWN = {
    True: "SELECT id FROM ibid.memory WHERE id = ANY($1) AND $2 <> ''",
    False: "SELECT point FROM ibid.corpus_text WHERE point = ANY($1) AND collection = $2",
}
"""Selects those of given points that are in the record; keyed by whether they are memories."""
ENQUEUE = {
    True: "INSERT INTO ibid.outbox (engine, collection, item) SELECT 'qdrant', $2::text, id FROM"
    " (SELECT id FROM ibid.memory WHERE space = $1 EXCEPT SELECT item FROM ibid.outbox"
    " WHERE engine = 'qdrant' AND collection = $2) AS missing",
    False: "INSERT INTO ibid.outbox (engine, collection, item) SELECT 'qdrant', $2::text, point FROM"
    " (SELECT point FROM ibid.corpus_text WHERE space = $1 AND collection = $2 EXCEPT SELECT item"
    " FROM ibid.outbox WHERE engine = 'qdrant' AND collection = $2) AS missing",
}
"""Enqueues all rows of a collection that are not in the outbox; keyed by whether they are memories."""
KNOWN_VECTORS = {
    True: "SELECT id, embedding FROM ibid.memory WHERE id = ANY($1) AND $2 <> '' AND space = $3",
    False: "SELECT point, embedding FROM ibid.corpus_text"
    " WHERE point = ANY($1) AND collection = $2 AND space = $3",
}
"""As KNOWN, with the vectors."""
TAKEN = {
    True: "SELECT EXISTS (SELECT id FROM ibid.memory WHERE space = $1 EXCEPT"
    " SELECT item FROM ibid.outbox WHERE engine = 'qdrant' AND collection = $2)",
    False: "SELECT EXISTS (SELECT point FROM ibid.corpus_text WHERE space = $1 AND collection = $2 EXCEPT"
    " SELECT item FROM ibid.outbox WHERE engine = 'qdrant' AND collection = $2)",
}
"""True if the engine has taken a row (it has left the outbox); keyed by whether they are memories."""
REFILLING = "SELECT EXISTS (SELECT FROM ibid.outbox WHERE engine = 'qdrant' AND item = '')"
IN_USE = "SELECT EXISTS (SELECT FROM ibid.corpus_text WHERE collection = $1)"
READY = "state = 'ready' AND removed_at IS NULL"
THESE_DOCUMENTS = f"SELECT id, tenant, owner, session_id FROM ibid.document WHERE id = ANY($1) AND {READY}"  # noqa: S608
NEXT_DOCUMENTS = f"""
    SELECT id, tenant, owner, session_id,
        (SELECT count(*) FROM ibid.chunk WHERE document_id = document.id AND space = $2) AS vectors
    FROM ibid.document WHERE id > $1 AND {READY} ORDER BY id LIMIT 16
"""  # noqa: S608 - constants of ours
VECTORS = "SELECT ordinal, embedding FROM ibid.chunk WHERE document_id = $1 AND space = $2 ORDER BY ordinal"
CHUNK_VECTORS = """
    SELECT document_id, ordinal, embedding FROM ibid.chunk
    JOIN unnest($1::text[], $2::int[]) AS wanted (document_id, ordinal) USING (document_id, ordinal)
    WHERE space = $3
"""
LARGEST = f"""
    SELECT coalesce(max(vectors), 0) FROM (
        SELECT sum(chunks)::bigint AS vectors FROM ibid.document WHERE {READY}
        GROUP BY tenant, owner, session_id) AS part
"""  # noqa: S608 - a constant of ours
CHUNKS = f"SELECT coalesce(sum(chunks), 0)::bigint FROM ibid.document WHERE {READY}"  # noqa: S608 - as above
EMBEDDED = f"""
    SELECT count(*) FROM ibid.chunk JOIN ibid.document ON document.id = document_id
    WHERE space = $1 AND {READY}
"""  # noqa: S608 - as above

HOMES_SECONDS = 2.0
"""Seconds between two looks for copies that moved, on a server that replicas share."""
HOMES = "SELECT name, home, space FROM ibid.collection_home"

UNIMPORTED = """
    SELECT name FROM ibid.collection_home
    WHERE space IS DISTINCT FROM $1 AND NOT EXISTS (SELECT FROM ibid.imported WHERE collection = name)
    ORDER BY name
"""
SET_HOME = """
    INSERT INTO ibid.collection_home (name, home, space) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET home = excluded.home, space = excluded.space
    RETURNING xmax = 0 AS fresh
"""

log = structlog.get_logger(__name__)


async def set_home(connection: Connection, name: str, home: str, space: str | None) -> bool:
    """Record that the copy of `name` is in the collection `home`; the caller enters its rows in the outbox.
    `space` is that of the other tool's vectors. True if the copy had no home before."""
    return bool(await connection.fetchval(SET_HOME, name, home, space))


async def read_imported_collections(pool: Pool) -> ImportedCollections:
    with postgres_faults():
        rows = await pool.fetch(HOMES)
    return ImportedCollections(
        {row["name"]: row["home"] for row in rows}, {row["name"]: row["space"] for row in rows}
    )


async def read_unimported(pool: Pool) -> list[str]:
    """Other tools' collections with a copy in Qdrant but no row in Postgres: adopted by an earlier version,
    or an import that ended at its first page."""
    with postgres_faults():
        return [row[0] for row in await pool.fetch(UNIMPORTED, NOT_IMPORTED)]


class QdrantCopy:
    """Memories and reference texts; `ibid.collection_home` names the collection of each copy.

    The names are read on each call: `ibid adopt` may import a collection while a replica runs, and its points
    must not be overwritten. If another tool has a collection of the same name that cannot hold our vectors,
    the copy gets another name. Also implements `Files` of `db/users.py`.
    """

    name = "qdrant"

    def __init__(
        self,
        pool: Pool,
        points: Qdrant,
        catalogue: CollectionCache,
        space: Space,
        *,
        external: bool = False,
        imports: ImportedCollections | None = None,
    ) -> None:
        """`external`: Qdrant is a server. `imports`: updated in place, for the retrievers."""
        self.external = external
        self._imports = imports or ImportedCollections()
        self._pool = pool
        self._points = points
        self._catalogue = catalogue
        self._space = space
        self._failed: set[str] = set()
        """Collections that rejected rows in the current refill."""

    async def position(self) -> Position | None:
        for point in await self._points.scroll(await self._physical_name(RAW), Where(ids=(STATE,)), limit=1):
            stored = point.payload
            return Position(str(stored.get("identity", "")), int(stored.get("seq", 0)))
        return None

    async def save_position(self, position: Position) -> None:
        stored = {**MARK, "identity": position.identity, "seq": position.seq}
        await self._put(RAW, [Point(STATE, stored)])

    async def apply(self, collection: str, items: Sequence[str]) -> None:
        with postgres_faults():
            if collection == RAW:
                rows = await self._pool.fetch(THESE_MEMORIES, self._space.name, list(items))
            else:
                rows = await self._pool.fetch(THESE_TEXTS, self._space.name, collection, list(items))
        for item in items:
            if item.startswith(OTHERS):
                await self._remove_others(*item.removeprefix(OTHERS).split("\x1f"))
        points = [point(row) for row in rows]
        if points and await self._put(collection, points) and await self._had_rows(collection):
            self._points.report_lost([collection])
        gone = set(items) - {each.id for each in points}
        if gone:
            await self._points.remove(await self._physical_name(collection), Where(ids=tuple(gone)))
            await self._drop_if_unused(collection)

    async def _remove_others(self, tenant: str, user_id: str) -> None:
        where = replace(owned(Scope(tenant, user_id=user_id)), lacks=NOT_OURS)
        for name in {RAW, await self._physical_name(RAW)}:
            await self._points.remove(name, where)

    async def refill_page(self, cursor: RefillCursor) -> tuple[int, RefillCursor | None]:
        """Make room for our vectors, write all rows, then sweep one collection at a time. A collection that
        fails while Qdrant answers is skipped and its rows enter the outbox, except that the memories' must be
        swept: it may hold an erased person's points."""
        if not cursor:
            await self._make_room()
            return 0, (next(iter(PARTS)),)
        part, *after = cursor
        if part in PARTS:
            statement, key, following = PARTS[part]
            rows = await self._rows(statement, *(after or ("",) * len(key)))
            if not rows:
                return 0, (following,)
            return await self._write_rows(rows), (part, *(rows[-1][name] for name in key))
        left = sorted(name for name in await self._catalogue.all() if [name] > after)
        if not left:
            return 0, None
        if left[0] == await self._physical_name(RAW):
            await self._sweep(left[0])
        else:
            await self._try(left[0], partial(self._sweep, left[0]))
        return 0, (SWEEP, left[0])

    async def _make_room(self) -> None:
        """Empty collections with another vector size (from before `ibid reembed`) of our points; where
        another tool's points remain, the copy gets another collection."""
        self._failed = set()
        self._catalogue.forget()
        for name, shape in dict(await self._catalogue.all()).items():
            if not fits(shape, self._space):
                await self._try(name, partial(self._sweep, name, everything=True))
        for name in {RAW, *await self._counts()}:
            await self._try(name, partial(self._collection_for, name))

    async def total(self) -> int:
        return sum((await self._counts()).values())

    async def is_complete(self) -> bool:
        marks = tuple((name, (value,)) for name, value in MARK.items())
        where = Where(has=(*marks, ("space", (self._space.name,))))
        imports = await self._read_imports()
        wanted = {imports.copy_of(name): count for name, count in (await self._counts()).items()}
        made = {name for name, shape in (await self._catalogue.all()).items() if shape.dense == DENSE}
        for physical in {*wanted, *made, imports.copy_of(RAW), *imports.copies.values()}:
            if await self._points.count(physical, where) != wanted.get(physical, 0):
                return False
        return True

    async def sample_matches(self) -> bool:
        imports = await self._read_imports()
        where = Where(
            has=(*((name, (value,)) for name, value in MARK.items()), ("space", (self._space.name,)))
        )
        for name in await self._counts():
            physical, start = imports.copy_of(name), str(uuid4())
            found = await self._points.scroll(physical, where, limit=SAMPLE, after=start, vectors=True)
            if len(found) < SAMPLE:
                found += await self._points.scroll(physical, where, limit=SAMPLE, vectors=True)
            with postgres_faults():
                ids = [each.id for each in found]
                rows = await self._pool.fetch(KNOWN_VECTORS[name == RAW], ids, name, self._space.name)
            known = dict(map(tuple, rows))
            if not all(alike(each.dense, known[each.id]) for each in found if each.id in known):
                return False
        return True

    async def compact(self, holdings: Collection[str]) -> Collection[str]:
        """Rewrite the collections of memories and cards (the copy and the imported one); reference texts
        belong to no user. Always returns nothing."""
        for name in sorted({await self._physical_name(RAW), RAW}) if "memories" in holdings else ():
            await self._points.compact(name)
        return ()

    async def follow_homes(self) -> None:
        while True:
            with suppress(Unavailable):
                await self._read_imports()
            await asyncio.sleep(HOMES_SECONDS)

    async def _counts(self) -> Mapping[str, int]:
        with postgres_faults():
            return {row[0]: row[1] for row in await self._pool.fetch(COUNTS, self._space.name)}

    async def _rows(self, statement: str, *after: object) -> list[asyncpg.Record]:
        with postgres_faults():
            return list(await self._pool.fetch(statement, self._space.name, *after, PAGE))

    async def _write_rows(self, rows: Sequence[asyncpg.Record]) -> int:
        taken = 0
        for name, some in by_collection(rows).items():
            if name in self._failed:
                continue
            if await self._try(name, partial(self._put, name, [point(row) for row in some])):
                taken += len(some)
                continue
            with postgres_faults():
                await self._pool.execute(ENQUEUE[name == RAW], self._space.name, name)
            self._failed.add(name)
        return taken

    async def _try(self, name: str, work: Callable[[], Awaitable[object]]) -> bool:
        """Try at most twice. False if only this collection fails; raises if Qdrant does not answer."""
        for last in (False, True):
            try:
                await work()
            except (RetrievalError, Unavailable) as error:
                try:
                    await self._points.check()
                except RetrievalError:
                    raise error from None
                if last:
                    log.warning("a collection is left out of a refill", collection=name, reason=error.detail)
            else:
                return True
        return False

    async def _physical_name(self, name: str) -> str:
        return (await self._read_imports()).copy_of(name)

    async def _read_imports(self) -> ImportedCollections:
        found = await read_imported_collections(self._pool)
        self._imports.copies, self._imports.spaces = found.copies, found.spaces
        return found

    async def _put(self, name: str, points: Sequence[Point]) -> bool:
        return await self._catalogue.put(await self._collection_for(name), self._space, FIELDS, points)

    async def _had_rows(self, name: str) -> bool:
        """True if a missing collection had taken rows and no refill is under way to restore them."""
        with postgres_faults():
            return bool(
                not await self._pool.fetchval(REFILLING)
                and await self._pool.fetchval(TAKEN[name == RAW], self._space.name, name)
            )

    async def _collection_for(self, name: str) -> str:
        """The collection of the copy, which may not exist yet. The copy moves to a new one if the present one
        cannot hold our vectors and has another tool's points, or belongs to another copy."""
        imports = await self._read_imports()
        home = imports.copy_of(name)
        if imports.name_of(home) == name:
            if await self._usable(home):
                return home
            await self._sweep(home, everything=True)
            if await self._usable(home):
                return home
        new = free(name, {*await self._catalogue.all(), *imports.copies.values(), *await self._counts()})
        log.warning("another tool owns this collection; a new one is used", collection=name, home=new)
        async with transaction(self._pool) as connection:
            await set_home(connection, name, new, imports.spaces.get(name, NOT_IMPORTED))
            await connection.execute(ENQUEUE[name == RAW], self._space.name, name)
        await self._read_imports()
        return new

    async def _usable(self, physical: str) -> bool:
        with required("Qdrant"):
            shape = await self._catalogue.get(physical)
        return shape is None or fits(shape, self._space)

    async def _sweep(self, physical: str, *, everything: bool = False) -> None:
        name, left = (await self._read_imports()).name_of(physical), False
        spaces = {self._space.name, *await read_spaces(self._pool)}
        older = Where(has=(("space", tuple(sorted(spaces))),), lacks=NOT_OURS)
        for where in (Where(has=NOT_OURS), older):  # a server's collection may have millions of other points
            after = None
            while page := await self._points.scroll(physical, where, limit=PAGE, after=after):
                after = page[-1].id
                ours = {each.id for each in page if is_ours(each.payload, spaces)}
                known = set() if everything or name is None else {STATE, *await self._known(name, [*ours])}
                left = left or not ours.isdisjoint(known)
                if gone := ours - known:
                    await self._points.remove(physical, Where(ids=tuple(gone)))
        if not left and name is not None:
            await self._drop(physical)

    async def _known(self, name: str, points: Sequence[str]) -> set[str]:
        with postgres_faults():
            return {row[0] for row in await self._pool.fetch(KNOWN[name == RAW], list(points), name)}

    async def _drop_if_unused(self, name: str) -> None:
        with postgres_faults():
            used = name == RAW or await self._pool.fetchval(IN_USE, name)
        if not used:
            await self._drop(await self._physical_name(name))

    async def _drop(self, name: str) -> None:
        with required("Qdrant"):
            self._catalogue.forget()
            shape = await self._catalogue.get(name)
            ours = shape is not None and shape.dense == DENSE
            if ours and await self._points.count(name, Where()) == 0:
                await self._points.drop(name)
                self._catalogue.forget()


def point(row: asyncpg.Record) -> Point:
    space, vector = row["space"], row["embedding"]
    if "point" in row:
        return text_to_point(Scope(row["tenant"]), reference(row), vector, space)
    return memory_to_point(Scope(row["tenant"], user_id=row["user_id"]), memory(row), vector, space)


def alike(found: Embedding | None, known: Embedding) -> bool:
    if found is None or len(found) != len(known):
        return False
    return np.allclose(np.frombuffer(found, "<f4"), np.frombuffer(known, "<f4"), rtol=0, atol=ALIKE)


def by_collection(rows: Sequence[asyncpg.Record]) -> dict[str, list[asyncpg.Record]]:
    found: dict[str, list[asyncpg.Record]] = {}
    for row in rows:
        found.setdefault(row.get("collection", RAW), []).append(row)
    return found


class ChromaCopy:
    """The documents' vectors. Also implements `types.Probe` and `Files` of `db/users.py`."""

    name = "chroma"

    def __init__(self, pool: Pool, chroma: Chroma, space: Space, *, exact_bytes: int = EXACT_BYTES) -> None:
        """`exact_bytes`: scopes up to this size are searched without Chroma (EXACT_MAX_MB)."""
        self._pool = pool
        self._chroma = chroma
        self._exact = exact_bytes // (4 * space.dim)
        self._damaged = False
        """True if vectors differ from the record: the next refill writes all of them."""
        self._space = space
        self._names = {is_global: collection(space.name, is_global=is_global) for is_global in (True, False)}

    async def position(self) -> Position | None:
        """Stored in a vector; reading it creates no collection."""
        if POSITION not in await self._chroma.names():
            return None
        for stored in await self._chroma.payloads(POSITION, {"of": POSITION}):
            return Position(str(stored.get("identity", "")), int(str(stored.get("seq", 0))))
        return None

    async def save_position(self, position: Position) -> None:
        stored = {"of": POSITION, "identity": position.identity, "seq": position.seq}
        await self._chroma.upsert(POSITION, [POSITION], np.ones((1, 1), np.float32), [stored])

    async def apply(self, collection: str, items: Sequence[str]) -> None:
        with postgres_faults():
            rows = await self._pool.fetch(THESE_DOCUMENTS, list(items))
        for row in rows:
            await self._write(row)
        for item in set(items) - {row["id"] for row in rows}:
            await self._delete(item)

    async def refill_page(self, cursor: RefillCursor) -> tuple[int, RefillCursor | None]:
        """Write documents with missing vectors, then delete those that are not in the record. Deletes
        collections of other spaces, and first those found damaged."""
        if self._damaged and not cursor:
            for name in self._names.values():
                await self._chroma.forget(name)
            self._damaged = False
        with postgres_faults():
            rows = await self._pool.fetch(NEXT_DOCUMENTS, "".join(cursor), self._space.name)
        for row in rows:
            if len(await self._vector_ids(row)) != row["vectors"]:
                await self._write(row)
        if rows:
            return sum(row["vectors"] for row in rows), (rows[-1]["id"],)
        for name in self._names.values():
            for item in await self._unknown(name):
                await self._delete(item)
        others = {name for name in await self._chroma.names() if OURS.match(name)} - {*self._names.values()}
        for name in sorted(others):
            await self._chroma.forget(name)
        await self._chroma.filled()
        return 0, None

    async def total(self) -> int:
        with postgres_faults():
            return int(await self._pool.fetchval(CHUNKS))

    async def is_complete(self) -> bool:
        held = (await self.check())["vectors"]
        if held == await self.total():
            return True
        with postgres_faults():  # slower: some chunks may have no vector of the space
            return bool(held == await self._pool.fetchval(EMBEDDED, self._space.name))

    async def sample_matches(self) -> bool:
        for name in {*self._names.values()}.intersection(await self._chroma.names()):
            start = randbelow(max(1, await self._chroma.count(name) - SAMPLE + 1))
            found = {key_of(id_): row for id_, row in await self._chroma.vectors(name, start, SAMPLE)}
            with postgres_faults():
                rows = await self._pool.fetch(
                    CHUNK_VECTORS, [key[0] for key in found], [key[1] for key in found], self._space.name
                )
            self._damaged |= not all(alike(found[row[0], row[1]], row[2]) for row in rows)
        return not self._damaged

    async def check(self) -> dict[str, int]:
        await self._chroma.beat()
        there = {*self._names.values()}.intersection(await self._chroma.names())
        return {"vectors": sum([await self._chroma.count(name) for name in there])}

    @property
    def external(self) -> bool:
        return not self._chroma.embedded

    async def compact(self, holdings: Collection[str]) -> Collection[str]:
        """Rebuild the folder from the record while searches go on: vectors reveal something of a text.
        Returns the holdings if a scope is too large to be searched without Chroma meanwhile, or if filling it
        again would take long."""
        asked = {"documents", self.name}.intersection(holdings)
        if not asked:
            return ()
        with postgres_faults():
            largest = await self._pool.fetchval(LARGEST)
        if largest > self._exact or (await self.check())["vectors"] > REMADE_MOST:
            return asked
        await self._chroma.renew()
        return ()

    async def _vector_ids(self, row: asyncpg.Record) -> list[str]:
        return await self._chroma.ids(self._names[is_global(row)], {"document": row["id"]})

    async def _write(self, row: asyncpg.Record) -> None:
        with postgres_faults():
            found = await self._pool.fetch(VECTORS, row["id"], self._space.name, timeout=READ_SECONDS)
        name = self._names[is_global(row)]
        if not found:
            await self._delete(row["id"])
            return
        matrix = np.frombuffer(b"".join(vector for _, vector in found), dtype="<f4").reshape(len(found), -1)
        ids = [passage_id((row["id"], ordinal)) for ordinal, _ in found]
        metadata = {"tenant": row["tenant"], "owner": row["owner"], "session": row["session_id"]}
        await self._chroma.upsert(name, ids, matrix, [metadata | {"document": row["id"]}] * len(ids))
        await self._chroma.drop(name, sorted(set(await self._vector_ids(row)) - set(ids)))

    async def _delete(self, item: str) -> None:
        for name in self._names.values():
            await self._chroma.delete(name, {"document": item})

    async def _unknown(self, name: str) -> set[str]:
        unknown: set[str] = set()
        start = 0
        while ids := await self._chroma.page(name, start, IDS):
            start += len(ids)
            documents = {key_of(each)[0] for each in ids} - unknown
            with postgres_faults():
                rows = await self._pool.fetch(THESE_DOCUMENTS, list(documents))
            unknown |= documents - {row["id"] for row in rows}
        return unknown


def is_global(row: asyncpg.Record) -> bool:
    return not row["session_id"]
