"""`ibid adopt`: takes over rows of the projects' tables and Qdrant collections that older tools wrote.

Their data is not changed. A sample shows whether their vectors belong to the current space; otherwise the
texts are embedded. Rows get a space; points become rows of Postgres, page by page with their entries in
`ibid.imported`, and Qdrant follows by the outbox. A point is imported again only if its payload changed; a
row that was removed stays removed. An interrupted run continues, a second one finds nothing to do. Raises
`RetrievalError` if the embedder or Qdrant fails, `Unavailable`.
"""

import asyncio
import hashlib
import json
import math
import uuid
from array import array
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime

import asyncpg

from app.db import corpus
from app.db import memories as memories_
from app.db.corpus import IDS, ReferenceDraft, placed
from app.db.documents import embedded_text
from app.db.memories import RAW, WRITE, Memory
from app.db.outbox import REFILL
from app.db.pool import Pool, postgres_faults
from app.db.project_text import CODE_INPUT, CONVERSATION_INPUT, EmbeddedRow
from app.db.rows import CLOCK, Connection, storable, storable_json, take_turns, transaction
from app.db.vectors import read_spaces
from app.models.base import Embedder
from app.models.tokens import O200k
from app.retrieval import payload
from app.retrieval.copies import read_imported_collections, set_home
from app.retrieval.points import memory_from_point, text_from_point
from app.retrieval.retrievers.points import Point, Where
from app.retrieval.retrievers.qdrant import NOT_OURS, CollectionCache, Qdrant, fits, free, is_ours
from app.services.memories import counted
from app.types import DEFAULT_TENANT, Embedding, Space, similarity

SAMPLE = 32
"""Number of vectors compared."""

ALIKE, SHARE = 0.5, 0.9
"""Least similarity of a text's vector to ours that suggests the same model (the other tool may have embedded
part of the text: .66 and more in the middle), and the share of the sample that must reach it. Another space's
raw cosine is .0 ± .04 (docs/adr/0019). A false no costs embeddings, a false yes spoils every answer."""


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """A row of the projects' tables that has no space yet."""

    place: str
    """Physical place of this version (ctid)."""
    seen: str
    """Version (xmin): a row changed since is not taken over."""
    id: str
    """Compared too: rows written together share a version, and VACUUM FULL moves them."""
    text: str
    """Text to embed; "" if there is none."""
    fits: bool
    """True if its own vector may be of our space: right length, not zero."""


@dataclass(frozen=True, slots=True)
class TableState:
    table: str
    rows: int
    ours: int
    """Rows in the current space."""
    elsewhere: int
    """Rows in another space: `ibid reembed` moves them."""
    fitting: int
    """Rows without a space, with a vector that may be of ours."""
    strange: int
    """Rows without a space, with a vector of another length, or none."""
    silent: int
    """Rows without a space or anything to embed: skipped."""

    @property
    def open(self) -> int:
        return self.fitting + self.strange


@dataclass(frozen=True, slots=True)
class Taken:
    """What was, or would be, done to a table or a collection."""

    name: str
    kept: int = 0
    """Rows whose own vectors are of our space and kept."""
    embedded: int = 0
    silent: int = 0
    left: int = 0
    """Changed by another tool meanwhile: run it again."""
    home: str = ""
    """Collection of Qdrant's copy of an imported one."""
    unowned: int = 0
    """Memories without a user, which no question could find."""


@dataclass(frozen=True, slots=True)
class Older:
    """Rows that migrations have made usable."""

    turns: int
    """Rows of chat_log."""
    traces: int
    """Rows of vantage_answer_trace."""


@dataclass(slots=True)
class AdoptReport:
    space: str
    tables: list[Taken] = field(default_factory=list)
    collections: list[Taken] = field(default_factory=list)
    older: Older = Older(0, 0)
    waiting: str = ""
    """What Qdrant has yet to take, as a message; "" if nothing."""

    @property
    def left(self) -> int:
        return sum(each.left for each in (*self.tables, *self.collections))


def is_same_space(pairs: Sequence[tuple[Embedding, Embedding]], floor: float) -> bool:
    alike = sum(similarity(cosine(one, other), floor) >= ALIKE for one, other in pairs)
    return bool(pairs) and alike >= SHARE * len(pairs)


def cosine(one: Embedding, other: Embedding) -> float:
    a, b = array("f", one), array("f", other)
    length = math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / length if length else 0.0


COLLECTIONS = "SELECT DISTINCT collection FROM ibid.corpus_text"
CHANGED = """
    SELECT given.point FROM unnest($2::text[], $3::bytea[]) AS given (point, digest)
    LEFT JOIN ibid.imported AS known ON known.collection = $1 AND known.point = given.point
    WHERE known.digest IS DISTINCT FROM given.digest
"""
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
    point: Point
    digest: bytes
    tenant: str
    user_id: str
    """"" for a reference text."""
    vector: Embedding
    tokens: int


async def read_collections(pool: Pool) -> list[str]:
    with postgres_faults():
        return [RAW, *(row[0] for row in await pool.fetch(COLLECTIONS))]


def memory_of(each: Import, revision: int) -> Memory:
    """A point as a memory, without a place in a thread."""
    found = memory_from_point(each.point)
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


KINDS: Mapping[str, EmbeddedRow] = {kept.table: kept for kept in (CONVERSATION_INPUT, CODE_INPUT)}

BLOCKS = 8
"""Blocks of 8 kB read at a time: some hundred rows."""
COUNT_SECONDS = 600.0
"""Deadline of reading a whole table."""
FITS = """
    coalesce(embedding_ibid IS NULL AND vector_dims(embedding) = $1 AND vector_norm(embedding) > 0, false)
"""
"""Not if the vector is of an older text (a [0] beside it, alembic 0012)."""
STANDS = """
    SELECT count(*) AS rows, count(*) FILTER (WHERE space = $2) AS ours,
        count(*) FILTER (WHERE space <> $2) AS elsewhere,
        count(*) FILTER (WHERE space IS NULL AND {says} AND {fits}) AS fitting,
        count(*) FILTER (WHERE space IS NULL AND {says} AND NOT {fits}) AS strange,
        count(*) FILTER (WHERE space IS NULL AND NOT {says}) AS silent
    FROM {table}
"""
SELECT_SAMPLE = """
    SELECT {columns}, embedding FROM {table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM {table} WHERE space IS NULL AND {says} AND {fits} ORDER BY random() LIMIT $2))
"""
SIZE = "SELECT pg_relation_size($1::text::regclass) / current_setting('block_size')::int"
OPEN = """
    SELECT ctid::text AS place, xmin::text AS seen, {id}::text AS id, {fits} AS fits, {columns} FROM {table}
    WHERE ctid >= $2::text::tid AND ctid < $3::text::tid AND space IS NULL AND {says}
"""
TAKE = """
    WITH given AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::vector[]) AS row (place, seen, id, made)
    ),
    taken AS (
        UPDATE {table} AS kept SET space = $5, embedding_ibid = given.made FROM given
        WHERE kept.ctid = given.place::tid AND kept.xmin::text = given.seen
        AND kept.{id}::text IS NOT DISTINCT FROM given.id AND kept.space IS NULL
        RETURNING given.id, given.seen
    ),
    known AS (
        UPDATE ibid.project_words AS words SET seen = pg_current_xact_id()::xid::text FROM taken
        WHERE words.kind = '{words}' AND words.id = taken.id AND words.seen = taken.seen
    )
    SELECT count(*) FROM taken
"""
OLDER = """
    SELECT (SELECT count(*) FROM public.chat_log WHERE answer_id IS NULL),
        (SELECT count(*) FROM public.vantage_answer_trace AS trace
            WHERE NOT EXISTS (SELECT FROM ibid.answer WHERE id = trace.answer_id::text))
"""


class AdoptionStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @property
    def tables(self) -> Sequence[str]:
        return tuple(KINDS)

    async def stands(self, table: str, space: Space) -> TableState:
        with postgres_faults():
            row = await self._pool.fetchrow(
                statement_for(STANDS, table), space.dim, space.name, timeout=COUNT_SECONDS
            )
        assert row is not None  # noqa: S101 - a count is one row
        return TableState(table, **row)

    async def sample(self, table: str, space: Space, limit: int) -> list[tuple[str, Embedding]]:
        """Random rows: adjacent ones are alike."""
        with postgres_faults():
            rows = await self._pool.fetch(
                statement_for(SELECT_SAMPLE, table), space.dim, limit, timeout=COUNT_SECONDS
            )
        return [(text, row["embedding"]) for row in rows if (text := KINDS[table].text(row))]

    async def open(self, table: str, space: Space) -> AsyncIterator[list[ForeignRow]]:
        """Pages of rows by block; adopted rows move to the end, where they are skipped."""
        block = 0
        while block < await self._blocks(table):
            with postgres_faults():
                rows = await self._pool.fetch(
                    statement_for(OPEN, table), space.dim, f"({block},0)", f"({block + BLOCKS},0)"
                )
            if found := [foreign(row, KINDS[table]) for row in rows]:
                yield found
            block += BLOCKS

    async def _blocks(self, table: str) -> int:
        with postgres_faults():
            return int(await self._pool.fetchval(SIZE, table))

    async def take(
        self, table: str, space: Space, rows: Sequence[ForeignRow], embeddings: Sequence[Embedding | None]
    ) -> int:
        places = [[row.place for row in rows], [row.seen for row in rows], [row.id for row in rows]]
        async with transaction(self._pool) as connection:
            return int(
                await connection.fetchval(statement_for(TAKE, table), *places, list(embeddings), space.name)
            )

    async def older(self) -> Older:
        with postgres_faults():
            row = await self._pool.fetchrow(OLDER, timeout=COUNT_SECONDS)
        assert row is not None  # noqa: S101 - two counts are one row
        return Older(*row)


def statement_for(statement: str, table: str) -> str:
    return statement.format(**asdict(KINDS[table]), fits=FITS)


def foreign(row: asyncpg.Record, kept: EmbeddedRow) -> ForeignRow:
    return ForeignRow(row["place"], row["seen"], row["id"], kept.text(row), row["fits"])


BATCH = 64
"""Texts or points per step: what an interruption can lose."""
ROUNDS = 3
"""Passes over a table that another tool keeps writing."""


@dataclass(frozen=True, slots=True)
class ForeignCollection:
    """A collection with points of older tools."""

    name: str
    missing: int
    """Points with a text and an owner that are not imported in their present form."""
    silent: int
    """Points without a text."""
    unowned: int
    fits: bool
    """True if its vectors may be of our space: length and distance agree."""
    home: str
    """Name of Qdrant's copy, present or future."""
    imported: bool
    """True if it was imported before."""


class ForeignCollections:
    def __init__(
        self, points: Qdrant, pool: Pool, embedder: Embedder, space: Space, only: Collection[str] = ()
    ) -> None:
        """`only`: collections to consider beside the memories; empty: all."""
        self._points = points
        self._catalogue = CollectionCache(points)
        self._pool = pool
        self._embedder = embedder
        self._space = space
        self._only = only

    async def found(self, space: Space | None = None) -> list[ForeignCollection]:
        """Collections with points of older tools. `space`: to compare with; default ours."""
        known, shapes = await read_imported_collections(self._pool), await self._catalogue.all()
        taken, found = {*known.copies.values(), *shapes}, []
        for name, shape in shapes.items():
            if name in known.copies.values() or not (name == RAW or not self._only or name in self._only):
                continue
            home = known.copies.get(name) or free(name, taken)
            taken.add(home)
            missing = silent = unowned = 0
            async for _, page in self._pages(name):
                with_text = sum(1 for each in page if payload.text(each.payload))
                owned = importable(name, page)
                missing += len(await self._changed(name, owned))
                silent += len(page) - with_text
                unowned += with_text - len(owned)
            fit = fits(shape, space or self._space)
            imported = known.is_imported(name)
            found.append(ForeignCollection(name, missing, silent, unowned, fit, home, imported))
        return found

    async def is_same(self, collection: ForeignCollection) -> bool:
        """True if its first points' vectors belong to our space."""
        pairs: list[tuple[str, Embedding]] = []
        if collection.fits and collection.missing:
            async for _, page in self._pages(collection.name, vectors=True):
                texts = [(payload.text(each.payload), each.dense) for each in page]
                pairs += [(text, vector) for text, vector in texts if text and vector]
                if len(pairs) >= SAMPLE:
                    break
        return await self.same_space(pairs[:SAMPLE])

    async def same_space(self, pairs: Sequence[tuple[str, Embedding]]) -> bool:
        made = await self._embedder.passages([text for text, _ in pairs]) if pairs else []
        return is_same_space(list(zip(made, [vector for _, vector in pairs], strict=True)), self._space.floor)

    async def take(self, collection: ForeignCollection, space: Space | None) -> AsyncIterator[Taken]:
        """Import it, page by page. `space`: of its vectors; None: they are not kept."""
        name, own_space = collection.name, space.name if space else None
        async with transaction(self._pool) as connection:
            if await set_home(connection, name, collection.home, own_space):
                await connection.execute(REFILL, "qdrant")  # our copy's points move to another collection
        async for since, page in self._pages(name, vectors=space is not None):
            owned = importable(name, page)
            changed = await self._changed(name, owned)
            yield await self._take(name, [each for each in owned if each.id in changed], space, since)

    async def _take(self, name: str, points: Sequence[Point], space: Space | None, since: datetime) -> Taken:
        kept = [each for each in points if space and usable(each.dense, space)]
        bare = [each for each in points if each not in kept]
        taken = Taken(name)
        if kept and space:
            vectors = [each.dense or b"" for each in kept]
            taken = replace(taken, kept=await self._write(name, kept, vectors, space, since))
        if bare:
            vectors = await self._embedder.passages([input_of(name, each) for each in bare])
            taken = replace(taken, embedded=await self._write(name, bare, vectors, self._space, since))
        return taken

    async def _write(
        self, name: str, points: Sequence[Point], vectors: Sequence[Embedding], space: Space, since: datetime
    ) -> int:
        """Import points that were read after `since`, all or none; returns their number. `space`: of the
        vectors."""
        texts = [payload.text(each.payload) for each in points]
        imports = []
        for each, vector, count in zip(points, vectors, await counted(O200k(), texts), strict=True):
            tenant, user = owner(name, each.payload) or ("", "")
            imports.append(Import(each, digest(each.payload), tenant, user, vector, count))
        self._pool.check_room(2 * sum(map(len, (*vectors, *texts))))
        async with transaction(self._pool) as connection:
            if name == RAW:
                rows = await self._memories(connection, imports, space.name, since)
            else:
                rows = await self._texts(connection, name, imports, space.name)
            notes = [(name, each.point.id, each.tenant, each.user_id, row, each.digest) for each, row in rows]
            await connection.executemany(NOTE, notes)
        return len(notes)

    async def _memories(
        self, connection: Connection, imports: Sequence[Import], space: str, since: datetime
    ) -> list[tuple[Import, str]]:
        """Imports under their own ids, which votes and answers name. Returns the row ids, "" if another row
        has it."""
        points = [each.point.id for each in imports]
        before = await connection.fetch(BEFORE, RAW, points)
        owners = sorted({(each.tenant, each.user_id) for each in imports} | {tuple(row) for row in before})
        for owner in owners:
            await memories_.lock_user(connection, *owner)
        rows = await connection.fetch(ERASED, *map(list, zip(*owners, strict=True)), since)
        erased = {tuple(row) for row in rows}
        await connection.execute(REPLACED_MEMORIES, RAW, points)
        have = {row[0] for row in await connection.fetch(HAVE_MEMORIES, points)}
        those = [each for each in imports if (each.tenant, each.user_id) not in erased]
        await self._insert_memories(connection, [each for each in those if each.point.id not in have], space)
        for owner in owners:
            await memories_.bump_version(connection, *owner)
        return [(each, "" if each.point.id in have else each.point.id) for each in those]

    async def _insert_memories(self, connection: Connection, imports: Sequence[Import], space: str) -> None:
        _, revision = await memories_.stamp(connection)
        memories = [memory_of(each, revision) for each in imports]
        found = await asyncio.to_thread(memories_.analysed, [memory.text for memory in memories])
        rows = [
            memories_.written_row(each.tenant, space, memory, each.vector, text)
            for each, memory, text in zip(imports, memories, found, strict=True)
        ]
        await connection.executemany(WRITE, rows)

    async def _texts(
        self, connection: Connection, collection: str, imports: Sequence[Import], space: str
    ) -> list[tuple[Import, str]]:
        """Imports under the ids that their passages had, unless another text has them. Returns the points of
        the rows."""
        points = [each.point.id for each in imports]
        before = await connection.fetch(BEFORE, collection, points)
        tenants = sorted({each.tenant for each in imports} | {row["tenant"] for row in before})
        for tenant in tenants:
            await take_turns(connection, "ibid.corpus", tenant, collection)
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
                columns = (
                    storable(given.text),
                    storable(given.title),
                    facts,
                    each.tokens,
                    space,
                    each.vector,
                )
                rows.append((tenant, collection, *place, *columns, revision, packed, given.created_at))
                taken.append((each, place[1]))
            await connection.executemany(corpus.ADMIT, rows)
            await corpus.bump(connection, tenant, collection)
        return taken

    async def _named(
        self, connection: Connection, tenant: str, collection: str, imports: Sequence[Import]
    ) -> list[ReferenceDraft]:
        """Drafts with ids unused in the collection: their own, their points', or derived ones."""
        texts = [text_from_point(each.point) for each in imports]
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

    async def _changed(self, name: str, points: Sequence[Point]) -> set[str]:
        digests = {each.id: digest(each.payload) for each in points}
        if not digests:
            return set()
        with postgres_faults():
            rows = await self._pool.fetch(CHANGED, name, [*digests], [*digests.values()])
        return {row[0] for row in rows}

    async def _pages(
        self, name: str, *, vectors: bool = False
    ) -> AsyncIterator[tuple[datetime, list[Point]]]:
        """Older tools' points, and a time before they were read."""
        after, spaces = None, {self._space.name, *await read_spaces(self._pool)}
        while True:
            with postgres_faults():
                since: datetime = await self._pool.fetchval(CLOCK)
            others = Where(lacks=NOT_OURS)
            page = await self._points.scroll(name, others, limit=BATCH, after=after, vectors=vectors)
            if not page:
                return
            after = page[-1].id
            yield since, [each for each in page if not is_ours(each.payload, spaces)]


class Adopt:
    def __init__(
        self,
        rows: AdoptionStore,
        collections: ForeignCollections,
        embedder: Embedder,
        space: Space,
        fill: Callable[[], Awaitable[str]],
    ) -> None:
        """`fill`: lets Qdrant follow the record; returns what it has yet to take."""
        self._rows = rows
        self._collections = collections
        self._embedder = embedder
        self._space = space
        self._fill = fill
        self.report = AdoptReport(space.name)

    async def plan(self) -> AdoptReport:
        """What a run would do now; embeds a sample of each table and collection, writes nothing."""
        report = AdoptReport(self._space.name, older=await self._rows.older())
        for table in self._rows.tables:
            stands = await self._rows.stands(table, self._space)
            kept = stands.fitting if await self._is_same(table) else 0
            report.tables.append(Taken(table, kept, stands.open - kept, stands.silent))
        for collection in await self._found():
            kept = collection.missing if await self._collections.is_same(collection) else 0
            report.collections.append(taken_of(collection, kept=kept, embedded=collection.missing - kept))
        return report

    async def total(self) -> int:
        stands = [await self._rows.stands(table, self._space) for table in self._rows.tables]
        return sum(each.open for each in stands) + sum(
            collection.missing for collection in await self._found()
        )

    async def run(self) -> AsyncIterator[int]:
        """Take over everything; yields the rows or points of each step."""
        self.report = AdoptReport(self._space.name, older=await self._rows.older())
        for table in self._rows.tables:
            async for taken in self._table(table):
                yield taken
        for collection in await self._found():
            taken_over = taken_of(collection)
            if collection.missing:
                space = self._space if await self._collections.is_same(collection) else None
                async for done in self._collections.take(collection, space):
                    taken_over = added(taken_over, done)
                    yield done.kept + done.embedded
            self.report.collections.append(taken_over)
        self.report.waiting = await self._fill()

    async def _found(self) -> list[ForeignCollection]:
        return [
            collection
            for collection in await self._collections.found()
            if collection.missing or collection.imported
        ]

    async def _table(self, table: str) -> AsyncIterator[int]:
        ours = await self._is_same(table)
        taken = Taken(table, silent=(await self._rows.stands(table, self._space)).silent)
        for _ in range(ROUNDS):
            taken = replace(taken, left=0)
            async for page in self._rows.open(table, self._space):
                async for done in self._page(table, page, ours=ours):
                    taken = added(taken, done)
                    yield done.kept + done.embedded
            if not taken.left:
                break
        self.report.tables.append(taken)

    async def _page(self, table: str, page: Sequence[ForeignRow], *, ours: bool) -> AsyncIterator[Taken]:
        """Some of its rows, step by step. `ours`: keep the vectors that fit."""
        said = [row for row in page if row.text]
        stay = [row for row in said if ours and row.fits]
        if stay:
            done = await self._rows.take(table, self._space, stay, [None] * len(stay))
            yield Taken(table, kept=done, left=len(stay) - done)
        others = [row for row in said if not (ours and row.fits)]
        for start in range(0, len(others), BATCH):
            batch = others[start : start + BATCH]
            made = await self._embedder.passages([row.text for row in batch])
            done = await self._rows.take(table, self._space, batch, made)
            yield Taken(table, embedded=done, left=len(batch) - done)

    async def _is_same(self, table: str) -> bool:
        return await self._collections.same_space(await self._rows.sample(table, self._space, SAMPLE))


def owner(name: str, facts: Mapping[str, object]) -> tuple[str, str] | None:
    """(tenant, user) of a point; None: no question could reach it. The default tenant if it names none; user
    "" for a reference text."""
    tenant, user = facts.get("tenant") or DEFAULT_TENANT, facts.get("user_id")
    if not isinstance(tenant, str) or "\0" in tenant:
        return None
    if name != RAW:
        return tenant, ""
    return (tenant, user) if isinstance(user, str) and user and "\0" not in user else None


def importable(name: str, page: Sequence[Point]) -> list[Point]:
    return [each for each in page if payload.text(each.payload) and owner(name, each.payload)]


def input_of(name: str, point: Point) -> str:
    """The text to embed of a point; with the title for a reference text, like Ibid's own."""
    text = payload.text(point.payload)
    return text if name == RAW else embedded_text(text_from_point(point).title, "", text)


def digest(facts: Mapping[str, object]) -> bytes:
    text = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def usable(vector: Embedding | None, space: Space) -> bool:
    return vector is not None and len(vector) == 4 * space.dim and any(vector)


def taken_of(collection: ForeignCollection, *, kept: int = 0, embedded: int = 0) -> Taken:
    return Taken(
        collection.name, kept, embedded, collection.silent, home=collection.home, unowned=collection.unowned
    )


def added(taken: Taken, more: Taken) -> Taken:
    return replace(
        taken,
        kept=taken.kept + more.kept,
        embedded=taken.embedded + more.embedded,
        left=taken.left + more.left,
    )
