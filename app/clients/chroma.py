"""ChromaDB, embedded (`IBID_DATA_DIR/chroma`) or a server (`CHROMA_URL`): vectors in, nearest vectors out.

Vectors are rows of a float32 matrix of unit length; collections are cosine and made when first named. The
embedded one holds Python's lock for the whole of a call, so it lives in a child process (`keeper.py`); a
server's client is the vendor's (`remote.py`). Their calls block and run in our own daemon threads, each with
a deadline, behind one breaker: what has failed several times in a row is not asked for some seconds. Reads
raise `RetrievalError` (unavailable, timeout, overloaded), writes `Unavailable`; opening `StartError`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from app.clients.collection import Client, Lost, Vendor, VendorCollection
from app.clients.keeper import Keeper
from app.clients.remote import remote
from app.clients.threads import Threads
from app.config import Settings
from app.domain.breaker import Breaker
from app.domain.errors import Overloaded, RetrievalError, StartError, Unavailable

READ_SECONDS = 4.0
"""Below the 6 s that all retrieval has, so that there is time left for Postgres to stand in."""
WRITE_SECONDS = 60.0
"""Of one batch, and of the batches of others before it: each takes some hundredths of a second."""
BATCH = 128
"""Vectors a write or a delete: a read waits for one of them, and larger ones are no faster."""

Matrix: TypeAlias = NDArray[np.float32]
Where: TypeAlias = Mapping[str, object]
Result = TypeVar("Result")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Vectors:
    """Ids and, row by row, their vectors."""

    ids: tuple[str, ...]
    matrix: Matrix
    metadata: tuple[Mapping[str, object], ...] = ()
    """Where it was asked for."""


class Chroma:
    """What the index asks of Chroma."""

    def __init__(
        self, vendor: Vendor, threads: Threads, *, embedded: bool = False, breaker: Breaker | None = None
    ) -> None:
        self._vendor = vendor
        self._threads = threads
        self._writing = asyncio.Lock()
        self._breaker = breaker or Breaker(time.monotonic)
        self._opening: asyncio.Task[None] | None = None
        self._renewals = vendor.renewals
        self.renewed: Callable[[], None] | None = None
        """Called when what had been written is found to be gone."""
        self.embedded = embedded
        """Whether nobody else uses it."""

    def begin(self) -> None:
        """Open it, beside whatever else is opened meanwhile."""
        self._opening = asyncio.create_task(self._open(), name="chroma")

    async def ready(self) -> None:
        """Until the embedded one is open, if it was begun; a server may start after us. `StartError`."""
        if self._opening and self.embedded:
            await asyncio.shield(self._opening)

    async def aclose(self) -> None:
        """Wait no longer for the opening."""
        if self._opening:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)

    async def _open(self) -> None:
        """So that a folder that cannot be used is told at the start, and the first question does not wait."""
        try:
            await self._threads.run(self._vendor.beat)
        except Lost as error:
            if self.embedded:
                raise StartError(f"Chroma's folder cannot be opened: {error}") from error
            log.warning("chroma's server does not answer yet", detail=str(error))

    async def beat(self) -> None:
        """Whether it answers."""
        with reading():
            await self._run(READ_SECONDS, self._vendor.beat)

    async def count(self, collection: str) -> int:
        """Vectors in a collection."""
        return await self._read(collection, lambda store: store.count())

    async def ids(self, collection: str, where: Where | None) -> list[str]:
        """Ids of what has this metadata, in no order."""
        found = await self._read(collection, lambda store: store.get(where=where, include=[]))
        return list(found["ids"])

    async def page(self, collection: str, start: int, limit: int) -> list[str]:
        """Ids from the `start`-th on, as long as nothing is written meanwhile."""
        found = await self._read(collection, lambda store: store.get(offset=start, limit=limit, include=[]))
        return list(found["ids"])

    async def payloads(self, collection: str, where: Where | None) -> list[Mapping[str, object]]:
        """All metadata of what has this metadata, in no order."""
        found = await self._read(collection, lambda store: store.get(where=where, include=["metadatas"]))
        return [each or {} for each in found["metadatas"]]

    async def nearest(
        self,
        collection: str,
        vector: Matrix,
        where: Where | None,
        limit: int,
        *,
        metadata: bool = False,
    ) -> Vectors:
        """About the `limit` nearest by cosine, near ones first: an approximate index under a filter."""
        include = ["embeddings", "metadatas"] if metadata else ["embeddings"]
        found = await self._read(
            collection,
            lambda store: store.query(
                query_embeddings=[vector], where=where, n_results=limit, include=include
            ),
        )
        payloads = found["metadatas"][0] if metadata else ()
        return vectors(found["ids"][0], found["embeddings"][0], payloads)

    async def upsert(
        self, collection: str, ids: Sequence[str], matrix: Matrix, metadata: Sequence[Mapping[str, object]]
    ) -> None:
        """Write vectors with their metadata; again replaces."""
        for at in range(0, len(ids), BATCH):
            batch = slice(at, at + BATCH)
            work = partial(write, list(ids[batch]), matrix[batch], metadata[batch])
            await self._write(collection, work)

    async def delete(self, collection: str, where: Where) -> None:
        """Drop what has this metadata; nothing there is no error. The vendor's own way is one long call."""
        found = await self._write(collection, lambda store: store.get(where=where, include=[]))
        await self.drop(collection, found["ids"])

    async def drop(self, collection: str, ids: Sequence[str]) -> None:
        """Drop by id; those that are not there are no error."""
        for at in range(0, len(ids), BATCH):
            await self._write(collection, partial(erase, list(ids[at : at + BATCH])))

    async def names(self) -> list[str]:
        """Every collection there is, others' too."""
        with reading():
            return await self._run(READ_SECONDS, self._vendor.names)

    async def forget(self, collection: str) -> None:
        """Drop a collection; none there is no error. One call however large: not while questions wait."""
        with writing():
            await self._run(WRITE_SECONDS, lambda: self._vendor.forget(collection))

    async def renew(self) -> None:
        """The embedded one's folder made anew, without what was deleted. A server's is its own affair."""
        if isinstance(self._vendor, Keeper):
            with writing():
                async with self._writing:
                    await self._run(WRITE_SECONDS, self._vendor.renew)

    async def filled(self) -> None:
        """The record has given back what the embedded one lacked; it may have been lost anew meanwhile."""
        if isinstance(self._vendor, Keeper) and self._renewals == self._vendor.renewals:
            await asyncio.to_thread(self._vendor.filled)

    async def _read(self, collection: str, work: Callable[[VendorCollection], Result]) -> Result:
        """Ask a collection."""
        with reading():
            return await self._run(READ_SECONDS, lambda: self._vendor.use(collection, work))

    async def _write(self, collection: str, work: Callable[[VendorCollection], Result]) -> Result:
        """Change a collection, after all who came before: one write at a time leaves room for reads."""
        with writing():
            async with asyncio.timeout(WRITE_SECONDS), self._writing:
                return await self._run(WRITE_SECONDS, lambda: self._vendor.use(collection, work))

    async def _run(self, seconds: float, work: Callable[[], Result]) -> Result:
        """Anything in a thread, with a deadline, unless it would be in vain."""
        if self._breaker.refuses:
            raise Lost("it has just failed several times in a row")
        with self._breaker.attempt(down):
            async with asyncio.timeout(seconds):
                result = await self._threads.run(work)
        self._notice()
        return result

    def _notice(self) -> None:
        """Tell whoever can give back what is gone."""
        if self._renewals != self._vendor.renewals and self.renewed:
            self._renewals = self._vendor.renewals
            self.renewed()


def down(error: Exception) -> bool | None:
    """What an error says of Chroma, as `Breaker` asks it. A full pool is our own."""
    return error.down if isinstance(error, Lost) else isinstance(error, TimeoutError) or None


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


def write(
    ids: list[str], rows: Matrix, metadata: Sequence[Mapping[str, object]], store: VendorCollection
) -> None:
    """One batch. The vendor takes no empty metadata."""
    store.upsert(ids=ids, embeddings=rows, metadatas=[dict(each) or None for each in metadata])


def erase(ids: list[str], store: VendorCollection) -> None:
    """One batch."""
    store.delete(ids=ids)


def vectors(
    ids: Sequence[str],
    rows: Sequence[Sequence[float]],
    metadata: Sequence[Mapping[str, object] | None] = (),
) -> Vectors:
    """The vendor's float64 rows, or none at all, as a float32 matrix."""
    matrix = np.asarray(rows, dtype=np.float32)
    shaped = matrix.reshape(len(ids), -1) if len(ids) else np.zeros((0, 0), np.float32)
    return Vectors(tuple(ids), shaped, tuple(each or {} for each in metadata))


@asynccontextmanager
async def open_chroma(
    settings: Settings, folder: Path | None = None, *, look: bool = False
) -> AsyncIterator[Chroma]:
    """Chroma as the settings say. The embedded one is on its way: `ready` tells when it is open. `folder`:
    another than theirs; `look`: nothing in it is moved or tidied."""
    url, folder = settings.chroma.url, folder or settings.ibid.data_dir / "chroma"
    vendor: Vendor = Client(partial(remote, url)) if url else Keeper(folder, look=look)
    threads = Threads("chroma")
    chroma = Chroma(vendor, threads, embedded=not url)
    try:
        chroma.begin()
        yield chroma
    finally:
        await threads.aclose()
        await chroma.aclose()
        await asyncio.to_thread(vendor.close)
