"""LRU cache of scope indexes, bounded by bytes; concurrent requests share one load.

A load outlives its question, so a large scope is ready for the next one. Loads in progress count towards the
limit. For one event loop. Raises the errors of reading Postgres (`RetrievalError`).
"""

import asyncio
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from app.retrieval.index import ENTRY_BYTES, ScopeIndex, Segment
from app.tasks import cancelled

MEMORY_BYTES = 1 << 30
EXACT_BYTES = 160 << 20
"""Largest matrix of a scope that is searched exactly: 109,000 passages at 384 dimensions. At that size
Chroma's index took twenty times as long and found .98 of the true results (docs/adr/0004)."""
POSTINGS_BYTES = 800
"""Rough size of a passage that a load reserves in advance."""
LEAST_KEPT = 2
"""Indexes that are kept however large: those of one question."""
PAGE = 2_000
"""Passages per statement: some megabytes."""
READERS = 4
"""Concurrent statements. Loads take turns page by page, so a large one delays others little."""

Result = TypeVar("Result")
Scope: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a scope, read by one statement."""

    version: int
    entries: Mapping[str, Any]
    """Each entry with its revision, or facts that change with it."""
    passages: int


class ScopeRows(ABC):
    """Reads one source from Postgres: base of `IndexedSource`, generic in the type of its scopes."""

    name: str

    @abstractmethod
    async def listing(self, scope: Scope) -> Listing: ...
    @abstractmethod
    async def segment(self, scope: Scope, entries: Sequence[str], *, vectors: bool) -> Segment | None:
        """Some entries, read by one or two statements; deleted ones are left out."""

    def sizes(self, listing: Listing, entries: Sequence[str]) -> Iterable[int]:
        return (1 for _ in entries)


Key: TypeAlias = tuple[str, Hashable]


class IndexCache:
    def __init__(self, dim: int, *, memory_bytes: int = MEMORY_BYTES, exact_bytes: int = EXACT_BYTES) -> None:
        self._dim = dim
        self._memory = memory_bytes
        self._exact = exact_bytes
        self._indexes: OrderedDict[Key, ScopeIndex] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self._reserved: dict[Key, int] = {}
        self._loads: dict[Key, asyncio.Task[ScopeIndex]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._readers = asyncio.Semaphore(READERS)
        self._evicted: set[Key] = set()
        """Scopes that were evicted while they were being loaded."""

    @property
    def nbytes(self) -> int:
        return sum(self._sizes.values()) + sum(self._reserved.values())

    @property
    def keys(self) -> list[Key]:
        return list(self._indexes)

    def evict(self, chosen: Callable[[Key], bool]) -> None:
        """Drop the indexes of some scopes, such as an erased user's; loads in progress are discarded."""
        for key in [key for key in self._indexes if chosen(key)]:
            self._drop(key)
        self._evicted |= {key for key in self._loads if chosen(key)}

    async def get(self, rows: ScopeRows, scope: Hashable, version: int) -> ScopeIndex:
        """The scope's index at `version`, or as of some time after this call."""
        key = (rows.name, scope)
        return self._current(key, version) or await self._load_at_least(rows, key, version)

    def _current(self, key: Key, version: int) -> ScopeIndex | None:
        """The index at `version`, or None. Version 0 is an empty scope: invented session names are free."""
        if version == 0:
            self._drop(key)
            return ScopeIndex(key[1], 0)
        index = self._indexes.get(key)
        if index is None or index.version != version:
            return None
        self._indexes.move_to_end(key)
        return index

    async def get_all(
        self, seconds: float, rows: ScopeRows, versions: Iterable[tuple[Hashable, int]]
    ) -> tuple[list[ScopeIndex], bool]:
        """(indexes, late). A scope that is not loaded in time gets its older version, if any; its load
        continues."""
        wanted = list(versions)
        current = [self._current((rows.name, scope), version) for scope, version in wanted]
        ready = [index for index in current if index]
        if len(ready) == len(wanted):
            return ready, False
        asked = {asyncio.create_task(self.get(rows, *each)): each[0] for each in wanted}
        try:
            await asyncio.wait(asked, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        late = [(rows.name, scope) for task, scope in asked.items() if task.cancelled()]
        ready = [task.result() for task in asked if not task.cancelled()]
        return [*ready, *(self._indexes[key] for key in late if key in self._indexes)], bool(late)

    async def _load_at_least(self, rows: ScopeRows, key: Key, version: int) -> ScopeIndex:
        """Wait for the load in progress; if it began before `version` was written, for one more."""
        under_way = self._loads.get(key)
        if under_way is not None:
            index = await asyncio.shield(under_way)
            if index.version == version:
                return index
        return await asyncio.shield(self._loads.get(key) or self._load(rows, key))

    def _load(self, rows: ScopeRows, key: Key) -> asyncio.Task[ScopeIndex]:
        task = self._start_task(self._refreshed(rows, key))
        self._loads[key] = task
        task.add_done_callback(lambda _: self._loaded(key))
        return task

    def _loaded(self, key: Key) -> None:
        del self._loads[key]
        if key in self._evicted:
            self._evicted.discard(key)
            self._drop(key)

    async def _refreshed(self, rows: ScopeRows, key: Key) -> ScopeIndex:
        """The index at the present version; reads only what changed."""
        scope = key[1]
        async with self._readers:
            listing = await rows.listing(scope)
        exact = self.is_exact(listing)
        index = self._indexes.get(key)
        if index is None or index.exact != exact:
            index = ScopeIndex(scope, 0, exact=exact)
        changed = await asyncio.to_thread(index.changed, listing.entries)
        sizes = list(rows.sizes(listing, changed))
        each = POSTINGS_BYTES + (4 * self._dim if exact else 0)
        self._reserved[key] = each * index.rows_to_rebuild(sum(sizes)) + ENTRY_BYTES * len(changed)
        try:
            self._make_room()
            fresh = []
            for page in paged(changed, sizes):
                async with self._readers:
                    segment = await rows.segment(scope, page, vectors=exact)
                if segment is not None:
                    fresh.append(segment)
            index = await asyncio.to_thread(index.updated, listing.version, listing.entries, fresh)
        finally:
            del self._reserved[key]
        self._store(key, index)
        return index

    def is_exact(self, listing: Listing) -> bool:
        """True if a scope's vectors fit EXACT_MAX_MB and are searched in memory; otherwise its engine is
        asked (`IndexedSource._dense`)."""
        return 4 * self._dim * listing.passages <= self._exact

    def _store(self, key: Key, index: ScopeIndex) -> None:
        """Replace the scope's index. Empty ones are not cached. Running searches keep theirs."""
        self._drop(key)
        if index.size:
            self._indexes[key], self._sizes[key] = index, index.nbytes
        self._make_room()

    def _make_room(self) -> None:
        while len(self._indexes) > LEAST_KEPT and self.nbytes > self._memory:
            self._drop(next(iter(self._indexes)))

    def _drop(self, key: Key) -> None:
        self._indexes.pop(key, None)
        self._sizes.pop(key, None)

    def _start_task(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """A task that `aclose` cancels; its error goes to the requests that wait for it, if any."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def aclose(self) -> None:
        await cancelled(self._tasks)


def paged(entries: Sequence[str], sizes: Iterable[int]) -> Iterable[Sequence[str]]:
    page: list[str] = []
    passages = 0
    for entry, size in zip(entries, sizes, strict=True):
        page.append(entry)
        passages += size
        if passages >= PAGE:
            yield page
            page, passages = [], 0
    if page:
        yield page
