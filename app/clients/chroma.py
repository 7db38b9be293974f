"""ChromaDB, embedded (`IBID_DATA_DIR/chroma`) or a server (`CHROMA_URL`): vectors in, nearest vectors out.

Vectors are rows of a float32 matrix of unit length; collections are cosine and made when first named. The
vendor's blocking calls (`collection.py`) run in our own daemon threads, each with a deadline. The embedded
one holds Python's lock for the whole of a call, so the event loop stands still meanwhile: writes are small,
one at a time, with a pause after each. Reads raise `RetrievalError` (unavailable, timeout, overloaded),
writes `Unavailable`; opening `StartError`.
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
"""Of one batch, and of the batches of others before it: each takes some hundredths of a second."""
BATCH = 32
"""Vectors a write, and how long the loop stands still: docs/decisions/0010 has the figures."""
DROPPED = 128
"""Vectors a delete: cheaper than writes."""
PAUSE_SECONDS = 0.01
"""After each write, for all that waited for the loop: resuming alone would give it a single turn."""

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

    def __init__(self, client: Client, threads: Threads, *, embedded: bool = False) -> None:
        self._client = client
        self._threads = threads
        self._writing = asyncio.Lock()
        self.embedded = embedded
        """Whether nobody else uses it."""

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
        """Drop what has this metadata; nothing there is no error. The vendor's own way is one long call."""
        found = await self._write(collection, lambda store: store.get(where=where, include=[]))
        await self.drop(collection, found["ids"])

    async def drop(self, collection: str, ids: Sequence[str]) -> None:
        """Drop by id; those that are not there are no error."""
        for at in range(0, len(ids), DROPPED):
            await self._write(collection, partial(erase, list(ids[at : at + DROPPED])))

    async def names(self) -> list[str]:
        """Every collection there is, others' too."""
        with reading():
            return await self._run(READ_SECONDS, self._client.names)

    async def forget(self, collection: str) -> None:
        """Drop a collection; none there is no error. One call however large: not while questions wait."""
        with writing():
            await self._run(WRITE_SECONDS, lambda: self._client.forget(collection))

    async def _read(self, collection: str, work: Callable[[VendorCollection], Result]) -> Result:
        """Ask a collection."""
        with reading():
            return await self._run(READ_SECONDS, lambda: self._client.use(collection, work))

    async def _write(self, collection: str, work: Callable[[VendorCollection], Result]) -> Result:
        """Change a collection, after all who came before."""
        with writing():
            async with asyncio.timeout(WRITE_SECONDS), self._writing:
                result = await self._run(WRITE_SECONDS, lambda: self._client.use(collection, work))
                await asyncio.sleep(PAUSE_SECONDS)
                return result

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


def erase(ids: list[str], store: VendorCollection) -> None:
    """One batch."""
    store.delete(ids=ids)


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
        yield Chroma(client, threads, embedded=not url)
    finally:
        await threads.aclose()
        client.close()


async def begin(threads: Threads, client: Client) -> None:
    """Open the embedded one now, so that a broken folder is told at the start."""
    try:
        await threads.run(partial(guarded, client.open))
    except Lost as error:
        raise StartError(f"Chroma's folder cannot be opened: {error}") from error
