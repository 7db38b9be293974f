"""gather(): asks every source concurrently, under one deadline, and merges the results.

A slow or broken source costs its passages, not the answer, and is listed in `degraded`. The query is embedded
once, beside lexical retrieval; its own deadline is earlier than the shared one, so that a hung embedding
server leaves time for lexical results. Times are seconds; `took_ms` milliseconds. With a cache the sources
first report their versions; a cached result needs no embedding. Source: docs/contract.md, docs/adr/0012.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime
from functools import partial

import structlog

from app.errors import RetrievalError
from app.metrics import count_cache, stage
from app.models.base import LEGIBLE, Embedder
from app.models.bundled import whole
from app.retrieval import fusion
from app.retrieval.cache import FORMAT, Cache, Recent
from app.retrieval.fusion import Floor, fuse
from app.retrieval.ranking import without_duplicates
from app.retrieval.rerank import First, SecondStage
from app.tasks import cancelled, deadline
from app.types import ENGINE, EXACT, Clock, Degraded, Embedding, Found, Legs, Query, Reach, Scope, Source

EMBEDDING_SHARE = 0.75
"""Share of the deadline for the embedding."""
REACH_SHARE = 0.25
"""Share of the deadline for the sources' versions; without all of them nothing is cached."""
GRACE = 0.5
"""Seconds after its deadline in which a search hands over its results."""
RANKING_VERSION = 11
"""Raise it with every change of results for the same texts: fusion, deduplication, a source's ranking. Cache
keys also contain the form of shared results (`cache.py`). Replay compares this number instead of searching
again, so a forgotten change is reported as identical."""

NOW: Clock = partial(datetime.now, UTC)

log = structlog.get_logger(__name__)

Reaching = Mapping[str, asyncio.Task[Reach]]
"""By source name, the task that reads its version."""


class Retrieval:
    def __init__(
        self,
        sources: Mapping[str, Source],
        embedder: Embedder,
        *,
        seconds: float,
        cache: Cache | None = None,
        second: SecondStage | None = None,
        clock: Clock = NOW,
        grasp: Callable[[str], float] = whole,
        unrelated: Callable[[str], Floor | None] = lambda _: None,
    ) -> None:
        """`clock` resolves words like `yesterday`; `grasp`: share of a text that the embedder can read;
        `unrelated`: the mean similarity of unrelated passages, for a question (`models/bundled.py`)."""
        self._sources = sources
        self._embedder = embedder
        self._recent = Recent()
        self.seconds = seconds
        """RAG_TIMEOUT_SECONDS: from the question to the search results."""
        self._cache = cache
        self._second = second
        self._clock = clock
        self._grasp = grasp
        self._unrelated = unrelated

    async def gather(self, query: Query, names: Sequence[str], *, until: float | None = None) -> Found:
        """Search the sources `names`. Raises only on cancellation; ends within the deadline, or at `until`
        (the loop's time) if part of it has passed."""
        started, now = time.perf_counter(), self._clock()
        until = deadline(self.seconds) if until is None else until
        absent = [Degraded(name, "not_available") for name in names if name not in self._sources]
        reaching = self._reaching(query, names)
        try:
            with stage("total"):
                found = await self._found(query, reaching, until, now)
        finally:
            await cancelled(list(reaching.values()))
        took_ms = round((time.perf_counter() - started) * 1000)
        return replace(found, degraded=(*absent, *found.degraded), took_ms=took_ms)

    async def apart(self, query: Query, names: Sequence[str]) -> tuple[Found, list[Legs]]:
        """As `gather`, with each source's own results; nothing is cached (`ibid eval`)."""
        until, now = deadline(self.seconds), self._clock()
        grasp = self._grasp(query.text)
        reaching = self._reaching(query, names)
        every: list[Legs] = []

        async def first(asked: Query) -> Found:
            found, faults = await self._legs(read(asked, now, grasp), reaching, until)
            every.extend(found if asked is query else ())
            return fused(found, faults, asked, now, grasp=grasp, unrelated=self._unrelated(asked.text))

        try:
            return await self._both(query, first, until), every
        finally:
            await cancelled(list(reaching.values()))

    def _reaching(self, query: Query, names: Sequence[str]) -> Reaching:
        known = [(name, self._sources[name]) for name in names if name in self._sources]
        return {name: asyncio.create_task(_reach(source, query.scope)) for name, source in known}

    async def _found(self, query: Query, reaching: Reaching, until: float, now: datetime) -> Found:
        """From the cache if there is one and every source reports its version; else by searching."""
        key = await self._key(query, reaching, until, now) if self._cache and reaching else None
        if self._cache is None or key is None:
            return await self._search(query, reaching, until, now)
        search = partial(self._search, query, reaching, until, now)
        found = await self._cache.get(key, search, seconds=left(until) + GRACE)
        count_cache("results", hit=found is not None and found.cached)
        return found or Found(degraded=tuple(Degraded(name, "timeout") for name in reaching))

    async def _key(self, query: Query, reaching: Reaching, until: float, now: datetime) -> str | None:
        """Hash of everything that a result depends on; None if a source has not reported its version."""
        await asyncio.wait(reaching.values(), timeout=min(self.seconds * REACH_SHARE, left(until)))
        if not all(task.done() and not task.exception() for task in reaching.values()):
            return None  # the search reports the failing source
        standings = [[name, task.result().standing] for name, task in reaching.items()]
        parts = [
            RANKING_VERSION,
            query.scope.tenant,
            query.scope.owner,
            standings,
            query.text,
            query.limit,
            query.threshold,
        ]
        asked = fusion.asked(query.text, now)
        parts += [asked.key, [list(map(str, days)) for days in asked.stretches(now.year)]]
        parts += [list(map(str, astuple(query.scope.only)))] if query.scope.only else []
        parts += self._second.key(query) if self._second else []
        told = json.dumps([*parts, self._embedder.space]).encode()
        return f"{RANKING_VERSION}.{FORMAT}:{hashlib.sha256(told).hexdigest()}"

    async def _search(self, query: Query, reaching: Reaching, until: float, now: datetime) -> Found:
        """Search all sources and merge. `now` is the time of the cache key, since midnight may pass
        meanwhile. Rewritten queries use the question's own weights."""
        grasp = self._grasp(query.text)

        async def first(asked: Query) -> Found:
            legs, faults = await self._legs(read(asked, now, grasp), reaching, until)
            return fused(legs, faults, asked, now, grasp=grasp, unrelated=self._unrelated(asked.text))

        return await self._both(query, first, until)

    async def _both(self, query: Query, first: First, until: float) -> Found:
        return await (self._second.search(query, first, until) if self._second else first(query))

    async def _legs(
        self, query: Query, reaching: Reaching, until: float
    ) -> tuple[list[Legs], list[Degraded]]:
        """Each source's results. The embedding is shared: cancelling one source must not cancel it."""
        faults: list[Degraded] = []
        embedding = asyncio.create_task(self._embed(query, faults, until))
        searches = {
            asyncio.create_task(_legs(name, reach, query, embedding)): name
            for name, reach in reaching.items()
        }
        try:
            await asyncio.wait(searches, timeout=left(until)) if searches else None
        finally:
            await cancelled([embedding, *searches])
        found: list[Legs] = []
        for task, name in searches.items():
            outcome = _outcome(task, name)
            (found.append if isinstance(outcome, Legs) else faults.append)(outcome)  # type: ignore[arg-type]
        return found, faults

    async def embedded(self, text: str, scope: Scope) -> Embedding:
        """A query's vector; the user's newest ones are cached. Raises `RetrievalError`."""
        known = self._recent.get(scope, text)
        count_cache("embeddings", hit=known is not None)
        if known:
            return known
        with stage("embedding"):
            return self._recent.keep(scope, text, await self._embedder.query(text))

    async def _embed(self, query: Query, faults: list[Degraded], until: float) -> Embedding | None:
        try:
            async with asyncio.timeout_at(until - self.seconds * (1 - EMBEDDING_SHARE)):
                return await self.embedded(query.text, query.scope)
        except TimeoutError:
            faults.append(Degraded("embedding", "timeout"))
        except RetrievalError as error:
            faults.append(Degraded("embedding", error.reason))
        return None


def fused(
    found: Sequence[Legs],
    faults: Sequence[Degraded],
    query: Query,
    now: datetime,
    *,
    grasp: float,
    unrelated: Floor | None,
) -> Found:
    """One list from all sources, most relevant first. `now` resolves words like `yesterday`."""
    question = fusion.asked(query.text, now)
    candidates = fuse(found, grasp, unrelated)
    shares = question.shares(candidates)
    ranked = fusion.with_time_evidence(candidates, question, shares)
    kept, duplicates, twins = without_duplicates(ranked)
    named = fusion.notes(kept, question, shares, query.threshold)
    return Found(
        candidates=tuple(kept),
        duplicates=tuple(duplicates),
        degraded=(*faults, *(Degraded(legs.source, legs.partial) for legs in found if legs.partial)),
        stored=sum(legs.stored for legs in found),
        answered=len(found),
        sources={legs.source: ENGINE if legs.engine else EXACT for legs in found},
        notes=(*(note for legs in found for note in legs.notes), *named, *twins),
    )


def read(query: Query, now: datetime, grasp: float) -> Query:
    """The query with the days that it asks about, and whether the embedder can read it."""
    days = fusion.asked(query.text, now).stretches(now.year)
    return replace(query, days=days, legible=grasp >= LEGIBLE)


def left(until: float) -> float:
    return max(0.0, until - asyncio.get_running_loop().time())


async def _reach(source: Source, scope: Scope) -> Reach:
    with stage("reach", source.name):
        return await source.reach(scope)


async def _legs(
    name: str, reaching: asyncio.Task[Reach], query: Query, embedding: asyncio.Task[Embedding | None]
) -> Legs:
    reach = await asyncio.shield(reaching)
    with stage("search", name):
        return await reach.search(query, asyncio.shield(embedding))


def _outcome(task: asyncio.Task[Legs], name: str) -> Legs | Degraded:
    """Result or fault of a search. An error other than `RetrievalError` is a bug and raised."""
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
