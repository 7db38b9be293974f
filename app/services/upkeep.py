"""The indexes of memories and corpus kept in step with the record: what a crash left is finished, what was
lost is given back.

At the start, every few minutes, and when the engine says that it lost a collection. It embeds nothing: the
record has every vector. Each step may be repeated, on several replicas at once. Raises `Unavailable`.
"""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

import structlog

from app.domain.corpus import Corpus, CorpusIndex
from app.domain.errors import RetrievalError, Unavailable
from app.domain.memory import RAW, Memories, MemoryIndex
from app.domain.stray import StrayMemory, Strays, StrayText

PAGE = 256
"""Rows at a time."""
PAUSE, AGAIN = 300.0, 5.0
"""Seconds between two looks; after one that a store did not answer."""

log = structlog.get_logger(__name__)

Stray = TypeVar("Stray", StrayMemory, StrayText)


class Held(Protocol):
    """A collection as the engine tells of it."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def points(self) -> int:
        """How many it holds, others' too."""


class Engine(Protocol):
    """The part of `clients/points.Points` that tells whether everything is there. `RetrievalError`."""

    async def collections(self) -> Sequence[Held]:
        """All of them."""


class Upkeep:
    """Of one service."""

    def __init__(
        self,
        strays: Strays,
        engine: Engine,
        memories: tuple[Memories, MemoryIndex],
        corpus: tuple[Corpus, CorpusIndex],
    ) -> None:
        self._strays = strays
        self._engine = engine
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
        memories, texts = await self._strays.kept()
        if not memories and not texts:
            return False, False
        try:
            held = {each.name: each.points for each in await self._engine.collections()}
        except RetrievalError as error:
            raise Unavailable("Qdrant does not answer") from error
        few = any(held.get(name, 0) < count for name, count in texts.items())
        return held.get(RAW, 0) < memories, few

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
        vectors = [stray.embedding for stray in group]
        await self._memory_index.put(scope, [stray.memory for stray in group], vectors)
        if gone := await self._memories.indexed(scope, ids):
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
            return
        vectors = [stray.embedding for stray in group]
        await self._corpus_index.put(scope, collection, [stray.reference for stray in group], vectors)
        if gone := await self._corpus.indexed(scope, collection, points):
            await self._corpus_index.remove(scope, collection, gone)


def grouped(page: Sequence[Stray], by: Callable[[Stray], Hashable]) -> list[list[Stray]]:
    """The rows of a page that are written together."""
    groups: dict[Hashable, list[Stray]] = {}
    for stray in page:
        groups.setdefault(by(stray), []).append(stray)
    return list(groups.values())
