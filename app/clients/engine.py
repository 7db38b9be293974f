"""Chroma's engine on a folder, asked as the vendor's own Python client asks it, without that client.

To import the client takes a second of a processor and 35 MB at every start, for a dozen calls that it hands
through. Keeps `collection.VendorClient`; everything blocks, and raises the vendor's errors. The engine's face
is the vendor's own affair, so its version is pinned and a test holds both clients against each other
(docs/decisions/0034-starts.md).
"""

import importlib
import importlib.util
import json
import resource
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.clients.collection import VendorCollection

VENDOR = "chromadb"
PLACE = ("default_tenant", "default_database")
"""Tenant and database of whoever names none."""
FILES = 5
"""Of an index that is open; the engine keeps as many open as the process may have files."""

Bindings: TypeAlias = Any
"""The vendor's; they come without types."""


class Engine:
    """An open folder."""

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
        tenant, name = PLACE
        self._bindings.get_tenant(tenant)
        self._bindings.get_database(name, tenant)

    def heartbeat(self) -> int:
        """Its clock, in nanoseconds."""
        return int(self._bindings.heartbeat())

    def get_or_create_collection(self, name: str, **arguments: object) -> VendorCollection:
        """A collection; `configuration` is heeded when it is made. None has an embedding function."""
        given: Mapping[str, Any] = arguments
        plan = {**given["configuration"], "spann": None, "embedding_function": {"type": "legacy"}}
        made = self._bindings.create_collection(name, json.dumps(plan), None, None, True, *PLACE)
        return Held(self._bindings, str(made.id))

    def list_collections(self, limit: int, offset: int) -> Sequence[Any]:
        """A page of them; each has a name."""
        return list(self._bindings.list_collections(limit, offset, *PLACE))

    def delete_collection(self, name: str) -> None:
        """Drop it with all that is in it."""
        self._bindings.delete_collection(name, *PLACE)

    def close(self) -> None:
        """Give the folder back."""
        self._bindings = SimpleNamespace()


class Held:
    """A collection of it. Keeps `collection.VendorCollection`."""

    def __init__(self, bindings: Bindings, key: str) -> None:
        self._bindings = bindings
        self._key = key

    def count(self) -> int:
        """Vectors in it."""
        return int(self._bindings.count(self._key, *PLACE))

    def get(self, **arguments: object) -> Mapping[str, Any]:
        """ids, where, limit, offset, include."""
        ask = arguments.get
        which = (ask("ids"), told(ask("where")), ask("limit"), ask("offset") or 0, None, ask("include"))
        found = self._bindings.get(self._key, *which, *PLACE)
        return {"ids": found.ids, "embeddings": found.embeddings, "metadatas": found.metadatas}

    def query(self, **arguments: object) -> Mapping[str, Any]:
        """query_embeddings, where, n_results, include."""
        ask = arguments.get
        near = (None, matrix(ask("query_embeddings")), ask("n_results"))
        which = (told(ask("where")), None, ask("include"))
        found = self._bindings.query(self._key, *near, *which, *PLACE)
        return {"ids": found.ids, "embeddings": found.embeddings, "metadatas": found.metadatas}

    def upsert(self, **arguments: object) -> None:
        """ids, embeddings, metadatas."""
        ask = arguments.get
        what = (ask("ids"), matrix(ask("embeddings")), ask("metadatas"), None, None)
        self._bindings.upsert(self._key, *what, *PLACE)

    def delete(self, **arguments: object) -> object:
        """ids or where."""
        ask = arguments.get
        return self._bindings.delete(self._key, ask("ids"), told(ask("where")), None, None, *PLACE)


def told(where: object) -> str | None:
    """A filter as the engine reads it."""
    return json.dumps(where) if where else None


def matrix(rows: object) -> NDArray[np.float32]:
    """Vectors as the engine takes them, one a row."""
    return np.asarray(rows, dtype=np.float32)


def alone() -> None:
    """In a process that never needs the vendor's client: put the errors alone where the engine looks for
    them. At its first fault it would import all of the client, or abort where no file is left to open."""
    found = importlib.util.find_spec(VENDOR)  # finds it, and runs nothing of it
    if VENDOR in sys.modules or found is None:
        return
    package = sys.modules[VENDOR] = ModuleType(VENDOR)
    package.__spec__, package.__path__ = found, list(found.submodule_search_locations or ())
    importlib.import_module(f"{VENDOR}.errors")
