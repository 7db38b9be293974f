"""The indexes of memories and corpus kept in step with the record: what a crash left is finished, what was
lost is given back.

At the start, every few minutes, and when the engine says that it lost a collection. It embeds nothing: the
record has every vector. Each step may be repeated, on several replicas at once. Raises `Unavailable`.
"""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from functools import partial
from typing import Protocol, TypeVar

import structlog

from app.domain.corpus import Corpus, CorpusIndex
from app.domain.errors import Damaged, RetrievalError, Unavailable
from app.domain.memory import RAW, Memories, MemoryIndex
from app.domain.revision import settled
from app.domain.stray import StrayMemory, Strays, StrayText

PAGE = 256
"""Rows at a time."""
PAUSE, AGAIN = 300.0, 5.0
"""Seconds between two looks; after one that a store did not answer."""
CERTAIN = 0.5
"""Seconds after which what seems to be lost is counted again: a write under way looks like a loss."""

log = structlog.get_logger(__name__)

Stray = TypeVar("Stray", StrayMemory, StrayText)


class Census(Protocol):
    """Tells whether everything is there (`index/census.py`). `RetrievalError`."""

    async def ours(self, collection: str, space: str, tenants: Sequence[str]) -> int:
        """How many points of ours a collection holds, whatever else is in it."""


class Upkeep:
    """Of one service."""

    def __init__(
        self,
        strays: Strays,
        census: Census,
        memories: tuple[Memories, MemoryIndex],
        corpus: tuple[Corpus, CorpusIndex],
    ) -> None:
        self._strays = strays
        self._census = census
        self._memories, self._memory_index = memories
        self._corpus, self._corpus_index = corpus
        self._hurried = asyncio.Event()

    async def run(self) -> None:
        """For as long as the service lives: now, every few minutes, and when something is known to be lost.
        A store that is away is asked again soon."""
        while True:
            self._hurried.clear()
            pause = PAUSE
            try:
                await self.mend()
            except Damaged:
                pass  # it is logged, and not mended in a moment
            except Unavailable:
                pause = AGAIN
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._hurried.wait()

    def hurry(self, collection: str) -> None:
        """A collection was set aside: look now."""
        log.warning("collection lost", collection=collection)
        self._hurried.set()

    async def mend(self) -> None:
        """Finish what is unfinished; an index with fewer points than the record has rows is filled anew."""
        lost_memories, lost_texts = await self.lost()
        done = await self._walk_memories(all_of_them=False) + await self._walk_texts(all_of_them=False)
        if lost_memories:
            done += await self._walk_memories(all_of_them=True)
        if lost_texts:
            done += await self._walk_texts(all_of_them=True)
        if done:
            log.info("index of memories mended", rows=done)

    async def rebuild(self) -> int:
        """Give both indexes everything that the record has; how many rows that were."""
        return await self._walk_memories(all_of_them=True) + await self._walk_texts(all_of_them=True)

    async def lost(self) -> tuple[bool, bool]:
        """Whether memories, and whether texts are missing: a folder set aside, a server made anew."""
        short = await self._short()
        if any(short.values()):  # perhaps a write or a removal was under way; nothing at all is plain enough
            await asyncio.sleep(CERTAIN)
            again = await self._short()
            short = {name: held for name, held in short.items() if name in again or not held}
        return RAW in short, bool(short.keys() - {RAW})

    async def _short(self) -> dict[str, int]:
        """Collections with fewer points of ours than the record has rows, at this moment: how many."""
        space, stocks = await self._strays.kept()
        try:
            return {
                name: held
                for name, stock in stocks.items()
                if (held := await self._census.ours(name, space, stock.tenants)) < stock.count
            }
        except RetrievalError as error:
            raise Unavailable("Qdrant does not answer") from error

    async def _walk_memories(self, *, all_of_them: bool) -> int:
        """Page by page."""
        done, after = 0, ""
        while page := await self._strays.memories(after, PAGE, all_of_them=all_of_them):
            after = page[-1].memory.id
            for group in grouped(page, lambda stray: (stray.scope, stray.removed)):
                await self._memory_group(group)
            done += len(page)
        return done

    async def _memory_group(self, group: Sequence[StrayMemory]) -> None:
        """Of one user, all removed or all to be put."""
        scope, ids = group[0].scope, [stray.memory.id for stray in group]
        if group[0].removed:
            await self._memory_index.remove(scope, ids)
            await self._memories.forget(ids)
            return
        rows = [(stray.memory, stray.embedding) for stray in group]
        put, mark = partial(self._memory_index.put, scope), partial(self._memories.indexed, scope)
        if gone := await settled(rows, put, mark):
            await self._memory_index.remove(scope, gone)

    async def _walk_texts(self, *, all_of_them: bool) -> int:
        """Page by page."""
        done, after = 0, ""
        while page := await self._strays.texts(after, PAGE, all_of_them=all_of_them):
            after = page[-1].reference.point
            for group in grouped(page, lambda stray: (stray.scope, stray.collection, stray.removed)):
                await self._text_group(group)
            done += len(page)
        return done

    async def _text_group(self, group: Sequence[StrayText]) -> None:
        """Of one collection of a tenant, all removed or all to be put."""
        scope, collection = group[0].scope, group[0].collection
        points = [stray.reference.point for stray in group]
        if group[0].removed:
            await self._corpus_index.remove(scope, collection, points)
            await self._corpus.forget(points)
            await self._corpus.vacate(scope, collection, partial(self._corpus_index.drop, collection))
            return
        rows = [(stray.reference, stray.embedding) for stray in group]
        put = partial(self._corpus_index.put, scope, collection)
        if gone := await settled(rows, put, partial(self._corpus.indexed, scope, collection)):
            await self._corpus_index.remove(scope, collection, gone)


def grouped(page: Sequence[Stray], by: Callable[[Stray], Hashable]) -> list[list[Stray]]:
    """The rows of a page that are written together."""
    groups: dict[Hashable, list[Stray]] = {}
    for stray in page:
        groups.setdefault(by(stray), []).append(stray)
    return list(groups.values())
