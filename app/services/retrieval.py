"""gather(): one question put to every source at once, under one deadline, and what came of it.

A slow or broken source costs its passages, not the answer: it ends in `degraded`. The query is embedded
once, beside the word legs; its own deadline ends earlier than the shared one, so that a hung embedding
server leaves the word legs time to answer. Times are seconds; `took_ms` milliseconds.
Source: seed 004 (timeout 6 s, fallback without context), DESIGN §4, CONTRACT §1.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog

from app.domain.errors import RetrievalError
from app.domain.fusion import fuse
from app.domain.passage import Candidate, Embedding, Legs, Query
from app.domain.ports import Embedder, Source
from app.domain.ranking import dedupe
from app.domain.selection import Selection, why
from app.domain.trace import Degraded, Reason

EMBEDDING_SHARE = 0.75
"""Part of the deadline that the embedding may take."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates of all sources, fused and best first; what was left out as a duplicate; who failed."""

    candidates: tuple[Candidate, ...] = ()
    duplicates: tuple[Candidate, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    stored: int = 0
    """Passages in reach of the sources that answered."""
    answered: int = 0
    """Sources that answered."""
    took_ms: int = 0

    def reason(self, asked: int, selection: Selection) -> Reason:
        """`rag.reason` for what was made of it; `asked` counts sources."""
        timed_out = any(item.reason == "timeout" for item in self.degraded)
        return why(selection, asked=asked, answered=self.answered, timed_out=timed_out, stored=self.stored)


class Retrieval:
    """The sources of this service and the embedder they share."""

    def __init__(self, sources: Mapping[str, Source], embedder: Embedder, *, seconds: float) -> None:
        self._sources = sources
        self._embedder = embedder
        self._seconds = seconds

    async def gather(self, query: Query, names: Sequence[str]) -> Found:
        """Search `names`. Never raises but on cancellation; ends within the deadline."""
        started = time.perf_counter()
        asked = [self._sources[name] for name in names if name in self._sources]
        absent = [Degraded(name, "not_available") for name in names if name not in self._sources]
        found, faults = await self._search(query, asked)
        kept, duplicates = dedupe(fuse(found))
        return Found(
            candidates=tuple(kept),
            duplicates=tuple(duplicates),
            degraded=(*absent, *faults),
            stored=sum(legs.stored for legs in found),
            answered=len(found),
            took_ms=round((time.perf_counter() - started) * 1000),
        )

    async def _search(self, query: Query, asked: Sequence[Source]) -> tuple[list[Legs], list[Degraded]]:
        """Every source at once. The embedding is shared: one source's end must not cancel it for another."""
        faults: list[Degraded] = []
        embedding = asyncio.create_task(self._embed(query.text, faults))
        searches = {
            asyncio.create_task(source.search(query, asyncio.shield(embedding))): source for source in asked
        }
        try:
            await asyncio.wait(searches, timeout=self._seconds) if searches else None
        finally:
            await _end([embedding, *searches])
        found: list[Legs] = []
        for task, source in searches.items():
            outcome = _outcome(task, source.name)
            (found.append if isinstance(outcome, Legs) else faults.append)(outcome)  # type: ignore[arg-type]
        return found, faults

    async def _embed(self, text: str, faults: list[Degraded]) -> Embedding | None:
        """The query's vector, or None and a word in `faults`."""
        try:
            async with asyncio.timeout(self._seconds * EMBEDDING_SHARE):
                return await self._embedder.query(text)
        except TimeoutError:
            faults.append(Degraded("embedding", "timeout"))
        except RetrievalError as error:
            faults.append(Degraded("embedding", error.reason))
        return None


async def _end(tasks: Sequence[asyncio.Task[object]]) -> None:
    """Cancel what still runs and see it end, so that no task is left without an owner."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _outcome(task: asyncio.Task[Legs], name: str) -> Legs | Degraded:
    """What a search came to. A fault that is not a `RetrievalError` is a bug, and raised."""
    if task.cancelled():
        log.warning("source timed out", source=name)
        return Degraded(name, "timeout")
    error = task.exception()
    if error is None:
        return task.result()
    if isinstance(error, RetrievalError):
        log.warning("source failed", source=name, reason=error.reason)
        return Degraded(name, error.reason)
    raise error
