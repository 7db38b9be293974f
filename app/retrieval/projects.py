"""Sources whose passages are rows of a project's table: conversations, dreams, code.

A scope is one owner's rows of a project (`ProjectPart`); triggers raise its version in `ibid.project_part`,
whoever writes, so the next search of every replica sees a change. An entry is a row at its revision (xmin).
Terms and token counts come from `ibid.project_words`; those of other tools' rows are made when their part is
loaded, and stored. pgvector searches parts that are too large for memory or not loaded yet. Similarities are
cosine above the space's floor. Raises `RetrievalError`. Source: docs/contract.md, docs/adr/0019.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import structlog

from app.db.pool import Pool, record_faults, retrieval_faults
from app.db.project_tables import (
    CHUNK,
    COMPARABLE,
    CONVERSATION,
    MOMENT,
    Analysed,
    ProjectPart,
    ProjectTable,
    RowFilter,
    chunk_analysed,
    chunk_shown,
    conversation_analysed,
    keep,
    kept,
    rows_of,
)
from app.db.project_text import conversation_text
from app.errors import Rejected, Unavailable
from app.retrieval.bm25 import Mask, invert
from app.retrieval.index import (
    INLINE,
    Address,
    IndexSearch,
    Matrix,
    PassageKey,
    Segment,
    on_loop_or_thread,
    rows_segment,
)
from app.retrieval.index_cache import IndexCache, Listing
from app.retrieval.retrievers import postgres
from app.retrieval.source import (
    WRITTEN,
    IndexedSource,
    Reached,
    label_suffixes,
    recent,
    revisions,
    stack,
    written_at,
)
from app.text.labels import is_label, label, path_name
from app.text.terms import is_current
from app.text.vocabulary import count
from app.types import (
    CODE,
    CONVERSATIONS,
    DREAMS,
    Embedding,
    Hit,
    Legs,
    Passage,
    Query,
    Scope,
    Space,
    similarity,
)

BRIEFLY = 0.05
"""Seconds that `most_similar` waits for indexes: pgvector is as exact, and no slower than following a change
among 50,000 rows."""
ANEW = 100
"""Rows analysed at once: a tenth of a second in a thread, and at most two megabytes of text."""
SHOWN, COUNTED = 150, INLINE
"""Costs, in passages searched, of showing a row and of counting its tokens: it may have 20,000 characters."""

UNIT = 1e-6
"""Tolerance of a unit vector's squared length."""
FOUND_BY = "found_by"
"""Column of a segment: true for rows with text; others have only a path to show."""

VERSIONS = """
    SELECT owner, project, version FROM ibid.project_part
    WHERE {where} AND kind = {kind} ORDER BY owner, project
"""
# One statement sees one state, so the list matches the version.
LISTING = """
    SELECT coalesce((SELECT version FROM ibid.project_part
            WHERE tenant = $1 AND owner = $2 AND project = $3 AND kind = $4), 0) AS version,
        (SELECT string_agg({id}::text || ' ' || xmin::text, ',') FROM {table}
            WHERE {where} AND ({shown})) AS rows
"""
# Forces a look-up by ids: the planner misjudges a table that was just filled.
SEGMENT = """
    SELECT held.{id}::text AS id, {terms} AS terms, ({searchable}) AS found_by, ({where}) AS here, {moment},
        CASE WHEN $4 THEN {vector} END AS vector
    FROM {table} AS held WHERE held.{id} = ANY($7::uuid[])
"""
ANALYSED = "SELECT {id}::text AS id, xmin::text AS seen, {columns} FROM {table} WHERE {id} = ANY($1::uuid[])"
VECTORS = "SELECT {id}::text AS id, {vector} AS vector FROM {table} WHERE {id} = ANY($3::uuid[])"
NEWEST = """
    SELECT id, row_number() OVER (ORDER BY moment DESC NULLS LAST, id) AS turn
    FROM (
        SELECT {id} AS id, indexed_at AS moment FROM {table} WHERE {where}
        ORDER BY 2 DESC NULLS LAST, 1 LIMIT {limit}
    ) AS every
"""
NAMED = """
    WITH asked AS MATERIALIZED (SELECT * FROM {table} WHERE {id} = ANY({ids}::uuid[]))
    SELECT {id} AS id, 0 AS turn FROM asked WHERE {where}
"""
READ = """
    WITH chosen AS MATERIALIZED ({chosen}), found AS MATERIALIZED (
        SELECT chosen.id::text AS id, chosen.turn, {tokens} AS tokens, {moment}, {columns}
        FROM chosen JOIN {table} AS held ON held.{id} = chosen.id
    )
"""
PLAIN = "SELECT found.*, 1 AS place FROM found "
WITH_TWINS = """
    , twins AS MATERIALIZED ({twins})
    SELECT found.*, twins.place FROM found LEFT JOIN twins ON twins.id = found.id
"""
IN_TURN = "ORDER BY found.turn, found.id"

Row: TypeAlias = Mapping[str, Any]
"""Columns by name."""

log = structlog.get_logger(__name__)


class RowSource(IndexedSource[ProjectPart]):
    """Rows of a project; subclasses make the passages."""

    table: ClassVar[ProjectTable]
    inside: ClassVar[bool] = True
    """True: rows of its projects; false: all other rows."""

    def __init__(
        self,
        pool: Pool,
        cache: IndexCache,
        space: Space,
        projects: Collection[str] | None = None,
        *,
        store: str = "",
        seconds: float = 6.0,
    ) -> None:
        super().__init__(cache, space, store=store, seconds=seconds)
        self._pool = pool
        self._projects = projects
        self._analysing = asyncio.Lock()

    @abstractmethod
    def text(self, row: Row) -> str:
        """The shown text of a row, as plain text."""

    @abstractmethod
    def analysed(self, row: Row) -> Analysed:
        """Terms, and the tokens of `text`."""

    @abstractmethod
    def passage(self, row: Row, text: str, tokens: int, mark: str) -> Passage:
        """`mark` is its id for labels."""

    # For projects' contexts.

    async def newest(self, scope: Scope, limit: int) -> list[Passage]:
        """By indexed_at, newest first, undated rows last; similarity None."""
        where = self._where(scope)
        [most] = where.next(1)
        shown = f"{where.sql} AND ({self.table.shown})"
        chosen = NEWEST.format(id=self.table.id, table=self.table.name, where=shown, limit=most)
        with self._pool.reading():
            return await self._read(chosen, where, limit, {})

    async def named(self, scope: Scope, ids: Collection[str]) -> list[Passage]:
        return await self._rows(scope, dict.fromkeys(ids))

    async def most_similar(self, scope: Scope, vector: Embedding, limit: int) -> list[Passage]:
        """By cosine alone, without rows that have no vector; ties by id."""
        self._check(vector)
        reached = await self.reach(scope)
        indexes, late = await self._cache.get_all(BRIEFLY, self, reached.versions)
        if late or not all(index.exact for index in indexes):
            return await self._by_pgvector(reached, vector, limit)
        search = IndexSearch(indexes)
        near = await on_loop_or_thread(search.size, search.dense, np.frombuffer(vector, dtype="<f4"), limit)
        return await self._ranked(
            scope, {search.passage_id(address): cosine for address, cosine in near.items()}
        )

    async def _by_pgvector(
        self, reached: Reached[ProjectPart], vector: Embedding, limit: int
    ) -> list[Passage]:
        near: dict[str, float] = {}
        for part, _ in reached.versions:
            near |= await self._nearest(part, vector, limit)
        best = sorted(near, key=lambda key: (-near[key], key))[:limit]
        return await self._ranked(reached.scope, {key: near[key] for key in best})

    async def _ranked(self, scope: Scope, near: Mapping[str, float]) -> list[Passage]:
        floor = self._space.floor
        similar = {key: similarity(cosine, floor) for key, cosine in near.items()}
        passages = {passage.id: passage for passage in await self._rows(scope, similar)}
        return [passages[key] for key in near if key in passages]

    # For searches.

    async def reach(self, scope: Scope) -> Reached[ProjectPart]:
        """The tenant's rows and the scope's own, of its project or of all."""
        where = self._where(scope)
        [kind] = where.next(1)
        statement = VERSIONS.format(where=where.parts, kind=kind)
        with self._pool.reading():
            rows = await self._pool.fetch(statement, *where.values, self.table.kind)
        parts = tuple(
            (ProjectPart(scope.tenant, row["owner"], row["project"]), row["version"]) for row in rows
        )
        facts = (scope.tenant, scope.owner, scope.project, *sorted(self._projects or ()))
        return Reached(self, scope, parts, facts)

    async def search(
        self, reached: Reached[ProjectPart], query: Query, embedding: Awaitable[Embedding | None]
    ) -> Legs:
        """Lexical and dense retrieval; if nothing is loaded in time, pgvector's alone."""
        embedded = asyncio.ensure_future(embedding)
        legs = await super().search(reached, query, embedded)
        vector = await embedded
        if not legs.partial or legs.passages or vector is None:
            return legs
        found = await self._by_pgvector(reached, vector, query.limit)
        found = [passage for passage in found if recent(query.scope.only, passage)]
        shown = {passage.id: passage for passage in found if passage.text.strip()}
        return replace(
            legs,
            meaning=tuple(Hit(key, passage.similarity or 0.0) for key, passage in shown.items()),
            passages={key: shown[key] for key in sorted(shown)},
            stored=max(legs.stored, len(shown)),
        )

    async def listing(self, scope: ProjectPart) -> Listing:
        """Rows with anything to show, at their revisions."""
        where, table = scope.where, self.table
        statement = LISTING.format(id=table.id, table=table.name, where=where.sql, shown=table.shown)
        [row] = await self._fetch(statement, *where.values, table.kind)
        entries = await asyncio.to_thread(revisions, row["rows"])
        return Listing(row["version"], entries, len(entries))

    async def segment(self, scope: ProjectPart, entries: Sequence[str], *, vectors: bool) -> Segment | None:
        """Some rows, with terms of the current analysis."""
        where, table = scope.where, self.table
        statement = SEGMENT.format(
            id=table.id,
            table=table.name,
            terms=kept(table, "terms"),
            searchable=table.searchable,
            where=where.sql,
            moment=MOMENT,
            vector=COMPARABLE.format(space="$5", dim="$6"),
        )
        asked = (*where.values, vectors, self._space.name, self._space.dim, list(entries))
        rows = [row for row in await self._fetch(statement, *asked) if row["here"]]
        made = await self._analyse([row["id"] for row in rows if not is_current(row["terms"])])
        dim = self._space.dim if vectors else 0
        return await asyncio.to_thread(segment_of, rows, made, dim) if rows else None

    async def _analyse(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Terms made from columns, and stored for later loads."""
        if ids:
            log.info("rows are analysed", kind=self.table.kind, rows=len(ids))
        found: dict[str, bytes] = {}
        for at in range(0, len(ids), ANEW):
            statement = ANALYSED.format(id=self.table.id, columns=self.table.columns, table=self.table.name)
            rows = await self._fetch(statement, ids[at : at + ANEW])
            async with self._analysing:  # more at a time would wait for the interpreter
                made = await asyncio.to_thread(lambda some: {r["id"]: self.analysed(r) for r in some}, rows)
            try:
                with record_faults():
                    await keep(self._pool, self.table, made, {row["id"]: row["seen"] for row in rows})
            except (Unavailable, Rejected):
                log.warning("terms not kept", kind=self.table.kind)
            found |= {key: each.terms for key, each in made.items()}
        return found

    async def vectors(self, keys: Sequence[PassageKey]) -> Mapping[PassageKey, Matrix]:
        vector = COMPARABLE.format(space="$1", dim="$2")
        statement = VECTORS.format(id=self.table.id, vector=vector, table=self.table.name)
        asked = (self._space.name, self._space.dim, [key[0] for key in keys])
        rows = await self._fetch(statement, *asked)
        matrix, missing = units([row["vector"] for row in rows], self._space.dim)
        return {(row["id"], 1): matrix[at] for at, row in enumerate(rows) if not missing[at]}

    async def nearest(
        self, reached: Reached[ProjectPart], scope: ProjectPart, vector: Embedding, limit: int
    ) -> Sequence[PassageKey]:
        return [(key, 1) for key in await self._nearest(scope, vector, limit)]

    async def _nearest(self, part: ProjectPart, vector: Embedding, limit: int) -> Mapping[str, float]:
        return dict(await postgres.nearest(self._pool, self._space, self.table, part, vector, limit))

    async def passages(
        self, reached: Reached[ProjectPart], search: IndexSearch, similar: Mapping[Address, float | None]
    ) -> Mapping[Address, Passage]:
        addresses = {search.passage_id(address): address for address in similar}
        rows = await self._rows(reached.scope, {key: similar[address] for key, address in addresses.items()})
        return {addresses[passage.id]: passage for passage in rows if passage.text.strip()}

    def allowed(self, reached: Reached[ProjectPart], segment: Segment) -> Mask | None:
        found_by: Mask = segment.columns[FOUND_BY]
        return None if found_by.all() else found_by

    # Reading rows.

    def _where(self, scope: Scope) -> RowFilter:
        return rows_of(scope, self._projects, inside=self.inside)

    async def _rows(self, scope: Scope, similar: Mapping[str, float | None]) -> list[Passage]:
        where = self._where(scope)
        [ids] = where.next(1)
        chosen = NAMED.format(id=self.table.id, table=self.table.name, where=where.sql, ids=ids)
        return await self._read(chosen, where, list(similar), similar)

    async def _read(
        self, chosen: str, where: RowFilter, asked: object, similar: Mapping[str, float | None]
    ) -> list[Passage]:
        table = self.table
        read = READ.format(
            chosen=chosen,
            tokens=kept(table, "tokens"),
            moment=MOMENT,
            columns=table.columns,
            table=table.name,
            id=table.id,
        )
        with_twins = WITH_TWINS.format(twins=table.twins.replace(":where", where.sql))
        statement = read + (with_twins if table.twins else PLAIN) + IN_TURN
        rows = await self._fetch(statement, *where.values, asked)
        cost = sum(SHOWN if row["tokens"] is not None else COUNTED + SHOWN for row in rows)
        return await on_loop_or_thread(cost, self._passages, rows, similar)

    def _passages(self, rows: Sequence[Row], similar: Mapping[str, float | None]) -> list[Passage]:
        """Rows as passages, in order. Counts tokens that are not stored yet."""
        marks = label_suffixes(self.name, [row["id"] for row in rows])
        found = []
        for row in rows:
            text = self.text(row)
            tokens = count(text) if row["tokens"] is None else row["tokens"]
            passage = self.passage(row, text, tokens, marks[row["id"]])
            found.append(replace(passage, similarity=similar.get(row["id"])))
        return found

    async def _fetch(self, statement: str, *values: object) -> list[Row]:
        with retrieval_faults():
            rows: list[Any] = await self._pool.fetch(statement, *values)
        return rows


def segment_of(rows: Sequence[Row], made: Mapping[str, bytes], dim: int) -> Segment:
    """Rows with their terms, stored or `made`; `dim` 0: without vectors."""
    stored = {row["id"]: row["terms"] for row in rows if is_current(row["terms"])}
    terms = {**stored, **made}
    there = [row for row in rows if row["id"] in terms]
    matrix, missing = units([row["vector"] for row in there], dim) if dim else (None, None)
    return rows_segment(
        [row["id"] for row in there],
        invert([terms[row["id"]] for row in there]),
        matrix,
        {
            FOUND_BY: np.array([row["found_by"] or False for row in there], dtype=np.bool_),
            WRITTEN: np.array([written_at(row["indexed_at"]) for row in there], dtype=np.int64),
        },
        missing,
    )


def units(vectors: Collection[Embedding | None], dim: int) -> tuple[Matrix, Mask]:
    """(rows of unit length, mask of rows that are missing or zeros)."""
    matrix, missing = stack(vectors, dim)
    with np.errstate(over="ignore"):
        others = np.flatnonzero((np.abs(np.vecdot(matrix, matrix) - 1) > UNIT) & ~missing)
    lengths = np.linalg.norm(matrix[others].astype(np.float64), axis=1)
    missing[others[lengths == 0]] = True
    lengths[lengths == 0] = 1
    matrix[others] /= lengths[:, np.newaxis]
    return matrix, missing


CONVERSATION_FIELDS = ("title", "tags", "key_entities", "summary_short", "summary_detailed", "memory_snippet")


class ConversationSource(RowSource):
    name = CONVERSATIONS
    table = CONVERSATION
    inside = False
    called: ClassVar[str] = "conversation"
    brief: ClassVar[bool] = False
    """True if the short summary is shown."""

    def text(self, row: Mapping[str, Any]) -> str:
        return conversation_text(row, brief=self.brief)

    def analysed(self, row: Mapping[str, Any]) -> Analysed:
        return conversation_analysed(row, brief=self.brief)

    def passage(self, row: Mapping[str, Any], text: str, tokens: int, mark: str) -> Passage:
        """Columns are cut to some thousand characters."""
        moment = row["indexed_at"]
        return Passage(
            source=self.name,
            id=row["id"],
            text=text,
            tokens=tokens,
            label=label(self.called, mark),
            title=row["title"] or "",
            fields={
                **{name: row[name] for name in CONVERSATION_FIELDS},
                "project": row["project"],
                "indexed_at": moment.isoformat() if moment else None,
            },
            created_at=moment,
        )


class DreamSource(ConversationSource):
    name = DREAMS
    inside = True
    called = "dream"
    brief = True


CODE_FIELDS = ("file_path", "language", "chunk_metadata", "start_line", "end_line", "project")


class CodeSource(RowSource):
    name = CODE
    table = CHUNK

    def text(self, row: Mapping[str, Any]) -> str:
        return chunk_shown(row)

    def analysed(self, row: Mapping[str, Any]) -> Analysed:
        return chunk_analysed(row)

    def passage(self, row: Mapping[str, Any], text: str, tokens: int, mark: str) -> Passage:
        return Passage(
            source=self.name,
            id=row["id"],
            text=text,
            tokens=tokens,
            label=called(row, mark),
            title=row["file_path"] or "",
            fields={name: row[name] for name in CODE_FIELDS},
            created_at=row["indexed_at"],
        )


def called(row: Mapping[str, Any], short: str) -> str:
    """The lines if they suffice as a name; not if the path had to be cut or cleaned, as it may look like
    another's."""
    path, start, end = row["file_path"] or "", row["start_line"], row["end_line"]
    lines = label(path, f"L{start}-{end}")
    if row["place"] == 1 and start is not None and end is not None and is_label(lines):
        return lines
    return label(path_name(path), short)
