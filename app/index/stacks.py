"""The stacks: shelves in memory, the least recently used given up first, each loaded once however many ask.

A load belongs to the stacks and not to the request that began it: who leaves does not stop it, so a large
part is there for the next one. Sizes are bytes. Raises `RetrievalError`.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

import structlog

from app.domain.document import Part
from app.domain.errors import Unavailable
from app.index.loader import Loader
from app.index.place import Matrix
from app.index.record import Record
from app.index.shelf import Shelf
from app.index.vectors import VectorIndex

EXACT_MOST = 50_000
"""Passages a part may have and still be searched exactly."""
MEMORY_BYTES = 1 << 30
LEAST_KEPT = 2
"""Shelves that stay however large: those of one query."""

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


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
        self._loads: dict[Part, asyncio.Task[Shelf]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def nbytes(self) -> int:
        """Memory of all shelves."""
        return sum(shelf.nbytes for shelf in self._shelves.values())

    @property
    def parts(self) -> list[Part]:
        """What is in memory, the least recently used first."""
        return list(self._shelves)

    async def at(self, part: Part, version: int) -> Shelf:
        """The part's shelf at `version`, or as it stood at some time after this call."""
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
        if shelf is None or shelf.exact != exact:
            shelf = Shelf(part, version, {}, (), exact)
        loaded = await self._loader.load(part, shelf.missing(listed), exact=exact)
        shelf = await asyncio.to_thread(shelf.followed, version, listed, loaded.blocks)
        self._shelves[part] = shelf
        self._trim()
        if loaded.lost:
            self._kept(self._mend(part, loaded.lost))
        return shelf

    async def _mend(self, part: Part, lost: Mapping[str, Matrix]) -> None:
        """Give Chroma back what it has lost, beside the searches."""
        for document_id, matrix in lost.items():
            try:
                await self._vectors.put(part, document_id, matrix)
            except Unavailable:
                log.warning("chroma not mended", document=document_id)
                return
        log.info("chroma mended", documents=len(lost))

    def _trim(self) -> None:
        """Keep to the limit; searches under way keep the shelves they hold."""
        while len(self._shelves) > LEAST_KEPT and self.nbytes > self._memory:
            self._shelves.popitem(last=False)

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
