"""Finished retrievals, kept for a while: in this process, then (CACHE_URL) where replicas share them.

A key names everything a result depends on, versions of the texts included, so nothing here is ever wrong,
only old: there is no invalidation. Whole results alone are kept; what is degraded goes to those who waited
for it. Times are seconds, sizes bytes. Raises what the search raises. Why: docs/decisions/0019-cache.md.
"""

import asyncio
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import replace
from types import TracebackType
from typing import Any

from app.domain.found import VALUE_BYTES, Found, Shared
from app.services.flights import Flights
from app.services.parcel import pack, unpack

MEMORY_BYTES = 64 << 20
"""Of this process: some three hundred results of 80 passages."""
READ_BYTES = 128 << 10
"""Of a value that is read on the loop, in a millisecond; most are smaller."""
OBJECT_BYTES = 1_000
"""Of a candidate beside its text: its passage, its hit, its fields and small strings."""

Search = Callable[[], Coroutine[Any, Any, Found]]


class Kept:
    """The results of this process: the least recently used makes room; what has ended is never given."""

    def __init__(self, most_bytes: int = MEMORY_BYTES, clock: Callable[[], float] = time.time) -> None:
        self._most = most_bytes
        self._clock = clock
        self._found: OrderedDict[str, tuple[Found, float, int]] = OrderedDict()
        """Result, when it ends, its size."""
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: str) -> Found | None:
        """A result that has not ended."""
        found, ends, _ = self._found.get(key, (None, 0.0, 0))
        if found is None:
            return None
        if self._clock() >= ends:
            self._drop(key)
            return None
        self._found.move_to_end(key)
        return found

    def put(self, key: str, found: Found, seconds: float) -> None:
        """Keep it, unless it alone would fill the memory."""
        size = weight(found)
        if size > self._most or seconds <= 0:
            return
        self._drop(key)
        self._found[key] = (found, self._clock() + seconds, size)
        self.nbytes += size
        while self.nbytes > self._most:
            self._drop(next(iter(self._found)))

    def clear(self) -> None:
        """Forget all."""
        self._found.clear()
        self.nbytes = 0

    def _drop(self, key: str) -> None:
        """Forget one, if it is there."""
        _, _, size = self._found.pop(key, (None, 0.0, 0))
        self.nbytes -= size


class Cache:
    """Both levels, and one search at a time for each key."""

    def __init__(
        self,
        seconds: float,
        shared: Shared | None = None,
        *,
        most_bytes: int = MEMORY_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._seconds = seconds
        self._shared = shared
        self._clock = clock
        self._kept = Kept(most_bytes, clock)
        self._flights: Flights[Found] = Flights()

    async def get(self, key: str, search: Search, *, seconds: float) -> Found | None:
        """What is kept, or what `search` finds for all who ask meanwhile; None: nothing in `seconds`."""
        kept = self._kept.get(key)
        if kept is not None:
            return kept
        return await self._flights.join(key, lambda: self._found(key, search), seconds=seconds)

    def clear(self) -> None:
        """Forget what this process holds. What is shared ends by itself; its keys are asked for no more."""
        self._kept.clear()

    async def _found(self, key: str, search: Search) -> Found:
        """Another replica's result, or our own."""
        there = await self._theirs(key)
        if there is not None:
            return there
        found = await search()
        if not found.degraded:
            self._keep(key, found)
        return found

    async def _theirs(self, key: str) -> Found | None:
        """What the shared cache holds, for the rest of its time."""
        raw = await self._shared.get(key) if self._shared else None
        if not raw or len(raw) > VALUE_BYTES:
            return None
        read = unpack(raw, key) if len(raw) <= READ_BYTES else await asyncio.to_thread(unpack, raw, key)
        if read is None:
            return None
        found, made_at = replace(read[0], cached=True), read[1]
        # Clocks of two machines differ: a result from the future is not kept longer for it.
        self._kept.put(key, found, min(self._seconds, made_at + self._seconds - self._clock()))
        return found

    def _keep(self, key: str, found: Found) -> None:
        """In both; nobody waits for the shared one."""
        self._kept.put(key, replace(found, cached=True), self._seconds)
        packed = pack(found, key, self._clock()) if self._shared else None
        if self._shared and packed and len(packed) <= VALUE_BYTES:
            self._shared.put(key, packed, seconds=self._seconds)

    async def __aenter__(self) -> "Cache":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Searches under way end."""
        await self._flights.aclose()


def weight(found: Found) -> int:
    """Memory of a result, near enough to bound many of them."""
    every = (*found.candidates, *found.duplicates)
    # Twice: a text remembers how it is quoted (domain/text.py).
    return OBJECT_BYTES + sum(2 * sys.getsizeof(item.passage.text) + OBJECT_BYTES for item in every)
