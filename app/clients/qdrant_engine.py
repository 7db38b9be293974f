"""The embedded Qdrant: its collections in one folder, a shard each. Runs in `qdrant_child.py`.

Everything blocks; safe in threads. A search compares every point that the filter leaves. A write is on disk
when it returns; writers that come together share one flush. What fails is tried once more on files read anew;
a collection whose files cannot be read is then put aside and named in `lost`: it is missing from then on, and
the outbox writes it anew. Collections that older versions made with a sparse vector are read and written as
they are; compaction leaves that vector out.

Raises `RetrievalError` (`missing`: no such collection; `rejected`: the engine refuses), `NoRoom` before a
write that the disk might not hold (`app/disk.py`), `OSError`, and `Broken` for all else.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import qdrant_edge as engine

from app import disk
from app.clients import qdrant_files
from app.clients.points import DENSE, Point, Where, by_score, floats, identities, identity, packed
from app.clients.qdrant_files import Shape
from app.errors import RetrievalError
from app.types import Embedding

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
FULL = SCARCE[-2:]
"""Those of the disk."""


class Broken(Exception):
    """The engine failed. `files`: its files may be what is wrong; `full`: the disk has no room."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.files = not any(code in said for code in SCARCE)
        self.full = any(code in said for code in FULL)


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
        vendor = build(qdrant_files.files(place, shape), shape)
        qdrant_files.write(place, shape)
        return cls(place, shape, vendor)

    @classmethod
    def load(cls, place: Path, shape: Shape) -> "Shard":
        """The one that is there."""
        files = qdrant_files.files(place, shape)
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
            qdrant_files.write(self.place, shape)
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
            beside = qdrant_files.files(self.place, after)
            qdrant_files.tidy(self.place, self.shape)
            disk.check(
                self.place, disk.RESERVE, qdrant_files.size(qdrant_files.files(self.place, self.shape))
            )
            with self._writing:
                self._meanwhile = []
            try:
                self._take_over(self._copied(beside, after), after)
            finally:
                self._meanwhile = None
                qdrant_files.tidy(self.place, self.shape)  # half a copy would keep room that is wanted
            qdrant_files.forget_aside(self.place)

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
            qdrant_files.write(self.place, shape)
            # Searches under way keep the old one until they end; its files go now.
            self._vendor, self.shape, self._flushed = made, shape, self._written
            qdrant_files.tidy(self.place, shape)

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


Result = TypeVar("Result")


class Edge:
    """An open folder, made if it is missing. A collection is opened when it is first used. `look`: nothing is
    moved or tidied."""

    def __init__(self, root: Path, *, look: bool = False) -> None:
        self._root = root
        self._look = look
        self._shards: dict[str, Shard] = {}
        self._opening = threading.Lock()
        self.lost: deque[str] = deque()
        """Names of collections that were put aside; whoever tells takes them out."""
        if not look:
            qdrant_files.sweep(root)

    def shapes(self) -> list[tuple[str, int]]:
        """Names and dimensions, as the folders say; none is opened."""
        return sorted((shape.name, shape.dim) for _, shape in qdrant_files.shapes(self._root))

    def create(
        self, name: str, dim: int, keys: Sequence[str], tenants: Sequence[str], times: Sequence[str]
    ) -> None:
        """Make a collection, or index the fields that are not indexed yet."""
        wanted, place = (
            qdrant_files.Shape(name, dim).also(keys, tenants, times),
            qdrant_files.folder_of(self._root, name),
        )
        with self._opening:
            shard = self._shards.get(name) or self._load(place)
            if shard is None:
                if place.exists():
                    qdrant_files.put_aside(place)
                self._shards[name] = Shard.make(place, wanted)
            elif (also := shard.shape.also(keys, tenants, times)) != shard.shape:
                shard.index(also)

    def drop(self, name: str) -> None:
        """Delete a collection with its files."""
        with self._opening:
            if name in self._shards:
                self._let_go(self._shards[name])
            qdrant_files.delete(qdrant_files.folder_of(self._root, name))

    def put(self, name: str, points: Sequence[Point]) -> None:
        """Write points; on disk and searchable when it returns."""
        self._use(name, lambda shard: shard.put(points))

    def remove(self, name: str, where: Where) -> None:
        """Delete points; gone from the next search on."""
        try:
            self._use(name, lambda shard: shard.remove(where))
        except RetrievalError as error:
            if not error.missing:
                raise

    def search(self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool) -> list[Point]:
        """The nearest; every point that the filter leaves is compared."""
        return self._use(name, lambda shard: shard.search(where, dense, limit, payload=payload))

    def scroll(self, name: str, where: Where, limit: int, after: str | None, *, vectors: bool) -> list[Point]:
        """A page of points."""
        return self._use(name, lambda shard: shard.scroll(where, limit, after, vectors=vectors))

    def count(self, name: str, where: Where) -> int:
        """How many points."""
        return self._use(name, lambda shard: shard.count(where))

    def compact(self, name: str) -> None:
        """Build the files anew, so that none holds what was removed; searches and writes go on."""
        self._use(name, lambda shard: shard.compact())

    def check(self) -> Mapping[str, str | int]:
        """The engine, its version, the number of collections."""
        folders = sum(1 for _ in qdrant_files.shapes(self._root))
        return {"server": "embedded", "version": version("qdrant-edge-py"), "collections": folders}

    def put_aside(self, name: str) -> None:
        """Move a collection's folder away: its files are suspected of crashing the process."""
        place = qdrant_files.folder_of(self._root, name)
        if place.exists():
            self._lose(place, name)

    def close(self) -> None:
        """Write everything to the disk and let go of the files."""
        with self._opening:
            for shard in list(self._shards.values()):
                self._let_go(shard)

    def _use(self, name: str, work: Callable[[Shard], Result]) -> Result:
        """Work on a collection, twice if need be; see the module."""
        shard = self._at(name)
        try:
            return work(shard)
        except Broken as error:
            if not error.files:
                raise
        shard = self._anew(shard)
        try:
            return work(shard)
        except Broken as error:
            if error.files:
                self._put_aside(shard)
            raise

    def _at(self, name: str) -> Shard:
        """The collection, opened at its first use."""
        if found := self._shards.get(name):
            return found
        with self._opening:
            shard = self._shards.get(name) or self._load(qdrant_files.folder_of(self._root, name))
        if shard is None:
            raise RetrievalError("unavailable", missing=True)
        return shard

    def _load(self, place: Path) -> Shard | None:
        """From its folder; None: there is none, or it had to be put aside."""
        shape = qdrant_files.read(place)
        if shape is None:
            return None
        try:
            shard = Shard.load(place, shape)
        except Broken as error:
            if not error.files:
                raise
            self._lose(place, shape.name)
            return None
        self._shards[shape.name] = shard
        return shard

    def _anew(self, shard: Shard) -> Shard:
        """The collection's files read again, unless another call has done so."""
        with self._opening:
            if self._shards.get(shard.shape.name) is shard:
                self._let_go(shard)
        return self._at(shard.shape.name)

    def _put_aside(self, shard: Shard) -> None:
        """Unless another call has done so."""
        with self._opening:
            if self._shards.get(shard.shape.name) is shard:
                self._let_go(shard)
                self._lose(shard.place, shard.shape.name)

    def _let_go(self, shard: Shard) -> None:
        """Close it, however broken it is."""
        del self._shards[shard.shape.name]
        try:
            shard.close()
        except Broken as error:
            sys.stderr.write(f"a collection could not be closed: {str(error)[:80]}\n")

    def _lose(self, place: Path, name: str) -> None:
        """Put a folder aside, and remember to tell."""
        sys.stderr.write(f"a collection of qdrant cannot be read; it is put aside: {place.name}\n")
        if not self._look:
            qdrant_files.put_aside(place)
        self.lost.append(name)
