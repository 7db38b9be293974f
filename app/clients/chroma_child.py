"""The process of the embedded Chroma (`main`, with FOLDER [aside] [read-only]): its folder
is checked, tidied, opened and tried here, and its engine is asked as the vendor's own Python client asks it.

To import that client takes a second of a processor and 35 MB at every start, for a dozen calls that it hands
through. The engine's interface is the vendor's own affair, so its version is pinned and a test holds both
clients against each other (docs/adr/0001). Chroma is an index of what Postgres has, so a
folder that cannot be used may be lost: `put_aside` moves it away as `chroma.broken-<time>`, and an empty one
takes its place. Everything blocks. Raises `OSError` for what is no fault of the folder's content (rights, a
full disk), `ChromaFault` for what is.
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
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.child import INTERNAL, Call, Parent, connected, end
from app.clients.chroma_client import (
    BROKEN,
    ChromaFault,
    Client,
    Matrix,
    VendorCollection,
    packed,
    perform,
    unpacked,
)

VENDOR = "chromadb"
DATABASE = ("default_tenant", "default_database")
"""Tenant and database of whoever names none."""
FILES = 5
"""Of an index that is open; the engine keeps as many open as the process may have files."""

Bindings: TypeAlias = Any
"""The vendor's; they come without types."""


class Engine:
    def __init__(self, folder: Path) -> None:
        import chromadb_rust_bindings as vendor  # noqa: PLC0415 - heavy vendor, opened late

        database = vendor.SqliteDBConfig(
            hash_type=vendor.MigrationHash.MD5,
            migration_mode=vendor.MigrationMode.Apply,
            url=str(folder / "chroma.sqlite3"),
        )
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._bindings: Bindings = vendor.Bindings(
            allow_reset=False,
            sqlite_db_config=database,
            persist_path=str(folder),
            hnsw_cache_size=files // FILES,
        )
        # Opened without them, a damaged folder would take writes and lose them.
        tenant, name = DATABASE
        self._bindings.get_tenant(tenant)
        self._bindings.get_database(name, tenant)

    def heartbeat(self) -> int:
        """Its clock, in nanoseconds."""
        return int(self._bindings.heartbeat())

    def get_or_create_collection(self, name: str, **arguments: object) -> VendorCollection:
        """A collection; `configuration` is heeded when it is made. None has an embedding function."""
        given: Mapping[str, Any] = arguments
        plan = {**given["configuration"], "spann": None, "embedding_function": {"type": "legacy"}}
        made = self._bindings.create_collection(name, json.dumps(plan), None, None, True, *DATABASE)
        return EngineCollection(self._bindings, str(made.id))

    def list_collections(self, limit: int, offset: int) -> Sequence[Any]:
        """A page of them; each has a name."""
        return list(self._bindings.list_collections(limit, offset, *DATABASE))

    def delete_collection(self, name: str) -> None:
        """Drop it with all that is in it."""
        self._bindings.delete_collection(name, *DATABASE)

    def close(self) -> None:
        """Give the folder back."""
        self._bindings = SimpleNamespace()


class EngineCollection:
    """A collection of it. Keeps `chroma_client.VendorCollection`."""

    def __init__(self, bindings: Bindings, key: str) -> None:
        self._bindings = bindings
        self._key = key

    def count(self) -> int:
        return int(self._bindings.count(self._key, *DATABASE))

    def get(self, **arguments: object) -> Mapping[str, Any]:
        """ids, where, limit, offset, include."""
        ask = arguments.get
        where, page = filter_json(ask("where")), (ask("limit"), ask("offset") or 0)
        found = self._bindings.get(self._key, ask("ids"), where, *page, None, ask("include"), *DATABASE)
        return {"ids": found.ids, "embeddings": found.embeddings, "metadatas": found.metadatas}

    def query(self, **arguments: object) -> Mapping[str, Any]:
        """query_embeddings, where, n_results, include."""
        ask = arguments.get
        near = (None, matrix(ask("query_embeddings")), ask("n_results"))
        which = (filter_json(ask("where")), None, ask("include"))
        found = self._bindings.query(self._key, *near, *which, *DATABASE)
        return {"ids": found.ids, "embeddings": found.embeddings, "metadatas": found.metadatas}

    def upsert(self, **arguments: object) -> None:
        ask = arguments.get
        what = (ask("ids"), matrix(ask("embeddings")), ask("metadatas"), None, None)
        self._bindings.upsert(self._key, *what, *DATABASE)

    def delete(self, **arguments: object) -> object:
        ask = arguments.get
        return self._bindings.delete(self._key, ask("ids"), filter_json(ask("where")), None, None, *DATABASE)


def filter_json(where: object) -> str | None:
    """A filter as the engine reads it."""
    return json.dumps(where) if where else None


def matrix(rows: object) -> NDArray[np.float32]:
    """Vectors as the engine takes them, one a row."""
    return np.asarray(rows, dtype=np.float32)


def define_errors() -> None:
    """In a process that never needs the vendor's client: put the errors alone where the engine looks for
    them. At its first fault it would import all of the client, or abort where no file is left to open."""
    found = importlib.util.find_spec(VENDOR)  # finds it, and runs nothing of it
    if VENDOR in sys.modules or found is None:
        return
    package = sys.modules[VENDOR] = ModuleType(VENDOR)
    package.__spec__, package.__path__ = found, list(found.submodule_search_locations or ())
    importlib.import_module(f"{VENDOR}.errors")


REMADE_MOST = 50_000
"""Live vectors up to which a folder is made anew: no part is then too large to be searched exactly without
Chroma, so the answers are the same while it fills again."""
SLOTS_SPARE = 200
"""Places that two fresh collections set aside."""
ROOM = 1 << 20
"""Bytes that must fit: a full disk is no fault of the folder."""
HEADER = struct.Struct("<i6QiI3QdQ")
"""Of a saved index, version 1 (hnswlib, saveIndex): [3] elements, [4] bytes of each at the lowest level."""
LINKS = struct.Struct("<I")
"""Before the links of each element at the levels above: how many bytes they are."""
SAMPLE = 8
"""Vectors read from either end of a collection."""
UNFILLED = "unfilled"
"""A file in a folder that began empty, until the record has given back what it lacks: a refill that was
interrupted is begun anew."""
CANARY = "ibid:canary"
"""Id of a vector written and deleted at each start; no document's (`<document>:<ordinal>`)."""
SCARCE = re.compile(r"disk is full|No space left|locked|readonly|Permission denied|Too many open files")
"""What the vendor says where the machine is at fault. Moving the folder would mend nothing."""


def open_folder(folder: Path, *, read_only: bool = False) -> tuple[Client, bool]:
    """The vendor's client on a folder that works, tidied; whether it began empty and was not filled since.
    `read_only`: nothing is tidied, and nothing written in trying it."""
    check_writable(folder)
    if not read_only and (done := tidy(folder)):
        sys.stderr.write(f"{done}\n")
    folder.mkdir(exist_ok=True)
    mark_unfilled(folder, read_only=read_only)
    for header in folder.glob("*/header.bin"):
        check_sizes(header)
    client = Client(partial(Engine, folder))
    for name in client.names():
        client.use(name, probe_reads if read_only else probe_writes)
    return client, (folder / UNFILLED).exists()


def mark_unfilled(folder: Path, *, read_only: bool) -> None:
    """Note that a folder begins empty. `ChromaFault` where it is only looked at."""
    database = folder / "chroma.sqlite3"
    if database.exists() and database.stat().st_size:
        return
    if read_only:
        raise ChromaFault(f"{database} is missing")
    (folder / UNFILLED).touch()


def check_writable(folder: Path) -> None:
    """A folder that can be written to. `OSError`; `ChromaFault` if something else has its place."""
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
    """Compare an index's files with its header: one that was cut still opens, and finds less."""
    content = header.read_bytes()
    if len(content) != HEADER.size or content[:4] != LINKS.pack(1):
        return  # not as we know it: to be tried, like all else
    fields = HEADER.unpack(content)
    data = header.with_name("data_level0.bin")
    if not data.exists() or data.stat().st_size < fields[3] * fields[4]:
        raise ChromaFault(f"{data} is cut")
    check_links(header.with_name("link_lists.bin"), fields[3])


def check_links(links: Path, elements: int) -> None:
    """Hold the links of the levels above against the number of elements. `ChromaFault`."""
    found, at = links.read_bytes() if links.exists() else b"", 0
    for _ in range(elements):
        if at + LINKS.size > len(found):
            raise ChromaFault(f"{links} is cut")
        at += LINKS.size + LINKS.unpack_from(found, at)[0]
    if at > len(found):
        raise ChromaFault(f"{links} is cut")


def probe_writes(store: VendorCollection) -> None:
    """Try what a collection is used for: damaged files are opened without a word, and fail, or end the
    process, when they are first read or written."""
    row = probe_reads(store)
    if row is not None:
        store.upsert(ids=[CANARY], embeddings=row, metadatas=[{"document": CANARY}])
        store.delete(ids=[CANARY])


def probe_reads(store: VendorCollection) -> Matrix | None:
    """Try to read it; a row of it, None: it has none."""
    count = store.count()
    if count == 0:
        return None
    store.get(limit=SAMPLE, offset=max(0, count - SAMPLE), include=["embeddings"])
    found = store.get(limit=SAMPLE, include=["embeddings"])
    row = np.asarray(found["embeddings"][:1], dtype=np.float32)
    store.query(query_embeddings=row, n_results=1, include=[])
    return row


def put_aside(folder: Path) -> None:
    """Move the folder out of the way, in place of one moved earlier. Nothing there is no error."""
    for older in folder.parent.glob(f"{folder.name}.broken-*"):
        shutil.rmtree(older, ignore_errors=True)
    if folder.exists():
        folder.rename(folder.with_name(f"{folder.name}.broken-{datetime.now(UTC):%Y%m%dT%H%M%S}"))


def tidy(folder: Path) -> str:
    """Give back what the vendor never does: files of dropped collections, and places of deleted vectors.

    The folder must be ours alone and not open. Where most places are of the dead it is removed whole:
    Postgres is the record, and what is missing is given back. Says so.
    """
    try:
        with closing(
            sqlite3.connect(f"{(folder / 'chroma.sqlite3').absolute().as_uri()}?mode=rw", uri=True)
        ) as db:
            segments = {row[0] for row in db.execute("SELECT id FROM segments")}
            live = db.execute("SELECT count(*) FROM embeddings").fetchone()[0]
    except sqlite3.Error:
        return ""  # none yet, or not as we know it: the vendor will say what is wrong
    sizes = list(folder.glob("*/length.bin"))
    drop([size.parent for size in sizes if size.parent.name not in segments])
    # Four bytes a place, of the living and the dead.
    dead = sum(size.stat().st_size for size in sizes if size.exists()) // 4 - live
    if dead <= live + SLOTS_SPARE or live > REMADE_MOST:
        return ""
    shutil.rmtree(folder)
    return f"the folder is made anew: {dead} places of the dead, {live} of the living"


def drop(folders: Sequence[Path]) -> None:
    """Remove folders, as far as it goes."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


THREADS = 4
NICE = 5
"""Below the service: writes must not take its core."""


def main() -> None:
    """Open the folder, answer calls, close it."""
    parent, (folder, *mode) = connected()
    os.nice(NICE)
    define_errors()
    client = opened(parent, Path(folder), mode)
    parent.serve(partial(answer, client), threads=THREADS)
    client.close()


def opened(parent: Parent, folder: Path, mode: Sequence[str] = ()) -> Client:
    """Open the folder and report READY; exit if it cannot be used."""
    try:
        if "aside" in mode:
            put_aside(folder)
        client, anew = open_folder(folder, read_only="read-only" in mode)
    except OSError as error:
        parent.refuse(str(error))
    except ChromaFault as error:
        if SCARCE.search(error.detail):
            parent.refuse(error.detail)
        end(BROKEN, error.detail)
    except BaseException as error:
        if type(error).__module__ == "pyo3_runtime":  # the vendor's panics are no `Exception`
            end(BROKEN, type(error).__name__)
        raise
    parent.ready({"anew": anew})
    return client


def answer(client: Client, call: Call) -> None:
    """Answer a call; see `chroma_client.perform`."""
    arguments, matrix = unpacked(call.payload, call.data)
    try:
        reply, found = perform(client, call.name, arguments["of"], arguments["with"], matrix)
    except ChromaFault as error:
        own = error.detail.startswith("InternalError")
        call.fail({"error": error.detail, "down": own})
        if own and not SCARCE.search(
            error.detail
        ):  # not the machine's fault: a new child looks at the folder
            end(INTERNAL, error.detail)
    else:
        shape, data = packed(found)
        call.reply({**reply, **shape}, data)


if __name__ == "__main__":
    main()
