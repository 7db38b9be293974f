"""ChromaDB, embedded (`IBID_DATA_DIR/chroma`) or a server (`CHROMA_URL`): vectors in, nearest vectors out.

Vectors are rows of a float32 matrix of unit length; collections are cosine and made when first named.
Both clients are the vendor's synchronous ones in our own threads: its async client does not verify TLS
certificates unless told to. No embedding function, no telemetry, nothing downloaded. Reads raise
`RetrievalError` (unavailable, timeout, overloaded), writes `Unavailable`; opening `StartError`.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar
from urllib.parse import urlsplit

import httpx
import numpy as np
from numpy.typing import NDArray

from app.clients.threads import Threads
from app.config import Settings
from app.domain.errors import IbidError, Overloaded, RetrievalError, StartError, Unavailable

READ_SECONDS = 10.0
WRITE_SECONDS = 60.0
"""Of one batch: a thousand vectors take about a second and a half."""
BATCH = 1000
"""Vectors a write: far below the vendor's own limit of 5,461, and a pause for readers between."""

Matrix: TypeAlias = NDArray[np.float32]
Where: TypeAlias = Mapping[str, object]
Result = TypeVar("Result")


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

    def close(self) -> None:
        """Give back what it holds."""


class Remote:
    """A server's client that gives its connections back; the vendor's own forgets to."""

    def __init__(self, client: VendorClient, session: httpx.Client) -> None:
        self._client = client
        self._session = session
        self.heartbeat = client.heartbeat
        self.get_or_create_collection = client.get_or_create_collection

    def close(self) -> None:
        """Both ends of it."""
        self._client.close()
        self._session.close()


@dataclass(frozen=True, slots=True)
class Vectors:
    """Ids and, row by row, their vectors."""

    ids: tuple[str, ...]
    matrix: Matrix


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
                name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
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

    def close(self) -> None:
        """Give back what the client holds."""
        if self._client is not None:
            self._client.close()


class Chroma:
    """What the index asks of Chroma."""

    def __init__(self, client: Client, threads: Threads) -> None:
        self._client = client
        self._threads = threads

    async def beat(self) -> None:
        """Whether it answers."""
        with reading():
            await self._run(READ_SECONDS, lambda: self._client.open().heartbeat())

    async def count(self, collection: str) -> int:
        """Vectors in a collection."""
        return await self._read(collection, lambda store: store.count())

    async def ids(self, collection: str, where: Where) -> list[str]:
        """Ids of what has this metadata, in no order."""
        found = await self._read(collection, lambda store: store.get(where=where, include=[]))
        return list(found["ids"])

    async def get(self, collection: str, ids: Sequence[str]) -> Vectors:
        """Those of the ids that are there, in no order."""
        found = await self._read(collection, lambda store: store.get(ids=list(ids), include=["embeddings"]))
        return vectors(found["ids"], found["embeddings"])

    async def nearest(self, collection: str, vector: Matrix, where: Where, limit: int) -> Vectors:
        """About the `limit` nearest by cosine, near ones first: an approximate index under a filter."""
        found = await self._read(
            collection,
            lambda store: store.query(
                query_embeddings=[vector], where=where, n_results=limit, include=["embeddings"]
            ),
        )
        return vectors(found["ids"][0], found["embeddings"][0])

    async def upsert(
        self, collection: str, ids: Sequence[str], matrix: Matrix, metadata: Mapping[str, str]
    ) -> None:
        """Write vectors that share their metadata; again replaces."""
        for at in range(0, len(ids), BATCH):
            some, rows = list(ids[at : at + BATCH]), matrix[at : at + BATCH]
            await self._write(collection, partial(write, some, rows, metadata))

    async def delete(self, collection: str, where: Where) -> None:
        """Drop what has this metadata; nothing there is no error."""
        await self._write(collection, lambda store: store.delete(where=where))

    async def drop(self, collection: str, ids: Sequence[str]) -> None:
        """Drop by id; those that are not there are no error."""
        await self._write(collection, lambda store: store.delete(ids=list(ids)))

    async def _read(self, collection: str, work: Callable[[VendorCollection], Result]) -> Result:
        """Ask a collection."""
        with reading():
            return await self._run(READ_SECONDS, lambda: self._client.use(collection, work))

    async def _write(self, collection: str, work: Callable[[VendorCollection], object]) -> None:
        """Change a collection."""
        with writing():
            await self._run(WRITE_SECONDS, lambda: self._client.use(collection, work))

    async def _run(self, seconds: float, work: Callable[[], Result]) -> Result:
        """Anything in a thread, with a deadline and the vendor's errors turned into `Lost`."""
        async with asyncio.timeout(seconds):
            return await self._threads.run(lambda: guarded(work))


class Lost(IbidError):
    """The vendor failed, whatever it raised. Never leaves this module."""


def guarded(work: Callable[[], Result]) -> Result:
    """In the thread: one kind of error for all of the vendor's. A missing server is a `ValueError` of its
    client, one that is not Chroma answers with what ends in a `KeyError` or `TypeError`."""
    from chromadb.errors import ChromaError  # noqa: PLC0415 - heavy vendor, opened late

    try:
        return work()
    except (ChromaError, httpx.HTTPError, OSError, ValueError, RuntimeError, LookupError, TypeError) as error:
        raise Lost(f"{type(error).__name__}: {error}") from error


@contextmanager
def reading() -> Iterator[None]:
    """Faults of a read: an answer can do without it."""
    try:
        yield
    except TimeoutError as error:
        raise RetrievalError("timeout") from error
    except Overloaded as error:
        raise RetrievalError("overloaded") from error
    except Lost as error:
        raise RetrievalError("unavailable") from error


@contextmanager
def writing() -> Iterator[None]:
    """Faults of a write: whoever wrote must know."""
    try:
        yield
    except (TimeoutError, Overloaded, Lost) as error:
        raise Unavailable("Chroma does not answer", retry_after=5) from error


def write(ids: list[str], rows: Matrix, metadata: Mapping[str, str], store: VendorCollection) -> None:
    """One batch."""
    store.upsert(ids=ids, embeddings=rows, metadatas=[dict(metadata)] * len(ids))


def vectors(ids: Sequence[str], rows: Sequence[Sequence[float]]) -> Vectors:
    """The vendor's float64 rows, or none at all, as a float32 matrix."""
    matrix = np.asarray(rows, dtype=np.float32)
    return Vectors(tuple(ids), matrix.reshape(len(ids), -1) if len(ids) else np.zeros((0, 0), np.float32))


def embedded(folder: Path) -> VendorClient:
    """The vendor's client on a folder of ours. Blocks; about a second with its import."""
    import chromadb  # noqa: PLC0415 - heavy vendor, opened late

    folder.mkdir(parents=True, exist_ok=True)
    # Without _env_file=None the vendor would take settings of its own from our .env.
    settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
    client: VendorClient = chromadb.PersistentClient(folder, settings)
    return client


def remote(url: str) -> VendorClient:
    """The vendor's client of a server. Blocks; raises if the server does not answer."""
    import chromadb  # noqa: PLC0415 - heavy vendor, opened late

    parts = urlsplit(url)
    secure = parts.scheme == "https"
    settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
    port = parts.port or (443 if secure else 8000)
    client = chromadb.HttpClient(parts.hostname or "", port, ssl=secure, settings=settings)
    session: httpx.Client = client._server._session  # noqa: SLF001 - there is no public way
    # The vendor waits for ever; without a deadline of its own a dead server would keep every thread.
    session.timeout = httpx.Timeout(WRITE_SECONDS)
    return Remote(client, session)


@asynccontextmanager
async def open_chroma(settings: Settings) -> AsyncIterator[Chroma]:
    """Chroma as the settings say. A server is reached when first used: it may start after us."""
    url = settings.chroma.url
    client = Client(partial(remote, url) if url else partial(embedded, settings.ibid.data_dir / "chroma"))
    threads = Threads("chroma")
    try:
        if not url:
            await begin(threads, client)
        yield Chroma(client, threads)
    finally:
        await threads.aclose()
        client.close()


async def begin(threads: Threads, client: Client) -> None:
    """Open the embedded one now, so that a broken folder is told at the start."""
    try:
        await threads.run(partial(guarded, client.open))
    except Lost as error:
        raise StartError(f"Chroma's folder cannot be opened: {error}") from error
