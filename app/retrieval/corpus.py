"""The corpus: reference texts of the scope's tenant, from all collections at once.

Postgres is the record; a scope is one collection of a tenant. On a Qdrant server other tools may have
collections, and points in ours: these are searched by vector only. A collection of another space is skipped
with a note; one that fails costs only its own passages. Raises `RetrievalError`. Why: docs/adr/0004.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from app.answer import new_id
from app.db.memories import RAW
from app.db.pool import retrieval_faults
from app.errors import RetrievalError
from app.retrieval.index import Address, IndexSearch, PassageKey
from app.retrieval.index_cache import Listing
from app.retrieval.points import CORPUS, tenants, text_key, text_point_passage, text_row_passage
from app.retrieval.qdrant_source import ForeignPoints, PointSource, PointTable, Row
from app.retrieval.retrievers.points import Collection, Where
from app.retrieval.retrievers.qdrant import NOT_OURS, imported_count
from app.retrieval.source import WRITTEN, Foreign, Reached, label_suffixes, revisions, written_at
from app.types import Embedding, Passage, Query, Scope

AT_ONCE = 8
"""Other tools' collections searched concurrently for one question."""
LIST_SECONDS = 1.0
"""Deadline of listing the engine's collections."""

CollectionKey = tuple[str, str]
"""(tenant, collection)."""
ForeignCounts = tuple[tuple[str, int], ...]
"""(collection, number) of points that other tools wrote for the tenant."""

REACH = """
    SELECT collection, version FROM ibid.collection_version
    WHERE tenant = $1 AND (cardinality($2::text[]) = 0 OR collection = ANY($2)) ORDER BY collection
"""
LISTED = """
    SELECT coalesce((SELECT version FROM ibid.collection_version WHERE tenant = $1 AND collection = $2), 0)
            AS version,
        (SELECT string_agg($2 || '/' || point || ' ' || revision, chr(31)) FROM ibid.corpus_text
            WHERE tenant = $1 AND collection = $2 AND space = $3) AS rows
"""
SHOWN = """
    SELECT collection, point, id, text, title, metadata, tokens, created_at FROM ibid.corpus_text
    WHERE point = ANY($1) AND tenant = $2 AND collection = ANY($3)
"""

log = structlog.get_logger(__name__)


class CorpusSource(PointSource[CollectionKey]):
    name = CORPUS
    table = PointTable("ibid.corpus_text", "point", "title || E'\\n' || text", ("created_at",))

    # Rows in Postgres.

    async def reach(self, scope: Scope) -> Reached[CollectionKey]:
        names = self._only
        if scope.only and scope.only.collections is not None:
            names = frozenset(filter(self._searched(scope), scope.only.collections))
            if not names:
                return Reached(self, scope, (), ((),))
        with self._pool.reading():
            rows = await self._pool.fetch(REACH, scope.tenant, sorted(names))
        versions = tuple(((scope.tenant, row["collection"]), row["version"]) for row in rows)
        counts = await self._foreign_counts(scope) if self._shared else ()
        return Reached(self, scope, versions, (new_id() if counts is None else counts,))

    async def listing(self, scope: CollectionKey) -> Listing:
        with retrieval_faults():
            row = await self._pool.fetchrow(LISTED, *scope, self._space.name)
        assert row is not None  # noqa: S101 - it selects no rows but its own
        entries = await asyncio.to_thread(revisions, row["rows"], "\x1f")
        return Listing(row["version"], entries, len(entries))

    def columns(self, rows: Sequence[Row]) -> Mapping[str, NDArray[Any]]:
        return {WRITTEN: np.array([written_at(row["created_at"]) for row in rows], dtype=np.int64)}

    def collection(self, scope: CollectionKey) -> str:
        return scope[1]

    def row_id(self, entry: str) -> str:
        return entry.rpartition("/")[2]

    def entry(self, scope: CollectionKey, row_id: str) -> str:
        return text_key(scope[1], row_id)

    async def passages(
        self, reached: Reached[CollectionKey], search: IndexSearch, similar: Mapping[Address, float | None]
    ) -> Mapping[Address, Passage]:
        addresses = {search.passage_id(address): address for address in similar}
        # Checked again, so that a stale index never shows another tenant's texts, or a collection not asked
        # for.
        collections = [collection for (_, collection), _ in reached.versions]
        points = [self.row_id(key) for key in addresses]
        rows = await self._fetch(SHOWN, points, reached.scope.tenant, collections)
        keyed = {text_key(row["collection"], row["point"]): row for row in rows}
        marks = label_suffixes(self.name, sorted(keyed))
        return {
            addresses[key]: text_row_passage(row, marks[key], similar[addresses[key]])
            for key, row in keyed.items()
            if key in addresses
        }

    async def named(self, scope: Scope, ids: Sequence[str]) -> list[Passage]:
        """The tenant's texts of these ids (`text_key`); those of other tools are left out."""
        keys, searched = set(ids), self._searched(scope)
        names = [name for name in {key.rpartition("/")[0] for key in keys} if searched(name)]
        rows = await self._fetch(SHOWN, [self.row_id(key) for key in keys], scope.tenant, names)
        keyed = {text_key(row["collection"], row["point"]): row for row in rows}
        marks = label_suffixes(self.name, sorted(keyed))
        return [text_row_passage(row, marks[key], None) for key, row in keyed.items() if key in keys]

    # Points of other tools.

    async def nearest(
        self, reached: Reached[CollectionKey], scope: CollectionKey, vector: Embedding, limit: int
    ) -> Sequence[PassageKey]:
        tenant, collection = scope
        name, where = self._imports.copy_of(collection), Where(has=(("tenant", (tenant,)),))
        found = await self._points.search(name, where, vector, limit, payload=False)
        return [(text_key(collection, near.id), 1) for near in found]

    async def _foreign_counts(self, scope: Scope) -> ForeignCounts | None:
        try:
            async with asyncio.timeout(min(LIST_SECONDS, self._foreign_seconds)):
                shapes, searched = (await self._catalogue.all()).values(), self._searched(scope)
                names = [shape.name for shape in shapes if searched(shape.name) and self._may_hold(shape)]
                return await self._count_all(scope, names)
        except (TimeoutError, RetrievalError):
            return None

    def _searched(self, scope: Scope) -> Callable[[str], bool]:
        """Whether a collection is one of CORPUS_COLLECTIONS, and of the filter's."""
        asked = scope.only.collections if scope.only else None
        return lambda name: (not self._only or name in self._only) and (asked is None or name in asked)

    def _may_hold(self, shape: Collection) -> bool:
        return shape.name != RAW and self._imports.has_others(shape.name, self._space.name)

    async def _count_all(self, scope: Scope, names: Sequence[str]) -> ForeignCounts:
        few = asyncio.Semaphore(AT_ONCE)

        async def count(name: str) -> int:
            async with few:
                return await self._points.count(name, others_of(scope))

        counts = await asyncio.gather(*map(count, names))
        return tuple((name, count) for name, count in zip(names, counts, strict=True) if count)

    async def foreign(self, reached: Reached[CollectionKey], query: Query, vector: Embedding) -> Foreign:
        """Points that other tools wrote, in their collections or ours."""
        [counts] = reached.facts or ((),)
        if isinstance(counts, str):
            counts = await self._foreign_counts(reached.scope)
            if counts is None:
                return Foreign(fault="unavailable")
        if not counts:
            return Foreign()
        assert isinstance(counts, tuple)  # noqa: S101 - as `reach` gives it
        few = asyncio.Semaphore(AT_ONCE)
        found = await asyncio.gather(
            *(
                self._search_collection(few, reached.scope, name, count, query, vector)
                for name, count in counts
            )
        )
        return best_of(self.name, [name for name, _ in counts], found, query.limit)

    async def _search_collection(  # noqa: PLR0917 - what is asked, and how much at once
        self, few: asyncio.Semaphore, scope: Scope, name: str, count: int, query: Query, vector: Embedding
    ) -> ForeignPoints:
        async with few:
            try:
                found = await self._of_others(name, others_of(scope), vector, query.limit)
                if name in self._imports.copies:
                    count = max(0, count - await imported_count(self._pool, name, scope.tenant))
            except RetrievalError as error:
                return await self._failed(name, error)
        return replace(found, stored=count)

    async def _failed(self, name: str, error: RetrievalError) -> ForeignPoints:
        """A missing collection becomes a note, one that does not answer a fault."""
        gone = False
        if error.rejected:  # otherwise the known collections remain valid
            self._catalogue.forget()
            with suppress(RetrievalError):
                gone = await self._catalogue.get(name) is None
        log.warning("collection not searched", collection=name, reason=error.reason, gone=gone)
        if gone:
            return ForeignPoints(notes=(f"{name} is not there any more",))
        return ForeignPoints(notes=(f"{name} did not answer: {error.reason}",), fault=error.reason)


def best_of(source: str, names: Sequence[str], found: Sequence[ForeignPoints], limit: int) -> Foreign:
    every = sorted(
        ((name, *pair) for name, each in zip(names, found, strict=True) for pair in each.points),
        key=lambda item: (-item[2], text_key(item[0], item[1].id)),
    )[:limit]
    marks = label_suffixes(source, [text_key(collection, point.id) for collection, point, _ in every])
    passages = [
        text_point_passage(collection, point, marks[text_key(collection, point.id)], similar)
        for collection, point, similar in every
    ]
    faults = [each.fault for each in found if each.fault]
    return Foreign(
        passages,
        sum(each.stored for each in found),
        tuple(chain.from_iterable(each.notes for each in found)),
        faults[0] if faults else "",
    )


def others_of(scope: Scope) -> Where:
    return replace(tenants(scope), lacks=NOT_OURS)
