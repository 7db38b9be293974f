"""Base of memories and corpus: one row of Postgres per passage, copied to Qdrant as a point.

On a Qdrant server other tools may write too; only the engine has those points, so they are searched by
vector. Reads raise `RetrievalError`.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from app.db.pool import Pool, record_faults, retrieval_faults
from app.retrieval import payload
from app.retrieval.bm25 import invert
from app.retrieval.index import Matrix, PassageKey, Segment, rows_segment
from app.retrieval.index_cache import IndexCache
from app.retrieval.retrievers.points import Point, Where
from app.retrieval.retrievers.qdrant import CollectionCache, ImportedCollections, Qdrant, fits, imported
from app.retrieval.source import IndexedSource, ScopeKey, analysed, stack, untaken
from app.types import Embedding, Space

SEGMENT = """
    SELECT {id} AS id, terms, CASE WHEN $2 THEN embedding END AS embedding {columns}
    FROM {table} WHERE {id} = ANY($1)
"""
TEXTS = "SELECT {id} AS id, revision, {words} AS words, text FROM {table} WHERE {id} = ANY($1)"
KEEP = """
    UPDATE {table} AS kept SET terms = given.terms
    FROM unnest($1::text[], $2::bigint[], $3::bytea[]) AS given (id, revision, terms)
    WHERE kept.{id} = given.id AND kept.revision = given.revision
"""
VECTORS = "SELECT {id} AS id, embedding FROM {table} WHERE {id} = ANY($1) AND space = $2"

Row = Mapping[str, Any]
"""Columns by name."""


@dataclass(frozen=True, slots=True)
class PointTable:
    name: str
    id: str
    """Column of the point's id."""
    words: str
    """SQL: the text to analyse."""
    columns: tuple[str, ...] = ()
    """Further columns of a segment."""

    def sql(self, statement: str) -> str:
        columns = "".join(f", {name}" for name in self.columns)
        return statement.format(table=self.name, id=self.id, words=self.words, columns=columns)


@dataclass(frozen=True, slots=True)
class ForeignPoints:
    points: Sequence[tuple[Point, float]] = ()
    """With their similarity, best first."""
    stored: int = 0
    notes: tuple[str, ...] = ()
    fault: str = ""
    """`RetrievalError.reason` if the engine did not answer."""


class PointSource(IndexedSource[ScopeKey]):
    table: ClassVar[PointTable]

    def __init__(
        self,
        pool: Pool,
        points: Qdrant,
        catalogue: CollectionCache,
        cache: IndexCache,
        space: Space,
        *,
        store: str = "",
        seconds: float = 6.0,
        shared: bool = False,
        only: Collection[str] = (),
        imports: ImportedCollections | None = None,
    ) -> None:
        """`shared`: Qdrant is a server, where other tools may write; `only`: collections to search
        (CORPUS_COLLECTIONS; empty: all); `imports`: names of our copies."""
        super().__init__(cache, space, store=store, seconds=seconds)
        self._pool = pool
        self._points = points
        self._catalogue = catalogue
        self._shared = shared
        self._only = frozenset(only)
        self._imports = imports or ImportedCollections()

    @abstractmethod
    def entry(self, scope: ScopeKey, row_id: str) -> str:
        """A row's entry in the listing."""

    @abstractmethod
    def collection(self, scope: ScopeKey) -> str:
        """Collection of a scope's points."""

    def row_id(self, entry: str) -> str:
        return entry

    def columns(self, rows: Sequence[Row]) -> Mapping[str, NDArray[Any]]:
        """Values by which a search filters."""
        return {}

    async def segment(self, scope: ScopeKey, entries: Sequence[str], *, vectors: bool) -> Segment | None:
        rows = await self._fetch(SEGMENT, [self.row_id(entry) for entry in entries], vectors)
        terms = await analysed({row["id"]: row["terms"] for row in rows}, self._texts, self._keep)
        rows = [row for row in rows if row["id"] in terms]
        return await asyncio.to_thread(self._made, scope, rows, terms, vectors=vectors) if rows else None

    def _made(
        self, scope: ScopeKey, rows: Sequence[Row], terms: Mapping[str, bytes], *, vectors: bool
    ) -> Segment:
        postings = invert([terms[row["id"]] for row in rows])
        entries = [self.entry(scope, row["id"]) for row in rows]
        if not vectors:
            return rows_segment(entries, postings, None, self.columns(rows))
        matrix, missing = stack([row["embedding"] for row in rows], self._space.dim)
        return rows_segment(entries, postings, matrix, self.columns(rows), missing)

    async def vectors(self, keys: Sequence[PassageKey]) -> Mapping[PassageKey, Matrix]:
        entries = {self.row_id(entry): entry for entry, _ in keys}
        rows = await self._fetch(VECTORS, [*entries], self._space.name)
        return {(entries[row["id"]], 1): np.frombuffer(row["embedding"], dtype="<f4") for row in rows}

    async def waiting(self, scope: ScopeKey) -> tuple[Sequence[str], bool]:
        items, whole = await untaken(self._pool, "qdrant", self.collection(scope))
        return [self.entry(scope, item) for item in items], whole

    async def _texts(self, ids: Sequence[str]) -> Mapping[str, tuple[int, str, str]]:
        rows = await self._fetch(TEXTS, ids)
        return {row["id"]: (row["revision"], row["words"], row["text"]) for row in rows}

    async def _keep(self, revised: Mapping[str, int], terms: Mapping[str, bytes]) -> None:
        with record_faults():
            revisions = [revised[key] for key in terms]
            await self._pool.execute(self.table.sql(KEEP), [*terms], revisions, [*terms.values()])

    async def _fetch(self, statement: str, *values: object) -> list[Row]:
        with retrieval_faults():
            rows: list[Any] = await self._pool.fetch(self.table.sql(statement), *values)
        return rows

    async def _of_others(self, collection: str, where: Where, vector: Embedding, limit: int) -> ForeignPoints:
        shape = await self._catalogue.get(collection)
        if shape is None:  # another replica has created it since
            self._catalogue.forget()
            shape = await self._catalogue.get(collection)
        if shape is None:
            return ForeignPoints(notes=(f"{collection} is not there any more",))
        if not fits(shape, self._space):
            return ForeignPoints(notes=(f"{collection} was passed over: its vectors are of another space",))
        found = await self._points.search(collection, where, vector, limit)
        if collection in self._imports.copies:
            rows = await imported(self._pool, collection, [near.id for near in found])
            found = [near for near in found if near.id not in rows]
        with_text = [near for near in found if payload.text(near.payload)]
        silent = len(found) - len(with_text)
        notes = (f"points of {collection} without text were passed over: {silent}",) if silent else ()
        return ForeignPoints([(near, self.similar(near.score)) for near in with_text], notes=notes)
