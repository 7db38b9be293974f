"""ChromaDB, embedded (`IBID_DATA_DIR/chroma`) or a server (`CHROMA_URL`): vectors in, nearest vectors out.

Vectors are rows of a float32 matrix of unit length; collections are cosine and made when first named. The
vendor's blocking calls (`collection.py`) run in our own daemon threads, each with a deadline. Reads raise
`RetrievalError` (unavailable, timeout, overloaded), writes `Unavailable`; opening `StartError`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.clients.collection import Client, Lost, VendorCollection, embedded, guarded, remote
from app.clients.threads import Threads
from app.config import Settings
from app.domain.errors import Overloaded, RetrievalError, StartError, Unavailable

READ_SECONDS = 4.0
"""Below the 6 s that all retrieval has, so that there is time left for Postgres to stand in."""
WRITE_SECONDS = 60.0
"""Of one batch: a thousand vectors take about a second and a half."""
BATCH = 1000
"""Vectors a write: far below the vendor's own limit of 5,461, and a pause for readers between."""

Matrix: TypeAlias = NDArray[np.float32]
Where: TypeAlias = Mapping[str, object]
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Vectors:
    """Ids and, row by row, their vectors."""

    ids: tuple[str, ...]
    matrix: Matrix


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
