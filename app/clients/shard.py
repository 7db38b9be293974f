"""One collection of the embedded engine, open: a shard of it, and what Ibid adds. Everything here blocks.

A write is on disk when it returns; writers that come together share one flush. Its reads are `reader.py`'s.
Raises `RetrievalError(rejected=True)` for what the engine refuses, `NoRoom` before a write that the disk
might not hold (`app/disk.py`), and `Broken` for all else (`broken.py`). Safe in threads.
"""

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import qdrant_edge as engine

from app import disk
from app.clients import drawer, phrase
from app.clients.broken import engine_faults
from app.clients.drawer import Shape
from app.clients.hand import Hand, Identity
from app.clients.points import Point, Where
from app.clients.reader import Reader

BATCH = 256
"""Points an update, so that searches come in between."""
SEARCHERS = 2
"""Threads of the engine's own a collection: unset it starts 8 or more for each, and there may be hundreds."""


class Shard(Reader):
    """See the module. `place` is the collection's folder."""

    def __init__(self, place: Path, shape: Shape, vendor: engine.EdgeShard, hand: Hand | None = None) -> None:
        super().__init__(vendor, hand)
        self.place = place
        self.shape = shape
        self._writing = threading.Lock()
        self._flushing = threading.Lock()
        self._flushed = 0
        self._meanwhile: list[engine.UpdateOperation] | None = None
        """What was written while a new shard is built beside; None: none is."""
        self._compacting = threading.Lock()

    @classmethod
    def make(cls, place: Path, shape: Shape, hand: Hand | None = None) -> "Shard":
        """A new and empty one, on disk."""
        vendor = build(drawer.files(place, shape), shape)
        drawer.write(place, shape)
        return cls(place, shape, vendor, hand)

    @classmethod
    def load(cls, place: Path, shape: Shape, hand: Hand | None = None) -> "Shard":
        """The one that is there."""
        files = drawer.files(place, shape)
        disk.check(files, 0, disk.mapped(files))
        with engine_faults:
            vendor = engine.EdgeShard.load(str(files), config(shape))
        return cls(place, shape, vendor, hand)

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
            records = [phrase.record(point) for point in points]
        for at in range(0, len(records), BATCH):
            some = records[at : at + BATCH]
            self._write(engine.UpdateOperation.upsert_points(some), {each.id for each in some})
        self.flush()

    def remove(self, where: Where) -> None:
        """Delete them."""
        named = None if where.ids is None else phrase.identities(where.ids)
        gone = engine.UpdateOperation.delete_points_by_filter(phrase.condition(where))
        self._write(gone, named, least=disk.LEAST)
        self.flush()

    def _write(
        self,
        operation: engine.UpdateOperation,
        ids: Collection[Identity] | None,
        *,
        least: int = disk.RESERVE,
    ) -> None:
        """One update, told to the shard that is being built too; `ids`: what it changes, if that is known.
        `least`: what must be free on the disk."""
        with self._writing, disk.room(self.place, least), engine_faults:
            with self._changing(ids):
                self._vendor.update(operation)
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
            ask = engine.ScrollRequest(offset=offset, limit=BATCH, with_payload=True, with_vector=True)
            rows, offset = self._vendor.scroll(ask)
            yield [engine.Point(row.id, row.vector or {}, row.payload) for row in rows]
            if offset is None:
                return

    def _take_over(self, made: engine.EdgeShard, shape: Shape) -> None:
        """What was written meanwhile goes in too; from then on the new one counts."""
        with self._writing, self._flushing, self._changing(), engine_faults:
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
        with self._writing, self._flushing, self._changing(), engine_faults:
            self._vendor.flush()
            self._vendor.close()


def build(files: Path, shape: Shape) -> engine.EdgeShard:
    """A new shard with its vectors and indexes."""
    with disk.room(files), engine_faults:
        files.mkdir(parents=True)
        made = engine.EdgeShard.create(str(files), config(shape))
        for operation in indexes(shape):
            made.update(operation)
        made.flush()
    return made


def config(shape: Shape) -> engine.EdgeConfig:
    """The vectors of a shard, and how many threads it may have."""
    meaning = engine.EdgeVectorParams(size=shape.dim, distance=engine.Distance.Cosine)
    words = engine.EdgeSparseVectorParams(modifier=engine.Modifier.Idf)
    return engine.EdgeConfig(
        vectors={phrase.MEANING: meaning},
        sparse_vectors={phrase.WORDS: words},
        max_search_threads=SEARCHERS,
    )


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
