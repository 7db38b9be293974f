"""One collection of the embedded engine, open: a shard of it, and what Ibid adds. Everything here blocks.

Searches compare every point that the filter leaves. A write is on disk when it returns; writers that come
together share one flush. Collections that older versions made with a sparse vector are read and written as
they are; compaction leaves that vector out. Raises `RetrievalError(rejected=True)` for what the engine
refuses, `NoRoom` before a write that the disk might not hold (`app/disk.py`), and `Broken` for all else
(`broken.py`). Safe in threads.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import qdrant_edge as engine

from app import disk
from app.clients import drawer
from app.clients.broken import engine_faults
from app.clients.drawer import Shape
from app.clients.points import DENSE, Point, Where, by_score, floats, identities, identity, packed
from app.domain.passage import Embedding

BATCH = 256
"""Points an update, so that searches come in between."""
SEARCHERS = 2
"""Threads of the engine's own a collection: unset it starts 8 or more for each, and there may be hundreds."""
EXACT = engine.SearchParams(exact=True)


class Shard:
    """See the module. `place` is the collection's folder."""

    def __init__(self, place: Path, shape: Shape, vendor: engine.EdgeShard) -> None:
        self.place = place
        self.shape = shape
        self._vendor = vendor
        self._writing = threading.Lock()
        self._written = 0
        """Updates that were made."""
        self._flushing = threading.Lock()
        self._flushed = 0
        self._meanwhile: list[engine.UpdateOperation] | None = None
        """What was written while a new shard is built beside; None: none is."""
        self._compacting = threading.Lock()

    @classmethod
    def make(cls, place: Path, shape: Shape) -> "Shard":
        """A new and empty one, on disk."""
        vendor = build(drawer.files(place, shape), shape)
        drawer.write(place, shape)
        return cls(place, shape, vendor)

    @classmethod
    def load(cls, place: Path, shape: Shape) -> "Shard":
        """The one that is there."""
        files = drawer.files(place, shape)
        disk.check(files, 0, disk.mapped(files))
        with engine_faults:
            vendor = engine.EdgeShard.load(str(files), config(shape))
        return cls(place, shape, vendor)

    # Reads.

    def search(self, where: Where, dense: Embedding, limit: int, *, payload: bool) -> list[Point]:
        """The nearest, best first; equal scores by id."""
        with engine_faults:
            request = engine.QueryRequest(
                limit,
                query=engine.Query.Nearest(floats(dense), using=DENSE),
                params=EXACT,
                filter=condition(where),
                with_payload=payload,
            )
            return by_score([point_of(found) for found in self._vendor.query(request)])

    def scroll(self, where: Where, limit: int, after: str | None, *, vectors: bool) -> list[Point]:
        """Points by id, those after `after`."""
        with engine_faults:
            request = engine.ScrollRequest(
                offset=None if after is None else identity(after),
                limit=limit + (after is not None),
                filter=condition(where),
                with_payload=True,
                with_vector=[DENSE] if vectors else False,
            )
            rows, _ = self._vendor.scroll(request)
        return [point for point in map(point_of, rows) if point.id != after][:limit]

    def count(self, where: Where) -> int:
        """How many."""
        with engine_faults:
            return self._vendor.count(engine.CountRequest(exact=True, filter=condition(where)))

    # Writes.

    def index(self, shape: Shape) -> None:
        """Index what `shape` wants beside what is indexed already."""
        with self._writing, engine_faults:
            for operation in indexes(shape, self.shape):
                with disk.room(self.place):
                    self._vendor.update(operation)
            drawer.write(self.place, shape)
            self.shape = shape

    def put(self, points: Sequence[Point]) -> None:
        """Write them."""
        with engine_faults:
            records = [record(point) for point in points]
        for at in range(0, len(records), BATCH):
            self._write(engine.UpdateOperation.upsert_points(records[at : at + BATCH]))
        self.flush()

    def remove(self, where: Where) -> None:
        """Delete them."""
        self._write(engine.UpdateOperation.delete_points_by_filter(condition(where)), least=disk.LEAST)
        self.flush()

    def _write(self, operation: engine.UpdateOperation, *, least: int = disk.RESERVE) -> None:
        """One update, given to the shard that is being built too. `least`: what must be free on the disk."""
        with self._writing, disk.room(self.place, least), engine_faults:
            try:
                self._vendor.update(operation)
            finally:  # half of it may be done
                self._written += 1
            if self._meanwhile is not None:
                self._meanwhile.append(operation)

    def flush(self) -> None:
        """Everything written before is on disk when it returns."""
        mine = self._written
        with self._flushing, engine_faults:
            if self._flushed < mine:
                now = self._written
                self._vendor.flush()
                self._flushed = now

    def compact(self) -> None:
        """Built anew beside, from what is in it; then it takes over. Writes meanwhile are in both."""
        with self._compacting:
            after = replace(self.shape, turn=self.shape.turn + 1)
            beside = drawer.files(self.place, after)
            drawer.tidy(self.place, self.shape)
            disk.check(self.place, disk.RESERVE, drawer.size(drawer.files(self.place, self.shape)))
            with self._writing:
                self._meanwhile = []
            try:
                self._take_over(self._copied(beside, after), after)
            finally:
                self._meanwhile = None
                drawer.tidy(self.place, self.shape)  # half a copy would keep room that is wanted
            drawer.forget_aside(self.place)

    def _copied(self, beside: Path, shape: Shape) -> engine.EdgeShard:
        """A new shard with all the points."""
        made = build(beside, shape)
        with engine_faults:
            for page in self._pages():
                with disk.room(beside):
                    made.update(engine.UpdateOperation.upsert_points(page))
            made.flush()
        return made

    def _pages(self) -> Iterator[list[engine.Point]]:
        """All points, as they are written."""
        offset: engine.PointId | None = None
        while True:
            ask = engine.ScrollRequest(offset=offset, limit=BATCH, with_payload=True, with_vector=[DENSE])
            rows, offset = self._vendor.scroll(ask)
            yield [engine.Point(row.id, row.vector or {}, row.payload) for row in rows]
            if offset is None:
                return

    def _take_over(self, made: engine.EdgeShard, shape: Shape) -> None:
        """What was written meanwhile goes in too; from then on the new one counts."""
        with self._writing, self._flushing, engine_faults:
            for operation in self._meanwhile or ():
                with disk.room(self.place):
                    made.update(operation)
            made.flush()
            drawer.write(self.place, shape)
            # Searches under way keep the old one until they end; its files go now.
            self._vendor, self.shape, self._flushed = made, shape, self._written
            drawer.tidy(self.place, shape)

    def close(self) -> None:
        """Everything on disk, files let go of."""
        with self._writing, self._flushing, engine_faults:
            self._vendor.flush()
            self._vendor.close()


def build(files: Path, shape: Shape) -> engine.EdgeShard:
    """A new shard with its vector and indexes."""
    with disk.room(files), engine_faults:
        files.mkdir(parents=True)
        made = engine.EdgeShard.create(str(files), config(shape))
        for operation in indexes(shape):
            made.update(operation)
        made.flush()
    return made


def config(shape: Shape) -> engine.EdgeConfig:
    """The vector of a shard, and how many threads it may have."""
    dense = engine.EdgeVectorParams(size=shape.dim, distance=engine.Distance.Cosine)
    return engine.EdgeConfig(vectors={DENSE: dense}, max_search_threads=SEARCHERS)


def indexes(shape: Shape, known: Shape | None = None) -> Iterator[engine.UpdateOperation]:
    """Of the fields that are not known yet."""
    had = {*known.keys, *known.tenants, *known.times} if known else set()
    wanted: dict[str, engine.PayloadSchemaType | engine.PayloadSchemaParams] = {}
    wanted.update(dict.fromkeys(shape.keys, engine.PayloadSchemaType.Keyword))
    wanted.update(dict.fromkeys(shape.times, engine.PayloadSchemaType.Datetime))
    wanted.update(dict.fromkeys(shape.tenants, engine.KeywordIndexParams(is_tenant=True)))
    for field, schema in wanted.items():
        if field not in had:
            yield engine.UpdateOperation.create_field_index(field, schema)


def condition(where: Where) -> engine.Filter:
    """A filter as the engine takes it."""
    must: list[engine.ConditionType] = [one_of(key, values) for key, values in where.has]
    for key, values in where.open:
        must.append(engine.Filter(should=[engine.IsEmptyCondition(key), one_of(key, values)]))
    if where.ids is not None:
        must.append(engine.HasIdCondition(set(identities(where.ids))))
    return engine.Filter(must=must, must_not=[one_of(key, values) for key, values in where.lacks])


def one_of(key: str, values: Sequence[str]) -> engine.FieldCondition:
    """The field holds one of the values."""
    return engine.FieldCondition(key, match=engine.MatchAny(list(values)))


def record(point: Point) -> engine.Point:
    """A point to be written."""
    vectors: dict[str, engine.NamedVector] = {} if point.dense is None else {DENSE: floats(point.dense)}
    return engine.Point(identity(point.id), vectors, dict(point.payload))


def point_of(found: engine.Record | engine.ScoredPoint) -> Point:
    """A point that was read."""
    vectors = found.vector
    return Point(
        str(found.id),
        found.payload or {},
        packed(vectors.get(DENSE)) if isinstance(vectors, dict) else None,
        found.score if isinstance(found, engine.ScoredPoint) else 0.0,
    )
