"""The child process of the embedded Chroma (`main`, with FOLDER EXACT_BYTES [aside] [read-only]).

`EmbeddedChroma` calls the vendor's bindings directly, which saves a second of CPU and 35 MB at every start;
their version is pinned and a test compares both (docs/adr/0001). A folder that cannot be used is moved to
`chroma.broken-<time>` (`put_aside`), since Postgres is the record. Blocking. Raises `OSError` for faults
outside the folder's content (rights, a full disk), else `ChromaFault`.
"""

import importlib
import importlib.util
import json
import os
import re
import resource
import shutil
import sqlite3
import struct
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.child import INTERNAL, Call, Parent, connected, end
from app.errors import IbidError

VENDOR = "chromadb"
DATABASE = ("default_tenant", "default_database")
"""Chroma's default tenant and database."""
FILES = 5
"""Open files per index; the engine keeps as many indexes open as the process may have files."""
HNSW = {"space": "cosine", "batch_size": 100, "sync_threshold": 100}
"""Changes that wait to be written to the index's files. The first delete costs the square of their number:
1.8 s with 700 under the vendor's default of 1,000, 0.1 s with 100. Fixed when a collection is created."""
CONFIGURATION = {"hnsw": HNSW, "spann": None, "embedding_function": {"type": "legacy"}}
"""Of a new collection, in the vendor's JSON: no embedding function."""
PAGE = 500
"""Collections per list call: a shared server may have many."""
PLAIN = (OSError, ValueError, RuntimeError, LookupError, TypeError)
"""Python's own errors that the vendor's code raises."""
BROKEN = 4
"""Exit code of the child: the content of its folder cannot be used."""

Matrix: TypeAlias = NDArray[np.float32]
Where: TypeAlias = Mapping[str, Any] | None
Json: TypeAlias = Any


class ChromaFault(IbidError):
    """Any failure of Chroma. Never leaves the retriever."""

    def __init__(self, detail: str, *, down: bool | None = True) -> None:
        super().__init__(detail)
        self.down = down
        """False: it answered, if only with a refusal; None: says nothing about the next call."""


class EmbeddedChroma:
    """The vendor's engine on a folder. Collections are created at first use. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        import chromadb_rust_bindings as vendor  # noqa: PLC0415 - heavy vendor, opened late

        database = vendor.SqliteDBConfig(
            hash_type=vendor.MigrationHash.MD5,
            migration_mode=vendor.MigrationMode.Apply,
            url=str(folder / "chroma.sqlite3"),
        )
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        make = partial(
            vendor.Bindings,
            allow_reset=False,
            sqlite_db_config=database,
            persist_path=str(folder),
            hnsw_cache_size=files // FILES,
        )
        self._ids: dict[str, str] = {}
        self._bindings: Any = called(make)
        # Opened without its folders, a damaged engine would accept writes and lose them.
        tenant, name = DATABASE
        called(self._bindings.get_tenant, tenant)
        called(self._bindings.get_database, name, tenant)

    def beat(self) -> None:
        called(self._bindings.heartbeat)

    def names(self) -> list[str]:
        names: list[str] = []
        while page := called(self._bindings.list_collections, PAGE, len(names), *DATABASE):
            names += [each.name for each in page]
        return names

    def forget(self, collection: str) -> None:
        if collection in self.names():
            self._ids.pop(collection, None)
            called(self._bindings.delete_collection, collection, *DATABASE)

    def count(self, collection: str) -> int:
        return int(called(self._bindings.count, self._id(collection), *DATABASE))

    def get(
        self,
        collection: str,
        where: Where = None,
        limit: int | None = None,
        offset: int = 0,
        include: Sequence[str] = (),
    ) -> dict[str, Any]:
        asked = (None, filter_json(where), limit, offset, None, list(include))
        found = called(self._bindings.get, self._id(collection), *asked, *DATABASE)
        return {"ids": found.ids, **{name: getattr(found, name) for name in include}}

    def query(self, collection: str, matrix: Matrix, where: Where, limit: int) -> dict[str, Any]:
        asked = (None, matrix, limit, filter_json(where), None, ["distances"])
        found = called(self._bindings.query, self._id(collection), *asked, *DATABASE)
        return {"ids": found.ids[0], "distances": found.distances[0]}

    def upsert(
        self,
        collection: str,
        matrix: Matrix,
        ids: Sequence[str],
        metadatas: Sequence[Mapping[str, Any] | None],
    ) -> None:
        written = (list(ids), matrix, list(metadatas), None, None)
        called(self._bindings.upsert, self._id(collection), *written, *DATABASE)

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        called(self._bindings.delete, self._id(collection), list(ids), None, None, None, *DATABASE)

    def close(self) -> None:
        del self._bindings

    def _id(self, collection: str) -> str:
        if collection not in self._ids:
            plan = (collection, json.dumps(CONFIGURATION), None, None, True)
            self._ids[collection] = str(called(self._bindings.create_collection, *plan, *DATABASE).id)
        return self._ids[collection]


def called(method: Callable[..., Json], *arguments: object) -> Json:
    """Call the vendor; its errors become `ChromaFault`."""
    try:
        return method(*arguments)
    except errors() as error:
        down = getattr(error, "code", lambda: 500)() >= 500  # `code` distinguishes refusals
        raise ChromaFault(f"{type(error).__name__}: {error}", down=down) from error


def errors() -> tuple[type[Exception], ...]:
    """The vendor's errors. Their base class is loaded only when the first is raised."""
    kind = getattr(sys.modules.get(f"{VENDOR}.errors"), "ChromaError", RuntimeError)
    return (*PLAIN, kind)


def filter_json(where: Where) -> str | None:
    return json.dumps(where) if where else None


def define_errors() -> None:
    """Register the vendor's error classes without its client. At its first fault the engine would otherwise
    import the whole client, or abort if no file can be opened."""
    found = importlib.util.find_spec(VENDOR)  # finds the module without running its code
    if VENDOR in sys.modules or found is None:
        return
    package = sys.modules[VENDOR] = ModuleType(VENDOR)
    package.__spec__, package.__path__ = found, list(found.submodule_search_locations or ())
    importlib.import_module(f"{VENDOR}.errors")


REMADE_MOST = 50_000
"""Most live vectors of a folder that is rebuilt: filling it takes a minute or two. A folder stays if a scope
may be too large to be searched without Chroma (EXACT_MAX_MB)."""
LOST = "files were lost"
REMADE = "its folder was made again, without what was deleted"
UNFINISHED = "it was not filled to the end"
"""Why a folder lacks vectors."""
SLOTS_SPARE = 200
"""Spare slots of two fresh collections."""
ROOM = 1 << 20
"""Bytes that must be free: a full disk is no fault of the folder."""
HEADER = struct.Struct("<i6QiI3QdQ")
"""Header of a saved index, version 1 (hnswlib, saveIndex): [3] elements, [4] bytes of each at the lowest
level."""
LINKS = struct.Struct("<I")
"""Byte length before the links of each element at the higher levels."""
SAMPLE = 8
"""Vectors read from each end of a collection."""
UNFILLED = "unfilled"
"""A file in a folder that began empty, until it is refilled from Postgres: an interrupted refill is
restarted."""
CANARY = "ibid:canary"
"""Id of a vector that each start writes and deletes; no document's (`<document>:<ordinal>`)."""
SCARCE = re.compile(r"disk is full|No space left|locked|readonly|Permission denied|Too many open files")
"""Messages for faults of the machine, which moving the folder would not repair."""


def open_folder(folder: Path, exact_bytes: int = 0, *, read_only: bool = False) -> tuple[EmbeddedChroma, str]:
    """(a tested engine on the tidied folder, why vectors are missing or ""). `read_only`: tidies and writes
    nothing."""
    check_writable(folder)
    lost = UNFINISHED
    if not read_only and (done := tidy(folder, exact_bytes)):
        sys.stderr.write(f"{done}\n")
        lost = REMADE
    folder.mkdir(exist_ok=True)
    if mark_unfilled(folder, read_only=read_only) and lost != REMADE:
        lost = LOST
    for header in folder.glob("*/header.bin"):
        check_sizes(header)
    engine = EmbeddedChroma(folder)
    probe = probe_reads if read_only else probe_writes
    for name in engine.names():
        probe(engine, name)
    return engine, lost if (folder / UNFILLED).exists() else ""


def mark_unfilled(folder: Path, *, read_only: bool) -> bool:
    """Mark a folder that begins empty. `ChromaFault` if it does and is read-only."""
    database = folder / "chroma.sqlite3"
    if database.exists() and database.stat().st_size:
        return False
    if read_only:
        raise ChromaFault(f"{database} is missing")
    (folder / UNFILLED).touch()
    return True


def check_writable(folder: Path) -> None:
    """Raises `OSError` if the folder cannot be written, `ChromaFault` if it is no folder."""
    if folder.exists() and not folder.is_dir():
        raise ChromaFault(f"{folder} is no folder")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(ROOM))
        file.flush()
    database = folder / "chroma.sqlite3"
    if database.exists():
        database.open("r+b").close()


def check_sizes(header: Path) -> None:
    """Compare an index's files with its header: a truncated index opens, and finds less. Raises
    `ChromaFault`."""
    content = header.read_bytes()
    if len(content) != HEADER.size or content[:4] != LINKS.pack(1):
        return  # an unknown form: decided by trying it
    fields = HEADER.unpack(content)
    data = header.with_name("data_level0.bin")
    if not data.exists() or data.stat().st_size < fields[3] * fields[4]:
        raise ChromaFault(f"{data} is cut")
    check_links(header.with_name("link_lists.bin"), fields[3])


def check_links(links: Path, elements: int) -> None:
    """Compare the links of the higher levels with the number of elements. Raises `ChromaFault`."""
    found, at = links.read_bytes() if links.exists() else b"", 0
    for _ in range(elements):
        if at + LINKS.size > len(found):
            raise ChromaFault(f"{links} is cut")
        at += LINKS.size + LINKS.unpack_from(found, at)[0]
    if at > len(found):
        raise ChromaFault(f"{links} is cut")


def probe_writes(engine: EmbeddedChroma, collection: str) -> None:
    """Write and delete a vector: damaged files open without an error, and fail, or crash the process, at the
    first read or write."""
    row = probe_reads(engine, collection)
    if row is not None:
        engine.upsert(collection, row, [CANARY], [{"document": CANARY}])
        engine.delete(collection, [CANARY])


def probe_reads(engine: EmbeddedChroma, collection: str) -> Matrix | None:
    """Read from a collection; returns a row, or None if it is empty."""
    count = engine.count(collection)
    if count == 0:
        return None
    engine.get(collection, limit=SAMPLE, offset=max(0, count - SAMPLE), include=["embeddings"])
    found = engine.get(collection, limit=SAMPLE, include=["embeddings"])
    row = np.asarray(found["embeddings"][:1], dtype=np.float32)
    engine.query(collection, row, None, 1)
    return row


def put_aside(folder: Path) -> None:
    """Move the folder aside, replacing one moved earlier; it may be missing."""
    for older in folder.parent.glob(f"{folder.name}.broken-*"):
        shutil.rmtree(older, ignore_errors=True)
    if folder.exists():
        folder.rename(folder.with_name(f"{folder.name}.broken-{datetime.now(UTC):%Y%m%dT%H%M%S}"))


def tidy(folder: Path, exact_bytes: int) -> str:
    """Reclaim what the vendor never does: files of deleted collections, and slots of deleted vectors.

    The folder must not be open. If most slots are of deleted vectors the whole folder is removed, to be
    refilled from Postgres, and the reason is returned; not if live vectors exceed `exact_bytes`, since
    searches may need them meanwhile.
    """
    try:
        with closing(
            sqlite3.connect(f"{(folder / 'chroma.sqlite3').absolute().as_uri()}?mode=rw", uri=True)
        ) as db:
            segments = {row[0] for row in db.execute("SELECT id FROM segments")}
            live = db.execute("SELECT count(*) FROM embeddings").fetchone()[0]
            dim = db.execute("SELECT max(dimension) FROM collections").fetchone()[0] or 0
    except sqlite3.Error:
        return ""  # missing or of an unknown form: the vendor's error will say what is wrong
    sizes = list(folder.glob("*/length.bin"))
    drop([size.parent for size in sizes if size.parent.name not in segments])
    # Four bytes per slot, live or deleted.
    dead = sum(size.stat().st_size for size in sizes if size.exists()) // 4 - live
    if dead <= live + SLOTS_SPARE or live > REMADE_MOST or 4 * dim * live > exact_bytes:
        return ""
    shutil.rmtree(folder)
    return f"the folder is made anew: {dead} places of the dead, {live} of the living"


def drop(folders: Sequence[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


THREADS = 4
NICE = 5
"""Lower priority than the service: writes must not take its core."""


def main() -> None:
    parent, (folder, exact_bytes, *mode) = connected()
    os.nice(NICE)
    define_errors()
    engine = opened(parent, Path(folder), int(exact_bytes), mode)
    parent.serve(partial(answer, engine), threads=THREADS)
    engine.close()


def opened(parent: Parent, folder: Path, exact_bytes: int = 0, mode: Sequence[str] = ()) -> EmbeddedChroma:
    """Open the folder and report READY; exit if it cannot be used."""
    try:
        if "aside" in mode:
            put_aside(folder)
        engine, lost = open_folder(folder, exact_bytes, read_only="read-only" in mode)
    except OSError as error:
        parent.refuse(str(error))
    except ChromaFault as error:
        if SCARCE.search(error.detail):
            parent.refuse(error.detail)
        end(BROKEN, error.detail)
    except BaseException as error:
        if type(error).__module__ == "pyo3_runtime":  # the vendor's panics do not derive from `Exception`
            end(BROKEN, type(error).__name__)
        raise
    parent.ready({"lost": lost})
    return engine


def answer(engine: EmbeddedChroma, call: Call) -> None:
    try:
        result = perform(engine, call.name, bytes(call.data), call.payload)
    except ChromaFault as error:
        own = error.detail.startswith("InternalError")
        call.fail({"error": error.detail, "down": own})
        if own and not SCARCE.search(error.detail):  # not the machine's fault: a new child checks the folder
            end(INTERNAL, error.detail)
    else:
        call.reply({"result": result})


def perform(engine: EmbeddedChroma, do: str, data: bytes, arguments: Mapping[str, Any]) -> Json:
    """Call a method of `EmbeddedChroma`; its result is JSON. `data`: rows of a query or an upsert."""
    if data:
        rows = len(arguments["ids"]) if do == "upsert" else 1
        arguments = {**arguments, "matrix": np.frombuffer(data, "<f4").reshape(rows, -1)}
    return getattr(engine, do)(**arguments)


if __name__ == "__main__":
    main()
