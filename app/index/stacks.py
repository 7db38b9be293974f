"""The stacks: shelves in memory, the least recently used given up first, each loaded once however many ask.

A load belongs to the stacks and not to the request that began it: who leaves does not stop it, so a large
part is there for the next one. Sizes are bytes. Raises `RetrievalError`.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

import structlog

from app.domain.document import Part
from app.domain.errors import RetrievalError, Unavailable
from app.index.loader import Loader
from app.index.place import Listed, Matrix
from app.index.record import Record
from app.index.shelf import Shelf
from app.index.vectors import VectorIndex

EXACT_MOST = 50_000
"""Passages a part may have at least and still be searched exactly…"""
EXACT_BYTES = 160 << 20
"""…and more of them while their vectors take no more than this: 109,000 at 384 dimensions. The index took
twenty times as long there and found .98 of the truth (docs/decisions/0009)."""
MEMORY_BYTES = 1 << 30
LEAST_KEPT = 2
"""Shelves that stay however large: those of one query."""

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


def exact_most(dim: int) -> int:
    """Passages of `dim` dimensions that a part may have and still be searched exactly."""
    return max(EXACT_MOST, EXACT_BYTES // (4 * dim))


class Stacks:
    """Every shelf of this process."""

    def __init__(
        self,
        record: Record,
        vectors: VectorIndex,
        loader: Loader,
        *,
        memory_bytes: int = MEMORY_BYTES,
        exact_most: int = EXACT_MOST,
    ) -> None:
        self._record = record
        self._vectors = vectors
        self._loader = loader
        self._memory = memory_bytes
        self._exact_most = exact_most
        self._shelves: OrderedDict[Part, Shelf] = OrderedDict()
        self._sizes: dict[Part, int] = {}
        self._nbytes = 0
        self._loads: dict[Part, asyncio.Task[Shelf]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.gone: Callable[[Collection[str]], None] | None = None
        """Told of documents that a part has no more, whichever replica removed them."""

    @property
    def nbytes(self) -> int:
        """Memory of all shelves."""
        return self._nbytes

    @property
    def parts(self) -> list[Part]:
        """What is in memory, the least recently used first."""
        return list(self._shelves)

    async def at(self, part: Part, version: int) -> Shelf:
        """The part's shelf at `version`, or as it stood at some time after this call.

        Version 0 has never held anything: a session's name that somebody made up costs nothing.
        """
        if version == 0:
            self._told(self._shelves.get(part), {})
            self._give_up(part)
            return Shelf(part, 0, {})
        shelf = self._shelves.get(part)
        if shelf is None or shelf.version != version:
            shelf = await self._caught_up(part, version)
        if part in self._shelves:
            self._shelves.move_to_end(part)
        return shelf

    async def _caught_up(self, part: Part, version: int) -> Shelf:
        """A load under way may have begun before `version` was written; the one after it has not."""
        under_way = self._loads.get(part)
        if under_way is not None:
            shelf = await asyncio.shield(under_way)
            if shelf.version == version:
                return shelf
        return await asyncio.shield(self._loads.get(part) or self._load(part))

    def _load(self, part: Part) -> asyncio.Task[Shelf]:
        """Bring a shelf up to date."""
        task = self._kept(self._refreshed(part))
        self._loads[part] = task
        task.add_done_callback(lambda _: self._loads.pop(part))
        return task

    async def _refreshed(self, part: Part) -> Shelf:
        """The version first, the list after it: a change between the two is seen again, never missed."""
        version = (await self._record.versions([part]))[0]
        listed = await self._record.listed(part)
        exact = sum(document.chunks for document in listed.values()) <= self._exact_most
        shelf = self._shelves.get(part)
        self._told(shelf, listed)
        if shelf is None or shelf.exact != exact:
            shelf = Shelf(part, version, {}, (), exact)
        missing = shelf.missing(listed)
        loaded = await self._loader.load(part, missing, exact=exact)
        shelf = await asyncio.to_thread(shelf.followed, version, listed, loaded.blocks)
        self._keep(shelf)
        if loaded.lost:
            self._kept(self._mend(part, loaded.lost))
        if missing and not exact:
            self._kept(self._mend_large(part, missing))
        return shelf

    async def mended(self, part: Part, item: Listed) -> bool:
        """Give Chroma a document's vectors if it does not hold them whole; whether it had to be."""
        if await self._vectors.held(part, item.id) == item.chunks:
            return False
        await self._give_back(part, item.id, await self._loader.recorded(item))
        return True

    async def _give_back(self, part: Part, document_id: str, matrix: Matrix) -> None:
        """Write a document's vectors again. One removed meanwhile may be purged already: then they go too."""
        await self._vectors.put(part, document_id, matrix)
        if document_id not in await self._record.listed(part):
            await self._vectors.remove(part, document_id)

    async def _mend(self, part: Part, lost: Mapping[str, Matrix]) -> None:
        """Give Chroma back what it has lost, beside the searches."""
        for document_id, matrix in lost.items():
            try:
                await self._give_back(part, document_id, matrix)
            except (RetrievalError, Unavailable):
                log.warning("chroma not mended", document=document_id)
                return
        log.info("chroma mended", documents=len(lost))

    async def _mend_large(self, part: Part, documents: Sequence[Listed]) -> None:
        """The same for documents whose vectors no load reads: what Chroma lost, meaning does not find."""
        count = 0
        for item in documents:
            try:
                count += await self.mended(part, item)
            except (RetrievalError, Unavailable):
                log.warning("chroma not mended", document=item.id)
                return
        if count:
            log.warning("chroma had lost vectors of a large part; mended", documents=count)

    def _keep(self, shelf: Shelf) -> None:
        """The newest of its part, within the limit; an empty one is made again as quickly as it is found.

        Searches under way keep the shelves they hold.
        """
        self._give_up(shelf.part)
        if shelf.documents:
            self._shelves[shelf.part], self._sizes[shelf.part] = shelf, shelf.nbytes
            self._nbytes += shelf.nbytes
        while len(self._shelves) > LEAST_KEPT and self._nbytes > self._memory:
            self._give_up(next(iter(self._shelves)))

    def _told(self, shelf: Shelf | None, listed: Mapping[str, Listed]) -> None:
        """Tell what a newer list has no more."""
        gone = shelf.documents.keys() - listed.keys() if shelf else ()
        if gone and self.gone:
            self.gone(gone)

    def _give_up(self, part: Part) -> None:
        """Forget a shelf, if there is one."""
        self._shelves.pop(part, None)
        self._nbytes -= self._sizes.pop(part, 0)

    def _kept(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """A task that `aclose` ends; its error is told to those who wait for it, if any still do."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def aclose(self) -> None:
        """End what is under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
