"""The vendor's side of Chroma: its synchronous clients, opened when first used; everything here blocks.

For an embedded folder and for a server alike: the vendor's async client does not verify TLS certificates
unless told to. No embedding function, no telemetry, nothing downloaded. Raises `Lost`, whatever the vendor
raised; `clients/chroma.py` turns that into errors others know.
"""

import shutil
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import httpx
import structlog

from app.domain.errors import IbidError

ANSWER_SECONDS = 60.0
"""What a server may take; a thread that waits longer would be lost."""
HNSW = {"space": "cosine", "batch_size": 100, "sync_threshold": 100}
"""Changes that wait to be written to the index's files: the first delete costs the square of their number,
1.8 s of 700 under the vendor's usual 1,000, and 0.1 s of these. As a collection was made, so it stays."""
PAGE = 500
"""Collections a list: a server of others' may hold many."""
REMADE_MOST = 50_000
"""Live vectors up to which a folder is made anew: no part is then too large to be searched exactly without
Chroma, so the answers are the same while it fills again."""
SLOTS_SPARE = 200
"""Places that two fresh collections set aside."""

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


class Lost(IbidError):
    """The vendor failed, whatever it raised. Never leaves `app/clients`."""


def guarded(work: Callable[[], Result]) -> Result:
    """In the thread: one kind of error for all of the vendor's. A missing server is a `ValueError` of its
    client, one that is not Chroma answers with what ends in a `KeyError` or `TypeError`."""
    from chromadb.errors import ChromaError  # noqa: PLC0415 - heavy vendor, opened late

    try:
        return work()
    except (ChromaError, httpx.HTTPError, OSError, ValueError, RuntimeError, LookupError, TypeError) as error:
        raise Lost(f"{type(error).__name__}: {error}") from error


class VendorCollection(Protocol):
    """What we call of the vendor's collection; every method blocks."""

    def count(self) -> int:
        """Vectors in it."""

    def get(self, **arguments: object) -> Mapping[str, Any]:
        """ids, where, include."""

    def query(self, **arguments: object) -> Mapping[str, Any]:
        """query_embeddings, where, n_results, include."""

    def upsert(self, **arguments: object) -> None:
        """ids, embeddings, metadatas."""

    def delete(self, **arguments: object) -> object:
        """ids or where."""


class VendorClient(Protocol):
    """What we call of the vendor's client."""

    def heartbeat(self) -> int:
        """Its clock, if it answers."""

    def get_or_create_collection(self, name: str, **arguments: object) -> VendorCollection:
        """A collection."""

    def list_collections(self, limit: int, offset: int) -> Sequence[Any]:
        """A page of them; each has a name."""

    def delete_collection(self, name: str) -> None:
        """Drop it with all that is in it."""

    def close(self) -> None:
        """Give back what it holds."""


class Client:
    """The vendor's client, opened when first used; every method blocks. Safe in several threads."""

    def __init__(self, connect: Callable[[], VendorClient]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._client: VendorClient | None = None
        self._collections: dict[str, VendorCollection] = {}

    def open(self) -> VendorClient:
        """The vendor's object."""
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def collection(self, name: str) -> VendorCollection:
        """A collection, made if it is missing."""
        if name not in self._collections:
            self._collections[name] = self.open().get_or_create_collection(
                name, embedding_function=None, configuration={"hnsw": HNSW}
            )
        return self._collections[name]

    def use(self, name: str, work: Callable[[VendorCollection], Result]) -> Result:
        """Work on a collection. One that was dropped behind our back is made anew, once."""
        from chromadb.errors import NotFoundError  # noqa: PLC0415 - heavy vendor, opened late

        try:
            return work(self.collection(name))
        except NotFoundError:
            self._collections.pop(name, None)
            return work(self.collection(name))

    def names(self) -> list[str]:
        """All collections, others' too."""
        names: list[str] = []
        while page := self.open().list_collections(PAGE, len(names)):
            names += [each.name for each in page]
        return names

    def forget(self, name: str) -> None:
        """Drop a collection; none there is no error."""
        from chromadb.errors import NotFoundError  # noqa: PLC0415 - heavy vendor, opened late

        self._collections.pop(name, None)
        with suppress(NotFoundError):
            self.open().delete_collection(name)

    def close(self) -> None:
        """Give back what the client holds."""
        if self._client is not None:
            self._client.close()


class Remote:
    """A server's client that gives its connections back; the vendor's own forgets to."""

    def __init__(self, client: VendorClient, sessions: Sequence[httpx.Client]) -> None:
        self._client = client
        self._sessions = sessions
        self.heartbeat = client.heartbeat
        self.get_or_create_collection = client.get_or_create_collection
        self.list_collections = client.list_collections
        self.delete_collection = client.delete_collection
        for session in sessions:
            # The vendor waits for ever; without a deadline a dead server would keep every thread.
            session.timeout = httpx.Timeout(ANSWER_SECONDS)

    def close(self) -> None:
        """The client and its connections."""
        self._client.close()
        for session in self._sessions:
            session.close()


def embedded(folder: Path) -> VendorClient:
    """The vendor's client on a folder of ours, tidied first. Blocks; about a second with its import."""
    import chromadb  # noqa: PLC0415 - heavy vendor, opened late

    tidy(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # Without _env_file=None the vendor would take settings of its own from our .env.
    settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
    client: VendorClient = chromadb.PersistentClient(folder, settings)
    return client


def tidy(folder: Path) -> None:
    """Give back what the vendor never does: files of dropped collections, and places of deleted vectors.

    The folder must be ours alone and not open. Where most places are of the dead it is removed whole:
    Postgres is the record, and what is missing is given back when it is next used.
    """
    try:
        with closing(
            sqlite3.connect(f"{(folder / 'chroma.sqlite3').absolute().as_uri()}?mode=rw", uri=True)
        ) as db:
            segments = {row[0] for row in db.execute("SELECT id FROM segments")}
            live = db.execute("SELECT count(*) FROM embeddings").fetchone()[0]
    except sqlite3.Error:
        return  # none yet, or not as we know it: the vendor will say what is wrong
    sizes = list(folder.glob("*/length.bin"))
    for left in [size.parent for size in sizes if size.parent.name not in segments]:
        shutil.rmtree(left, ignore_errors=True)
    # Four bytes a place, of the living and the dead.
    dead = sum(size.stat().st_size for size in sizes if size.exists()) // 4 - live
    if dead > live + SLOTS_SPARE and live <= REMADE_MOST:
        log.info("chroma's folder is made anew", dead=dead, live=live)
        shutil.rmtree(folder)


def remote(url: str) -> VendorClient:
    """The vendor's client of a server. Blocks; raises if the server does not answer."""
    import chromadb  # noqa: PLC0415 - heavy vendor, opened late

    parts = urlsplit(url)
    secure = parts.scheme == "https"
    settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
    port = parts.port or (443 if secure else 8000)
    client = chromadb.HttpClient(parts.hostname or "", port, ssl=secure, settings=settings)
    both = (client, client._admin_client)  # noqa: SLF001 - there is no public way
    return Remote(client, [each._server._session for each in both])  # noqa: SLF001 - nor to these
