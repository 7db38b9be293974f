"""Qdrant's own engine in this process (`qdrant_edge`), a shard a collection under `IBID_DATA_DIR/qdrant`.

Keeps `points.Points`. Its calls block and let go of Python's lock, so they run in daemon threads, reads in
turn: a hung one keeps its thread, a full pool is `RetrievalError("overloaded")`, closing waits some seconds
at most. A search is exact. A collection whose files cannot be read is put aside and told by `renewed`; it is
then missing, and whoever keeps the record writes it anew. A collection that is not there is
`RetrievalError("unavailable", rejected=True)`: nothing is down, and to remove from it is no error. A
write that the disk might not hold is `NoRoom` (`app/disk.py`): nothing of it was written, searches go on.
"""

import asyncio
import errno
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import structlog

from app.clients import drawer
from app.clients.broken import Broken
from app.clients.points import DENSE, Collection, Point, Where
from app.clients.shard import Shard
from app.clients.threads import CLOSE_SECONDS, Threads
from app.domain.errors import NoRoom, Overloaded, RetrievalError
from app.domain.passage import Embedding

READS = 8
"""In the pool at once, as many as it has threads; those whose askers gave up while they hung beside."""

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


class Edge:
    """See the module. For one event loop; a second process is kept out by the data folder's lock."""

    def __init__(self, root: Path, threads: Threads, *, look: bool = False) -> None:
        self._root = root
        self._look = look  # nothing is moved: what is damaged is only told
        self._threads = threads
        self._reading = asyncio.Semaphore(READS)
        self._shards: dict[str, Shard] = {}
        self._opening = threading.Lock()
        self._closed = False
        self._lost: deque[str] = deque()  # collections put aside that nobody was told of yet
        self.renewed: Callable[[str], None] | None = None
        """Called with the name of a collection that was put aside, on the loop."""

    async def collections(self) -> list[Collection]:
        """All, by name."""
        with reading():
            return await self._run(self._collections)

    async def create(
        self,
        name: str,
        dim: int,
        *,
        keys: Sequence[str] = (),
        tenants: Sequence[str] = (),
        times: Sequence[str] = (),
    ) -> None:
        """One more; there already: fields that are not indexed yet are."""
        await self._run(lambda: self._create(drawer.Shape(name, dim).also(keys, tenants, times)))

    async def drop(self, name: str) -> None:
        """Gone with its files."""
        await self._run(lambda: self._drop(name))

    async def put(self, name: str, points: Sequence[Point]) -> None:
        """On disk and searchable when it returns."""
        await self._use(name, lambda shard: shard.put(points))

    async def remove(self, name: str, where: Where) -> None:
        """Gone from the next search on."""
        try:
            await self._use(name, lambda shard: shard.remove(where))
        except RetrievalError as error:
            if not error.rejected:
                raise

    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        """The nearest; every point that the filter leaves is compared."""
        return await self._read(name, lambda shard: shard.search(where, dense, limit, payload=payload))

    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        """A page."""
        return await self._read(name, lambda shard: shard.scroll(where, limit, after, vectors=vectors))

    async def count(self, name: str, where: Where) -> int:
        """Exactly."""
        return await self._read(name, lambda shard: shard.count(where))

    async def compact(self, name: str) -> None:
        """Built anew, so that nothing removed is in any file; searches and writes go on."""
        await self._use(name, lambda shard: shard.compact())

    async def check(self) -> Mapping[str, str | int | float]:
        """The engine and its version."""
        folders = await self._run(lambda: sum(1 for _ in drawer.shapes(self._root)))
        return {"server": "embedded", "version": version("qdrant-edge-py"), "collections": folders}

    async def _read(self, name: str, work: Callable[[Shard], Result]) -> Result:
        """As `_use`, in turn: many at once wait, each as long as its asker does."""
        async with self._reading:
            with reading():
                return await self._use(name, work)

    async def _use(self, name: str, work: Callable[[Shard], Result]) -> Result:
        """Something with a collection, in a thread."""
        return await self._run(lambda: self._tried(name, work))

    async def _run(self, work: Callable[[], Result]) -> Result:
        """Anything in a thread; what was lost on the way is told."""
        try:
            return await self._threads.run(work)
        except Overloaded as error:
            raise RetrievalError("overloaded") from error
        except (Broken, OSError) as error:
            log.warning("qdrant's engine failed", fault=type(error).__name__)
            if full(error):
                raise NoRoom("The disk of the memories' index is full") from error
            raise RetrievalError("unavailable") from error
        finally:
            while self.renewed and self._lost:
                self.renewed(self._lost.popleft())

    def _tried(self, name: str, work: Callable[[Shard], Result]) -> Result:
        """In a thread. What fails is tried once more on files read anew, and then they are put aside."""
        shard = self._at(name)
        try:
            return work(shard)
        except Broken as error:
            if not error.files:
                raise
        shard = self._anew(shard)
        try:
            return work(shard)
        except Broken as error:
            if error.files:
                self._put_aside(shard)
            raise

    def _at(self, name: str) -> Shard:
        """The collection, opened at its first use."""
        if found := self._shards.get(name):
            return found
        with self._opening:
            shard = self._shards.get(name) or self._load(drawer.drawer(self._root, name))
        if shard is None:
            raise RetrievalError("unavailable", rejected=True)
        return shard

    def _load(self, place: Path) -> Shard | None:
        """From its folder; None: there is none, or it had to be put aside."""
        shape = drawer.read(place)
        if shape is None or self._closed:
            return None
        try:
            shard = Shard.load(place, shape)
        except Broken as error:
            if not error.files:
                raise
            self._lose(place, shape.name)
            return None
        self._shards[shape.name] = shard
        return shard

    def _anew(self, shard: Shard) -> Shard:
        """The collection's files read again, unless another call has done so."""
        with self._opening:
            if self._shards.get(shard.shape.name) is shard:
                self._let_go(shard)
        return self._at(shard.shape.name)

    def _put_aside(self, shard: Shard) -> None:
        """Out of the way, unless another call has done so."""
        with self._opening:
            if self._shards.get(shard.shape.name) is shard:
                self._let_go(shard)
                self._lose(shard.place, shard.shape.name)

    def _let_go(self, shard: Shard) -> None:
        """Closed, however broken it is."""
        del self._shards[shard.shape.name]
        try:
            shard.close()
        except Broken as error:
            log.warning("a collection could not be closed", fault=str(error)[:80])

    def _lose(self, place: Path, name: str) -> None:
        """Put a folder aside, and remember to tell."""
        log.error("a collection of qdrant cannot be read; it is put aside", folder=place.name)
        if not self._look:
            drawer.put_aside(place)
        self._lost.append(name)

    def _create(self, wanted: drawer.Shape) -> None:
        """In a thread."""
        place = drawer.drawer(self._root, wanted.name)
        with self._opening:
            shard = self._shards.get(wanted.name) or self._load(place)
            if shard is None:
                if place.exists():
                    drawer.put_aside(place)
                self._shards[wanted.name] = Shard.make(place, wanted)
            elif (also := shard.shape.also(wanted.keys, wanted.tenants, wanted.times)) != shard.shape:
                shard.index(also)

    def _drop(self, name: str) -> None:
        """In a thread."""
        with self._opening:
            if name in self._shards:
                self._let_go(self._shards[name])
            drawer.delete(drawer.drawer(self._root, name))

    def _collections(self) -> list[Collection]:
        """In a thread; each is opened."""
        found = []
        for place, shape in list(drawer.shapes(self._root)):
            with self._opening:
                shard = self._shards.get(shape.name) or self._load(place)
            if shard:
                found.append(Collection(shape.name, shape.dim, DENSE, shard.count(Where())))
        return sorted(found, key=lambda item: item.name)

    def close(self) -> None:
        """In a thread: everything on disk and let go of."""
        with self._opening:
            self._closed = True
            for shard in list(self._shards.values()):
                self._let_go(shard)


@contextmanager
def reading() -> Iterator[None]:
    """A collection that could not be opened on a full disk is one that does not answer."""
    try:
        yield
    except NoRoom as error:
        log.warning("no room to open a collection of qdrant", detail=error.detail)
        raise RetrievalError("unavailable") from error


def full(error: Broken | OSError) -> bool:
    """Whether there was no room."""
    return error.full if isinstance(error, Broken) else error.errno in {errno.ENOSPC, errno.EDQUOT}


@asynccontextmanager
async def open_edge(root: Path, *, look: bool = False) -> AsyncIterator[Edge]:
    """The engine on a folder, made if missing. Collections are opened when first used. `look`: as it is."""
    threads, last = Threads("qdrant"), Threads("qdrant-close", threads=1)
    edge = Edge(root, threads, look=look)
    try:
        if not look:
            await threads.run(lambda: drawer.sweep(root))
        yield edge
    finally:
        await threads.aclose()
        await asyncio.wait({asyncio.ensure_future(last.run(edge.close))}, timeout=CLOSE_SECONDS)
        await last.aclose()
