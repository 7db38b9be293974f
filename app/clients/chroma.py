"""ChromaDB, embedded (`IBID_DATA_DIR/chroma`) or a server (`CHROMA_URL`): vectors in, nearest vectors out.

Vectors are rows of a float32 matrix of unit length; collections are cosine and made when first named. The
embedded one lives in a child process (`chroma_process.py`); a server is asked by the vendor's client
(`chroma_client.py`), whose calls block and run in our own daemon threads. Each call has a deadline, behind
one breaker: what has failed several times in a row is not asked for some seconds. Reads raise
`RetrievalError` (unavailable, timeout, overloaded), writes `Unavailable`; opening `StartError`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import structlog

from app.breaker import Breaker
from app.clients.chroma_client import Answer, ChromaFault, Client, Matrix, Vendor, perform, remote
from app.clients.chroma_process import ChromaProcess
from app.clients.threads import Threads
from app.errors import Overloaded, RetrievalError, StartError, Unavailable
from app.settings import Settings

READ_SECONDS = 4.0
"""Below the 6 s that all retrieval has, so that there is time left for Postgres to stand in."""
START_SECONDS = 60.0
"""A service that starts waits so long for the embedded one, then goes on without it."""
WRITE_SECONDS = 60.0
"""Of one batch, and of the batches of others before it: each takes some hundredths of a second."""
BATCH = 128
"""Vectors a write or a delete: a read waits for one of them, and larger ones are no faster."""

Where: TypeAlias = Mapping[str, object]
Result = TypeVar("Result")
NONE: Matrix = np.zeros((0, 0), np.float32)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Vectors:
    """Ids and, row by row, their vectors."""

    ids: tuple[str, ...]
    matrix: Matrix


class InThreads:
    """The vendor's blocking client in threads. Implements `chroma_client.Vendor`."""

    def __init__(self, client: Client, threads: Threads) -> None:
        self.client = client
        self._threads = threads

    @property
    def renewals(self) -> int:
        return self.client.renewals

    async def ask(
        self, do: str, of: str = "", arguments: Mapping[str, Any] | None = None, matrix: Matrix | None = None
    ) -> Answer:
        return await self._threads.run(partial(perform, self.client, do, of, arguments, matrix))

    async def close(self) -> None:
        """Wait a while for calls in flight, then close the client."""
        await self._threads.aclose()
        await asyncio.to_thread(self.client.close)


class Chroma:
    """What the index asks of Chroma."""

    def __init__(self, vendor: Vendor, *, embedded: bool = False, breaker: Breaker | None = None) -> None:
        self._vendor = vendor
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

    async def ready(self, seconds: float = START_SECONDS) -> bool:
        """Wait until the embedded one is open, if it was begun; a server may start after us. False: it still
        opens, and answers when it has. Raises `StartError` where its folder cannot be used."""
        if self._opening and self.embedded:
            await asyncio.wait({self._opening}, timeout=seconds)
            if not self._opening.done():
                log.warning("chroma still opens its folder; the service starts without it", waited=seconds)
                return False
            self._opening.result()
        return True

    async def aclose(self) -> None:
        """Wait no longer for the opening."""
        if self._opening:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)

    async def _open(self) -> None:
        """So that a folder that cannot be used is told at the start, and the first question does not wait."""
        try:
            await self._vendor.ask("beat")
        except ChromaFault as error:
            if self.embedded:
                raise StartError(f"Chroma's folder cannot be opened: {error}") from error
            log.warning("chroma's server does not answer yet", detail=str(error))

    async def beat(self) -> None:
        await self._read("beat")

    async def count(self, collection: str) -> int:
        """Vectors in a collection."""
        found, _ = await self._read("count", collection)
        return int(found["count"])

    async def ids(self, collection: str, where: Where | None) -> list[str]:
        """Ids of what has this metadata, in no order."""
        found, _ = await self._read("get", collection, {"where": where, "include": []})
        return list(found["ids"])

    async def page(self, collection: str, start: int, limit: int) -> list[str]:
        """Ids from the `start`-th on, as long as nothing is written meanwhile."""
        arguments = {"offset": start, "limit": limit, "include": []}
        found, _ = await self._read("get", collection, arguments)
        return list(found["ids"])

    async def payloads(self, collection: str, where: Where | None) -> list[Mapping[str, object]]:
        """All metadata of what has this metadata, in no order."""
        found, _ = await self._read("get", collection, {"where": where, "include": ["metadatas"]})
        return [each or {} for each in found["metadatas"]]

    async def nearest(
        self,
        collection: str,
        vector: Matrix,
        where: Where | None,
        limit: int,
    ) -> Vectors:
        """About the `limit` nearest by cosine, near ones first: an approximate index under a filter."""
        arguments = {"where": where, "n_results": limit, "include": ["embeddings"]}
        return vectors(*await self._read("query", collection, arguments, vector[None]))

    async def upsert(
        self, collection: str, ids: Sequence[str], matrix: Matrix, metadata: Sequence[Mapping[str, object]]
    ) -> None:
        """Write vectors with their metadata; again replaces."""
        for at in range(0, len(ids), BATCH):
            some, rows = list(ids[at : at + BATCH]), matrix[at : at + BATCH]
            facts = [dict(each) or None for each in metadata[at : at + BATCH]]  # it takes no empty ones
            await self._write("upsert", collection, {"ids": some, "metadatas": facts}, rows)

    async def delete(self, collection: str, where: Where) -> None:
        """Drop what has this metadata; nothing there is no error. The vendor's own way is one long call."""
        found, _ = await self._write("get", collection, {"where": where, "include": []})
        await self.drop(collection, found["ids"])

    async def drop(self, collection: str, ids: Sequence[str]) -> None:
        """Drop by id; those that are not there are no error."""
        for at in range(0, len(ids), BATCH):
            await self._write("delete", collection, {"ids": list(ids[at : at + BATCH])})

    async def names(self) -> list[str]:
        """Every collection there is, others' too."""
        found, _ = await self._read("names")
        return list(found["names"])

    async def forget(self, collection: str) -> None:
        """Drop a collection; none there is no error. One call however large: not while questions wait."""
        with writing():
            await self._guarded(WRITE_SECONDS, lambda: self._vendor.ask("forget", collection))

    async def renew(self) -> None:
        """The embedded one's folder made anew, without what was deleted. A server's is its own affair."""
        if isinstance(self._vendor, ChromaProcess):
            with writing():
                async with self._writing:
                    await self._guarded(WRITE_SECONDS, self._vendor.renew)

    async def filled(self) -> None:
        """The record has given back what the embedded one lacked; it may have been lost anew meanwhile."""
        if isinstance(self._vendor, ChromaProcess) and self._renewals == self._vendor.renewals:
            await asyncio.to_thread(self._vendor.filled)

    async def _read(
        self,
        do: str,
        of: str = "",
        arguments: Mapping[str, Any] | None = None,
        matrix: Matrix | None = None,
    ) -> Answer:
        with reading():
            return await self._guarded(READ_SECONDS, lambda: self._vendor.ask(do, of, arguments, matrix))

    async def _write(
        self, do: str, of: str, arguments: Mapping[str, Any], matrix: Matrix | None = None
    ) -> Answer:
        """Change a collection, after all who came before: one write at a time leaves room for reads."""
        with writing():
            async with asyncio.timeout(WRITE_SECONDS), self._writing:
                return await self._guarded(WRITE_SECONDS, lambda: self._vendor.ask(do, of, arguments, matrix))

    async def _guarded(self, seconds: float, call: Callable[[], Awaitable[Result]]) -> Result:
        """A call with a deadline, unless it would be in vain."""
        if self._breaker.refuses:
            raise ChromaFault("it has just failed several times in a row")
        with self._breaker.attempt(is_down):
            async with asyncio.timeout(seconds):
                result = await call()
        self._notice()
        return result

    def _notice(self) -> None:
        """Tell whoever can give back what is gone."""
        if self._renewals != self._vendor.renewals and self.renewed:
            self._renewals = self._vendor.renewals
            self.renewed()


def is_down(error: Exception) -> bool | None:
    """What an error says of Chroma, as `Breaker` asks it. A full pool is our own."""
    return error.down if isinstance(error, ChromaFault) else isinstance(error, TimeoutError) or None


@contextmanager
def reading() -> Iterator[None]:
    """Faults of a read: an answer can do without it."""
    try:
        yield
    except TimeoutError as error:
        raise RetrievalError("timeout") from error
    except Overloaded as error:
        raise RetrievalError("overloaded") from error
    except ChromaFault as error:
        raise RetrievalError("unavailable") from error


@contextmanager
def writing() -> Iterator[None]:
    """Faults of a write: whoever wrote must know."""
    try:
        yield
    except (TimeoutError, Overloaded, ChromaFault) as error:
        raise Unavailable("Chroma does not answer", retry_after=5) from error


def vectors(found: Mapping[str, Any], rows: Matrix | None) -> Vectors:
    """An answer's; of none, a matrix without rows."""
    return Vectors(tuple(found["ids"]), rows if found["ids"] and rows is not None else NONE)


@asynccontextmanager
async def open_chroma(
    settings: Settings, folder: Path | None = None, *, read_only: bool = False
) -> AsyncIterator[Chroma]:
    """Chroma as the settings say. The embedded one is on its way: `ready` tells when it is open. `folder`:
    another than theirs; `read_only`: nothing in it is moved or tidied."""
    url, folder = settings.chroma.url, folder or settings.ibid.data_dir / "chroma"
    vendor: Vendor = (
        InThreads(Client(partial(remote, url)), Threads("chroma"))
        if url
        else ChromaProcess(folder, read_only=read_only)
    )
    chroma = Chroma(vendor, embedded=not url)
    try:
        chroma.begin()
        yield chroma
    finally:
        await chroma.aclose()
        await vendor.close()
