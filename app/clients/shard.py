"""One collection of the embedded engine, open: a shard of it, and what Ibid adds. Everything here blocks.

A write is on disk when it returns; writers that come together share one flush. The engine raises nothing but
bare `Exception` (and panics): `engine_faults` turns what it refuses into `RetrievalError(rejected=True)` and
all else into `Broken`. Safe in threads.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import qdrant_edge as engine

from app.clients import drawer, phrase, rounds, ties
from app.clients.drawer import Shape
from app.clients.points import Ask, Point, Where
from app.domain.errors import RetrievalError

BATCH = 256
"""Points an update, so that searches come in between."""
SEARCHERS = 2
"""Threads of the engine's own a collection: unset it starts 8 or more for each, and there may be hundreds."""
REFUSALS = (
    "Vector dimension error",
    "Not existing vector name",
    "Validation failed",
    "Wrong input",
    "Bad request",
)
"""How its words begin when the request is at fault, and not the files."""
SCARCE = ("os error 12)", "os error 23)", "os error 24)", "os error 28)", "os error 122)")
"""Memory, handles, room on the disk: the files are not to blame."""


class Broken(Exception):
    """The engine failed. `files`: its files may be what is wrong."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.files = not any(code in said for code in SCARCE)


class EngineFaults:
    """Around every call of the engine."""

    def __enter__(self) -> None:
        """Nothing to set up."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is ValueError or (kind is Exception and str(error).startswith(REFUSALS)):
            raise RetrievalError("unavailable", rejected=True) from error
        if kind is not None and (kind is Exception or kind.__name__ == "PanicException"):
            raise Broken(str(error)) from error


engine_faults = EngineFaults()


class Shard:
    """See the module. `place` is the collection's folder."""

    def __init__(self, place: Path, shape: Shape, vendor: engine.EdgeShard) -> None:
        self.place = place
        self.shape = shape
        self._vendor = vendor
        self._writing = threading.Lock()
        self._flushing = threading.Lock()
        self._written = 0
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
        with engine_faults:
            return cls(place, shape, engine.EdgeShard.load(str(drawer.files(place, shape)), config(shape)))

    def index(self, shape: Shape) -> None:
        """Index what `shape` wants beside what is indexed already."""
        with self._writing, engine_faults:
            for operation in indexes(shape, self.shape):
                self._vendor.update(operation)
            drawer.write(self.place, shape)
            self.shape = shape

    def put(self, points: Sequence[Point]) -> None:
        """Write them."""
        with engine_faults:
            records = [phrase.record(point) for point in points]
        for at in range(0, len(records), BATCH):
            self._write(engine.UpdateOperation.upsert_points(records[at : at + BATCH]))
        self.flush()

    def remove(self, where: Where) -> None:
        """Delete them."""
        self._write(engine.UpdateOperation.delete_points_by_filter(phrase.condition(where)))
        self.flush()

    def _write(self, operation: engine.UpdateOperation) -> None:
        """One update, told to the shard that is being built too."""
        with self._writing, engine_faults:
            self._vendor.update(operation)
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

    def ranked(self, asks: Sequence[Ask]) -> list[list[Point]]:
        """One list an ask: scores are the asker's alone (`weights.py`), equal ones by id (`ties.py`)."""
        spare = ties.SPARE
        while (found := ties.settled(asks, self._weighed(ties.widened(asks, spare)), spare)) is None:
            spare = ties.MOST
        return found

    def _weighed(self, asks: Sequence[Ask]) -> list[list[Point]]:
        """As the engine has them, the scores made here."""
        return rounds.weighed(asks, self.search)

    def search(self, asks: Sequence[Ask]) -> list[list[Point]]:
        """One list an ask, as the engine has it."""
        with engine_faults:
            batch = engine.QueryBatchRequest([phrase.question(ask) for ask in asks])
            return [[phrase.told(found) for found in row] for row in self._vendor.query_batch(batch)]

    def scroll(self, where: Where, limit: int, after: str | None, *, vectors: bool) -> list[Point]:
        """Points by id, those after `after`."""
        with engine_faults:
            rows, _ = self._vendor.scroll(
                engine.ScrollRequest(
                    offset=None if after is None else phrase.identity(after),
                    limit=limit + (after is not None),
                    filter=phrase.condition(where),
                    with_payload=True,
                    with_vector=vectors,
                )
            )
        return [point for point in map(phrase.told, rows) if point.id != after][:limit]

    def count(self, where: Where) -> int:
        """How many."""
        with engine_faults:
            return self._vendor.count(engine.CountRequest(exact=True, filter=phrase.condition(where)))

    def compact(self) -> None:
        """Built anew beside, from what is in it; then it takes over. Writes meanwhile are in both."""
        with self._compacting:
            after = replace(self.shape, turn=self.shape.turn + 1)
            beside = drawer.files(self.place, after)
            drawer.tidy(self.place, self.shape)
            with self._writing:
                self._meanwhile = []
            try:
                self._take_over(self._copied(beside, after), after)
            finally:
                self._meanwhile = None
            drawer.forget_aside(self.place)

    def _copied(self, beside: Path, shape: Shape) -> engine.EdgeShard:
        """A new shard with all the points."""
        made = build(beside, shape)
        with engine_faults:
            for page in self._pages():
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
        with self._writing, self._flushing, engine_faults:
            for operation in self._meanwhile or ():
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
    """A new shard with its vectors and indexes."""
    files.mkdir(parents=True)
    with engine_faults:
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
