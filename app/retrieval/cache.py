"""Caches of retrieval: finished results (in process, then CACHE_URL), single flight, query embeddings.

A key names everything that a result depends on, versions of the texts and FORMAT included, so nothing is
invalidated (an erasure empties the processes' own). Only complete results are cached. Concurrent identical
searches share one task, which is cancelled when nobody waits any more. What a shared cache holds is checked
when read: anything else is a miss. Query embeddings are cached by asker, so that timing never tells what
another person asked. Times are in seconds, sizes in bytes. Why: docs/adr/0012.
"""

import asyncio
import math
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Generic, TypeVar

import structlog
from pydantic import TypeAdapter

from app.retrieval.redis import VALUE_BYTES, Redis
from app.retrieval.relevance import UNRELATED
from app.tasks import cancelled
from app.text.labels import is_label
from app.types import CERTAIN, Candidate, Embedding, Found, Scope

Result = TypeVar("Result")


class Flights(Generic[Result]):
    """What is under way, by key."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Task[Result], int] = {}
        """Every task that has not ended, and how many wait for it."""
        self._under_way: dict[str, asyncio.Task[Result]] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    async def join(
        self, key: str, work: Callable[[], Coroutine[Any, Any, Result]], *, seconds: float
    ) -> Result | None:
        """What the work under way for `key` comes to, begun if there is none. None: not in `seconds`, or the
        service closes."""
        task = self._under_way.get(key) or self._begin(key, work())
        self._waiting[task] += 1
        try:
            await asyncio.wait({task}, timeout=seconds)
        finally:
            self._leave(key, task)
        return task.result() if task.done() and not task.cancelled() else None

    def _begin(self, key: str, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """The task of the first who asks."""
        task = self._under_way[key] = asyncio.create_task(work)
        self._waiting[task] = 0
        task.add_done_callback(lambda done: self._ended(key, done))
        return task

    def _leave(self, key: str, task: asyncio.Task[Result]) -> None:
        """One waiter less. A task that nobody wants is cancelled, and nobody may join it any more."""
        if task in self._waiting:
            self._waiting[task] -= 1
            if not self._waiting[task]:
                self._forget(key, task)
                task.cancel()

    def _ended(self, key: str, task: asyncio.Task[Result]) -> None:
        """Its error, if any, was for those who waited."""
        self._forget(key, task)
        self._waiting.pop(task, None)
        if not task.cancelled():
            task.exception()

    def _forget(self, key: str, task: asyncio.Task[Result]) -> None:
        """The next who asks begins anew."""
        if self._under_way.get(key) is task:
            del self._under_way[key]

    async def aclose(self) -> None:
        """End what is under way."""
        await cancelled(self._waiting)


FORMAT = 9
"""Changes with the fields of a result."""
ADDRESSES = {
    "documents": ("/api/documents/",),
    "memories": ("/memories/",),
    "corpus": ("https://", "http://"),
}
"""How the address of a passage begins, by source; those of other sources have none."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SharedResult:
    """A complete result as replicas share it."""

    key: str
    made_at: float
    """Unix seconds."""
    found: Found


CODEC = TypeAdapter(SharedResult)


def pack(found: Found, key: str, made_at: float) -> bytes | None:
    """A result without faults as JSON; None if it holds what JSON cannot say (lone surrogates)."""
    try:
        return CODEC.dump_json(SharedResult(key, made_at, found))
    except ValueError as error:
        log.warning("retrieval not shared", fault=type(error).__name__)
        return None


def unpack(raw: bytes, key: str) -> tuple[Found, float] | None:
    """The result and when it was made; None for anything that `pack` did not write for this key."""
    try:
        shared = CODEC.validate_json(raw, strict=True)
    except ValueError as error:
        log.warning("shared retrieval unreadable", fault=type(error).__name__)
        return None
    found = shared.found
    every = (*found.candidates, *found.duplicates)
    if shared.key != key or not all(map(plausible, every)) or (every and not found.answered):
        log.warning("entry of the shared cache ignored: not written for this key")
        return None
    return found, shared.made_at


def plausible(candidate: Candidate) -> bool:
    """True for what a search of ours can find, as far as it is shown or reckoned with."""
    passage = candidate.passage
    url, similarity = passage.fields.get("url"), passage.similarity
    evidence = UNRELATED if passage.evidence is None else passage.evidence
    return (
        is_label(passage.label)
        and min(passage.tokens, passage.quoted, passage.lined) >= 0
        and (similarity is None or -1 <= similarity <= 1)
        and math.isfinite(passage.score)
        and UNRELATED <= evidence <= CERTAIN
        and (not url or str(url).startswith(ADDRESSES.get(passage.source, ())))
    )


MEMORY_BYTES = 64 << 20
"""Of this process: some three hundred results of 80 passages."""
READ_BYTES = 128 << 10
"""Of a value that is read on the loop, in a millisecond; most are smaller."""
OBJECT_BYTES = 1_000
"""Of a candidate beside its text: its passage, its fields and small strings."""

Search = Callable[[], Coroutine[Any, Any, Found]]


class ResultCache:
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
        shared: Redis | None = None,
        *,
        most_bytes: int = MEMORY_BYTES,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._seconds = seconds
        self._shared = shared
        self._clock = clock
        self._kept = ResultCache(most_bytes, clock)
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
        await self._flights.aclose()


def weight(found: Found) -> int:
    """Memory of a result, near enough to bound many of them."""
    every = (*found.candidates, *found.duplicates)
    return OBJECT_BYTES + sum(sys.getsizeof(item.passage.text) + OBJECT_BYTES for item in every)


class Recent:
    """Least recently used first out. For one event loop; never awaits."""

    def __init__(self, limit: int = 1_024) -> None:
        self._limit = limit
        self._vectors: OrderedDict[tuple[str, str, str | None, str], Embedding] = OrderedDict()

    def get(self, scope: Scope, text: str) -> Embedding | None:
        """The vector, if this asker's is still there."""
        key = (scope.tenant, scope.owner, scope.user_id, text)
        if key in self._vectors:
            self._vectors.move_to_end(key)
        return self._vectors.get(key)

    def keep(self, scope: Scope, text: str, vector: Embedding) -> Embedding:
        """Remember it for this asker, and hand it on."""
        self._vectors[scope.tenant, scope.owner, scope.user_id, text] = vector
        if len(self._vectors) > self._limit:
            self._vectors.popitem(last=False)
        return vector
