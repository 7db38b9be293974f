"""The embedded Qdrant's process (`main`, with FOLDER [read-only] [suspect...]), started by `qdrant.py`.

Blocking; thread-safe. A search compares every point that passes the filter; a write is on disk when it
returns. A failed call is retried once on reopened files; a collection that cannot be read, or is suspected of
a crash (names as JSON), is put aside, and the outbox writes it again. Read-only, nothing in the folder is
moved. A collection is a folder named by a hash, with a file of its true name and shape; compaction builds the
vendor's files anew in a numbered folder, which takes over in one step.

Raises `RetrievalError` (`missing`: no such collection; `rejected`: the engine refuses), `NoRoom`, `OSError`,
and `EngineError` for all else. Exit codes: REFUSED (the folder cannot be used), INTERNAL (an unexpected
error).
"""

import errno
import hashlib
import json
import os
import re
import shutil
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import qdrant_edge

from app import disk
from app.child import Call, Parent, connected
from app.errors import NoRoom, RetrievalError
from app.retrieval.retrievers.points import (
    DENSE,
    Point,
    Where,
    by_score,
    floats,
    from_frame,
    identities,
    identity,
    packed,
    to_frame,
)
from app.types import Embedding

SHAPE_FILE = "collection.json"
ASIDE = ".aside"
"""Suffix of the folder of an unreadable collection; the newest of each is kept."""
DELETED = ".gone"
"""Suffix of a folder that is being deleted."""
PLAIN = 40
"""Readable characters in a folder's name."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A collection's name, indexed fields and current folder, as stored in SHAPE_FILE."""

    name: str
    dim: int
    keys: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    times: tuple[str, ...] = ()
    turn: int = 1
    """Number of the current folder of the vendor's files."""

    def also(self, keys: Sequence[str], tenants: Sequence[str], times: Sequence[str]) -> "Shape":
        """With these fields indexed too."""
        return replace(
            self,
            keys=tuple(dict.fromkeys((*self.keys, *keys))),
            tenants=tuple(dict.fromkeys((*self.tenants, *tenants))),
            times=tuple(dict.fromkeys((*self.times, *times))),
        )


def folder_of(root: Path, name: str) -> Path:
    """A collection's folder: `memory_raw-9f86d081884c7d65`."""
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:PLAIN]
    return root / f"{plain}-{digest}"


def read_shape(folder: Path) -> Shape | None:
    try:
        kept = json.loads((folder / SHAPE_FILE).read_text("utf-8"))
        fields = {name: tuple(kept[name]) for name in ("keys", "tenants", "times")}
        return Shape(str(kept["name"]), int(kept["dim"]), turn=int(kept["turn"]), **fields)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_shape(folder: Path, shape: Shape) -> None:
    """Atomic: a crash leaves the old file or the new one."""
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f"{SHAPE_FILE}.new"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(asdict(shape), file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / SHAPE_FILE)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries: a rename is not durable before that."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def files_of(folder: Path, shape: Shape) -> Path:
    return folder / str(shape.turn)


def size_of(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*"))


def shapes_in(root: Path) -> Iterator[tuple[Path, Shape]]:
    for folder in sorted(root.iterdir() if root.is_dir() else ()):
        shape = None if folder.name.endswith((DELETED, ASIDE)) else read_shape(folder)
        if shape:
            yield folder, shape


def sweep(root: Path) -> None:
    """Remove what a crash left half deleted or half built. Only while nothing uses the folder."""
    for gone in root.glob(f"*{DELETED}"):
        shutil.rmtree(gone, ignore_errors=True)
    for folder, shape in shapes_in(root):
        tidy(folder, shape)


def tidy(folder: Path, shape: Shape) -> None:
    for each in folder.iterdir():
        if each.is_dir() and each.name != str(shape.turn):
            shutil.rmtree(each, ignore_errors=True)


def set_aside(folder: Path) -> None:
    aside = folder.with_name(folder.name + ASIDE)
    shutil.rmtree(aside, ignore_errors=True)
    folder.replace(aside)


def forget_aside(folder: Path) -> None:
    """Remove the folder that was put aside: it contains texts too."""
    shutil.rmtree(folder.with_name(folder.name + ASIDE), ignore_errors=True)


def delete_folder(folder: Path) -> None:
    """Rename it first, so that a crash leaves nothing that looks complete."""
    gone = folder.with_name(folder.name + DELETED)
    shutil.rmtree(gone, ignore_errors=True)
    if folder.exists():
        folder.replace(gone)
        shutil.rmtree(gone, ignore_errors=True)
    forget_aside(folder)


REFUSALS = (
    "Vector dimension error",
    "Not existing vector name",
    "Validation failed",
    "Wrong input",
    "Bad request",
)
"""Beginnings of messages for a faulty request, as opposed to faulty files."""
SCARCE = ("os error 12)", "os error 23)", "os error 24)", "os error 28)", "os error 122)")
"""Out of memory, handles, or disk space: no fault of the files."""
FULL = SCARCE[-2:]


class EngineError(Exception):
    """The engine failed. `files`: its files may be damaged; `full`: the disk is full."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.files = not any(code in said for code in SCARCE)
        self.full = any(code in said for code in FULL)


class VendorErrors:
    """Translates errors; used around every call of qdrant_edge."""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is ValueError or (kind is Exception and str(error).startswith(REFUSALS)):
            raise RetrievalError("unavailable", rejected=True) from error
        if kind is not None and (kind is Exception or kind.__name__ == "PanicException"):
            raise EngineError(str(error)) from error


vendor_errors = VendorErrors()


BATCH = 256
"""Points per update, so that searches run in between."""
SEARCHERS = 2
"""Threads of the engine per collection: the default is 8 or more for each of perhaps hundreds."""
EXACT = qdrant_edge.SearchParams(exact=True)


class StoredCollection:
    def __init__(self, folder: Path, shape: Shape, vendor: qdrant_edge.EdgeShard) -> None:
        self.folder = folder
        self.shape = shape
        self._vendor = vendor
        self._writing = threading.Lock()
        self._written = 0
        """Number of updates."""
        self._flushing = threading.Lock()
        self._flushed = 0
        self._meanwhile: list[qdrant_edge.UpdateOperation] | None = None
        """Updates made while a new shard is built; None: none is."""
        self._compacting = threading.Lock()

    @classmethod
    def make(cls, folder: Path, shape: Shape) -> "StoredCollection":
        vendor = build(files_of(folder, shape), shape)
        write_shape(folder, shape)
        return cls(folder, shape, vendor)

    @classmethod
    def load(cls, folder: Path, shape: Shape) -> "StoredCollection":
        files = files_of(folder, shape)
        disk.check(files, 0, disk.mapped(files))
        with vendor_errors:
            vendor = qdrant_edge.EdgeShard.load(str(files), config(shape))
        return cls(folder, shape, vendor)

    def search(self, where: Where, dense: Embedding, limit: int, *, payload: bool) -> list[Point]:
        """The nearest, best first; equal scores by id."""
        with vendor_errors:
            request = qdrant_edge.QueryRequest(
                limit,
                query=qdrant_edge.Query.Nearest(floats(dense), using=DENSE),
                params=EXACT,
                filter=condition(where),
                with_payload=payload,
            )
            return by_score([point_of(found) for found in self._vendor.query(request)])

    def scroll(self, where: Where, limit: int, after: str | None, *, vectors: bool) -> list[Point]:
        with vendor_errors:
            request = qdrant_edge.ScrollRequest(
                offset=None if after is None else identity(after),
                limit=limit + (after is not None),
                filter=condition(where),
                with_payload=True,
                with_vector=[DENSE] if vectors else False,
            )
            rows, _ = self._vendor.scroll(request)
        return [point for point in map(point_of, rows) if point.id != after][:limit]

    def count(self, where: Where) -> int:
        with vendor_errors:
            return self._vendor.count(qdrant_edge.CountRequest(exact=True, filter=condition(where)))

    def index(self, shape: Shape) -> None:
        """Create missing indexes of `shape`."""
        with self._writing, vendor_errors:
            for operation in indexes(shape, self.shape):
                with disk.room(self.folder):
                    self._vendor.update(operation)
            write_shape(self.folder, shape)
            self.shape = shape

    def put(self, points: Sequence[Point]) -> None:
        with vendor_errors:
            records = [record(point) for point in points]
        for at in range(0, len(records), BATCH):
            self._write(qdrant_edge.UpdateOperation.upsert_points(records[at : at + BATCH]))
        self.flush()

    def remove(self, where: Where) -> None:
        self._write(
            qdrant_edge.UpdateOperation.delete_points_by_filter(condition(where)), least=disk.LEAST_FREE
        )
        self.flush()

    def _write(self, operation: qdrant_edge.UpdateOperation, *, least: int = disk.RESERVE) -> None:
        """One update, also for the shard being built. `least`: bytes that must be free on the disk."""
        with self._writing, disk.room(self.folder, least), vendor_errors:
            try:
                self._vendor.update(operation)
            finally:  # it may be half done
                self._written += 1
            if self._meanwhile is not None:
                self._meanwhile.append(operation)

    def flush(self) -> None:
        """On return all earlier writes are on disk."""
        mine = self._written
        with self._flushing, vendor_errors:
            if self._flushed < mine:
                now = self._written
                self._vendor.flush()
                self._flushed = now

    def compact(self) -> None:
        """Rebuild the files beside the old ones, then switch. Concurrent writes go to both."""
        with self._compacting:
            after = replace(self.shape, turn=self.shape.turn + 1)
            beside = files_of(self.folder, after)
            tidy(self.folder, self.shape)
            disk.check(self.folder, disk.RESERVE, size_of(files_of(self.folder, self.shape)))
            with self._writing:
                self._meanwhile = []
            try:
                self._take_over(self._copied(beside, after), after)
            finally:
                self._meanwhile = None
                tidy(self.folder, self.shape)  # half a copy would waste space
            forget_aside(self.folder)

    def _copied(self, beside: Path, shape: Shape) -> qdrant_edge.EdgeShard:
        made = build(beside, shape)
        with vendor_errors:
            for page in self._pages():
                with disk.room(beside):
                    made.update(qdrant_edge.UpdateOperation.upsert_points(page))
            made.flush()
        return made

    def _pages(self) -> Iterator[list[qdrant_edge.Point]]:
        offset: qdrant_edge.PointId | None = None
        while True:
            ask = qdrant_edge.ScrollRequest(
                offset=offset, limit=BATCH, with_payload=True, with_vector=[DENSE]
            )
            rows, offset = self._vendor.scroll(ask)
            yield [qdrant_edge.Point(row.id, row.vector or {}, row.payload) for row in rows]
            if offset is None:
                return

    def _take_over(self, made: qdrant_edge.EdgeShard, shape: Shape) -> None:
        """Add what was written meanwhile, then switch to the new shard."""
        with self._writing, self._flushing, vendor_errors:
            for operation in self._meanwhile or ():
                with disk.room(self.folder):
                    made.update(operation)
            made.flush()
            write_shape(self.folder, shape)
            # Running searches keep the old one until they end; its files are deleted now.
            self._vendor, self.shape, self._flushed = made, shape, self._written
            tidy(self.folder, shape)

    def close(self) -> None:
        with self._writing, self._flushing, vendor_errors:
            self._vendor.flush()
            self._vendor.close()


def build(files: Path, shape: Shape) -> qdrant_edge.EdgeShard:
    with disk.room(files), vendor_errors:
        files.mkdir(parents=True)
        made = qdrant_edge.EdgeShard.create(str(files), config(shape))
        for operation in indexes(shape):
            made.update(operation)
        made.flush()
    return made


def config(shape: Shape) -> qdrant_edge.EdgeConfig:
    dense = qdrant_edge.EdgeVectorParams(size=shape.dim, distance=qdrant_edge.Distance.Cosine)
    return qdrant_edge.EdgeConfig(vectors={DENSE: dense}, max_search_threads=SEARCHERS)


def indexes(shape: Shape, known: Shape | None = None) -> Iterator[qdrant_edge.UpdateOperation]:
    """Updates that create indexes which `known` does not have."""
    had = {*known.keys, *known.tenants, *known.times} if known else set()
    wanted: dict[str, qdrant_edge.PayloadSchemaType | qdrant_edge.PayloadSchemaParams] = {}
    wanted.update(dict.fromkeys(shape.keys, qdrant_edge.PayloadSchemaType.Keyword))
    wanted.update(dict.fromkeys(shape.times, qdrant_edge.PayloadSchemaType.Datetime))
    wanted.update(dict.fromkeys(shape.tenants, qdrant_edge.KeywordIndexParams(is_tenant=True)))
    for field, schema in wanted.items():
        if field not in had:
            yield qdrant_edge.UpdateOperation.create_field_index(field, schema)


def condition(where: Where) -> qdrant_edge.Filter:
    must: list[qdrant_edge.ConditionType] = [one_of(key, values) for key, values in where.has]
    for key, values in where.open:
        must.append(qdrant_edge.Filter(should=[qdrant_edge.IsEmptyCondition(key), one_of(key, values)]))
    if where.ids is not None:
        must.append(qdrant_edge.HasIdCondition(set(identities(where.ids))))
    return qdrant_edge.Filter(must=must, must_not=[one_of(key, values) for key, values in where.lacks])


def one_of(key: str, values: Sequence[str]) -> qdrant_edge.FieldCondition:
    return qdrant_edge.FieldCondition(key, match=qdrant_edge.MatchAny(list(values)))


def record(point: Point) -> qdrant_edge.Point:
    vectors: dict[str, qdrant_edge.NamedVector] = {} if point.dense is None else {DENSE: floats(point.dense)}
    return qdrant_edge.Point(identity(point.id), vectors, dict(point.payload))


def point_of(found: qdrant_edge.Record | qdrant_edge.ScoredPoint) -> Point:
    vectors = found.vector
    return Point(
        str(found.id),
        found.payload or {},
        packed(vectors.get(DENSE)) if isinstance(vectors, dict) else None,
        found.score if isinstance(found, qdrant_edge.ScoredPoint) else 0.0,
    )


Result = TypeVar("Result")


class EmbeddedQdrant:
    """An open folder, created if missing. A collection is opened at its first use. `read_only`: nothing is
    moved or tidied."""

    def __init__(self, root: Path, *, read_only: bool = False) -> None:
        self._root = root
        self._read_only = read_only
        self._collections: dict[str, StoredCollection] = {}
        self._opening = threading.Lock()
        self.set_aside: deque[str] = deque()
        """Names of collections put aside, until a reply has reported them."""
        if not read_only:
            sweep(root)

    def shapes(self) -> list[tuple[str, int]]:
        return sorted((shape.name, shape.dim) for _, shape in shapes_in(self._root))

    def create(
        self, name: str, dim: int, keys: Sequence[str], tenants: Sequence[str], times: Sequence[str]
    ) -> None:
        """Create a collection, or its missing indexes."""
        wanted, folder = Shape(name, dim).also(keys, tenants, times), folder_of(self._root, name)
        with self._opening:
            collection = self._collections.get(name) or self._load(folder)
            if collection is None:
                if folder.exists():
                    set_aside(folder)
                self._collections[name] = StoredCollection.make(folder, wanted)
            elif (also := collection.shape.also(keys, tenants, times)) != collection.shape:
                collection.index(also)

    def drop(self, name: str) -> None:
        with self._opening:
            if name in self._collections:
                self._close(self._collections[name])
            delete_folder(folder_of(self._root, name))

    def put(self, name: str, points: Sequence[Point]) -> None:
        self._use(name, lambda collection: collection.put(points))

    def remove(self, name: str, where: Where) -> None:
        self._use_if_there(name, lambda collection: collection.remove(where))

    def search(self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool) -> list[Point]:
        """Compares every point that passes the filter."""
        return (
            self._use_if_there(
                name, lambda collection: collection.search(where, dense, limit, payload=payload)
            )
            or []
        )

    def scroll(self, name: str, where: Where, limit: int, after: str | None, *, vectors: bool) -> list[Point]:
        return (
            self._use_if_there(
                name, lambda collection: collection.scroll(where, limit, after, vectors=vectors)
            )
            or []
        )

    def count(self, name: str, where: Where) -> int | None:
        return self._use_if_there(name, lambda collection: collection.count(where))

    def compact(self, name: str) -> None:
        self._use_if_there(name, lambda collection: collection.compact())

    def check(self) -> Mapping[str, str | int]:
        folders = sum(1 for _ in shapes_in(self._root))
        return {"server": "embedded", "version": version("qdrant-edge-py"), "collections": folders}

    def suspect(self, name: str) -> None:
        """Put a collection aside: its files are suspected of crashing the process."""
        folder = folder_of(self._root, name)
        if folder.exists():
            self._set_folder_aside(folder, name)

    def close(self) -> None:
        with self._opening:
            for collection in list(self._collections.values()):
                self._close(collection)

    def _use_if_there(self, name: str, work: Callable[[StoredCollection], Result]) -> Result | None:
        try:
            return self._use(name, work)
        except RetrievalError as error:
            if error.missing:
                return None
            raise

    def _use(self, name: str, work: Callable[[StoredCollection], Result]) -> Result:
        """Run `work` on a collection, twice if necessary; see the module."""
        collection = self._collection(name)
        try:
            return work(collection)
        except EngineError as error:
            if not error.files:
                raise
        collection = self._reload(collection)
        try:
            return work(collection)
        except EngineError as error:
            if error.files:
                self._set_aside(collection)
            raise

    def _collection(self, name: str) -> StoredCollection:
        if found := self._collections.get(name):
            return found
        with self._opening:
            collection = self._collections.get(name) or self._load(folder_of(self._root, name))
        if collection is None:
            raise RetrievalError("unavailable", missing=True)
        return collection

    def _load(self, folder: Path) -> StoredCollection | None:
        """None if the folder is missing or had to be put aside."""
        shape = read_shape(folder)
        if shape is None:
            return None
        try:
            collection = StoredCollection.load(folder, shape)
        except EngineError as error:
            if not error.files:
                raise
            self._set_folder_aside(folder, shape.name)
            return None
        self._collections[shape.name] = collection
        return collection

    def _reload(self, collection: StoredCollection) -> StoredCollection:
        """Reopen the collection's files, unless another call has done so."""
        with self._opening:
            if self._collections.get(collection.shape.name) is collection:
                self._close(collection)
                if read_shape(collection.folder) is None:  # it was removed meanwhile
                    self.set_aside.append(collection.shape.name)
        return self._collection(collection.shape.name)

    def _set_aside(self, collection: StoredCollection) -> None:
        """Put it aside, unless another call has done so."""
        with self._opening:
            if self._collections.get(collection.shape.name) is collection:
                self._close(collection)
                self._set_folder_aside(collection.folder, collection.shape.name)

    def _close(self, collection: StoredCollection) -> None:
        del self._collections[collection.shape.name]
        try:
            collection.close()
        except EngineError as error:
            sys.stderr.write(f"a collection could not be closed: {str(error)[:80]}\n")

    def _set_folder_aside(self, folder: Path, name: str) -> None:
        """Put a folder aside and note its name for the next reply."""
        sys.stderr.write(f"a collection of qdrant cannot be read; it is put aside: {folder.name}\n")
        if not self._read_only:
            set_aside(folder)
        self.set_aside.append(name)


THREADS = 8
READS = frozenset({"search", "scroll", "count"})


def main() -> None:
    parent, (folder, read_only, *suspects) = connected()
    engine = opened(parent, Path(folder), read_only=bool(read_only))
    for name in suspects:
        engine.suspect(json.loads(name))
    parent.ready()
    parent.serve(partial(answer, engine), threads=THREADS)
    engine.close()


def opened(parent: Parent, folder: Path, *, read_only: bool) -> EmbeddedQdrant:
    try:
        return EmbeddedQdrant(folder, read_only=read_only)
    except OSError as error:
        parent.refuse(str(error))


def answer(engine: EmbeddedQdrant, call: Call) -> None:
    """Answer a call: a reply, or a fault (`fault`: missing, rejected, full, unavailable). Both list the
    collections that were put aside (`set_aside`)."""
    try:
        reply, data = perform(engine, call.name, call.payload, bytes(call.data))
    except RetrievalError as error:
        call.fail({"fault": "missing" if error.missing else "rejected", **names_set_aside(engine)})
    except (TypeError, ValueError, OverflowError, RecursionError):  # the engine cannot hold such a value
        call.fail({"fault": "rejected", **names_set_aside(engine)})
    except NoRoom as error:
        # A collection that cannot be opened for lack of space counts as unavailable.
        fault = "unavailable" if call.name in READS else "full"
        call.fail({"fault": fault, "detail": error.detail, **names_set_aside(engine)})
    except (EngineError, OSError) as error:
        full = error.full if isinstance(error, EngineError) else error.errno in {errno.ENOSPC, errno.EDQUOT}
        detail = "The disk of the memories' index is full" if full else type(error).__name__
        call.fail({"fault": "full" if full else "unavailable", "detail": detail, **names_set_aside(engine)})
    else:
        call.reply({**reply, **names_set_aside(engine)}, data)


def perform(
    engine: EmbeddedQdrant, do: str, given: Mapping[str, Any], data: bytes
) -> tuple[dict[str, Any], bytes]:
    """Call a method of `EmbeddedQdrant`; returns the reply's payload and data. Vectors travel as data."""
    arguments = dict(given)
    if "where" in arguments:
        arguments["where"] = where_of(arguments["where"])
    if do == "put":
        arguments["points"] = from_frame(arguments["points"], data)
    if do == "search":
        arguments["dense"] = data
    result = getattr(engine, do)(**arguments)
    return to_frame(result) if do in {"search", "scroll"} else ({"result": result}, b"")


def names_set_aside(engine: EmbeddedQdrant) -> dict[str, list[str]]:
    names = []
    while engine.set_aside:
        names.append(engine.set_aside.popleft())
    return {"set_aside": names} if names else {}


def where_of(given: dict[str, Any]) -> Where:
    fields = {
        name: tuple((key, tuple(each)) for key, each in given[name]) for name in ("has", "lacks", "open")
    }
    return Where(**fields, ids=None if given["ids"] is None else tuple(given["ids"]))


if __name__ == "__main__":
    main()
