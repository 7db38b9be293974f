"""gather(): one question put to every source at once, under one deadline, and what came of it.

A slow or broken source costs its passages, not the answer: it ends in `degraded`. The query is embedded
once, beside the word legs; its own deadline ends earlier than the shared one, so that a hung embedding
server leaves the word legs time to answer. Times are seconds; `took_ms` milliseconds.
With a cache the sources are first asked how they stand; a result that is kept is not even embedded for.
Source: docs/contract.md, docs/adr/0012.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import structlog

from app.errors import RetrievalError
from app.models.base import Embedder
from app.models.bundled import whole
from app.retrieval import fusion
from app.retrieval.cache import FORMAT, Cache, Recent
from app.retrieval.fusion import fuse
from app.retrieval.ranking import without_duplicates
from app.retrieval.rerank import First, SecondStage
from app.tasks import deadline
from app.types import ENGINE, EXACT, Clock, Degraded, Embedding, Found, Legs, Query, Reach, Scope, Source

EMBEDDING_SHARE = 0.75
"""Part of the deadline that the embedding may take."""
REACH_SHARE = 0.25
"""Part of the deadline in which the sources say how they stand; without all of them nothing is cached."""
GRACE = 0.5
"""Seconds that a search, itself ended by the deadline, has to hand over what it has."""
RANKING_VERSION = 9
"""Changes with whatever changes results for the same texts: fusion, deduplication, the sources' ranking.
Beside it in every key: the form in which replicas hand results to each other (`cache.py`).
Bump it by hand: replay compares it and searches nothing again, so a forgotten bump is reported as
identical."""

NOW: Clock = partial(datetime.now, UTC)

log = structlog.get_logger(__name__)

Reaching = Mapping[str, asyncio.Task[Reach]]
"""Sources by name, and how each stands, as far as it has said."""


class Retrieval:
    """The sources of this service and the embedder they share."""

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
    ) -> None:
        """`clock` tells what `yesterday` is, `grasp` how much of a text the embedder can read."""
        self._sources = sources
        self._embedder = embedder
        self._recent = Recent()
        self.seconds = seconds
        """From the question to what was found for it: RAG_TIMEOUT_SECONDS."""
        self._cache = cache
        self._second = second
        self._clock = clock
        self._grasp = grasp

    async def gather(self, query: Query, names: Sequence[str], *, until: float | None = None) -> Found:
        """Search `names`. Never raises but on cancellation; ends within the deadline, or by `until` (the
        loop's time) where part of it is gone already."""
        started, now = time.perf_counter(), self._clock()
        until = deadline(self.seconds) if until is None else until
        absent = [Degraded(name, "not_available") for name in names if name not in self._sources]
        reaching = self._reaching(query, names)
        try:
            found = await self._found(query, reaching, until, now)
        finally:
            await _end(list(reaching.values()))
        took_ms = round((time.perf_counter() - started) * 1000)
        return replace(found, degraded=(*absent, *found.degraded), took_ms=took_ms)

    async def apart(self, query: Query, names: Sequence[str]) -> tuple[Found, list[Legs]]:
        """As `gather`, with what each source found by itself; nothing is cached (`ibid eval`)."""
        until, now = deadline(self.seconds), self._clock()
        grasp = self._grasp(query.text)
        reaching = self._reaching(query, names)
        every: list[Legs] = []

        async def first(asked: Query) -> Found:
            found, faults = await self._legs(dated(asked, now), reaching, until)
            every.extend(found if asked is query else ())
            return fused(found, faults, asked, now, grasp)

        try:
            return await self._both(query, first, until), every
        finally:
            await _end(list(reaching.values()))

    def _reaching(self, query: Query, names: Sequence[str]) -> Reaching:
        """Ask the sources how they stand."""
        known = [(name, self._sources[name]) for name in names if name in self._sources]
        return {name: asyncio.create_task(source.reach(query.scope)) for name, source in known}

    async def _found(self, query: Query, reaching: Reaching, until: float, now: datetime) -> Found:
        """From the cache if there is one and every source says how it stands; else searched."""
        key = await self._key(query, reaching, until, now) if self._cache and reaching else None
        if self._cache is None or key is None:
            return await self._search(query, reaching, until, now)
        search = partial(self._search, query, reaching, until, now)
        found = await self._cache.get(key, search, seconds=left(until) + GRACE)
        return found or Found(degraded=tuple(Degraded(name, "timeout") for name in reaching))

    async def _key(self, query: Query, reaching: Reaching, until: float, now: datetime) -> str | None:
        """Everything a result depends on, hashed; None: not known for every source."""
        await asyncio.wait(reaching.values(), timeout=min(self.seconds * REACH_SHARE, left(until)))
        if not all(task.done() and not task.exception() for task in reaching.values()):
            return None  # the search will tell who it was
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
        parts += self._second.key(query) if self._second else []
        told = json.dumps([*parts, self._embedder.space]).encode()
        return f"{RANKING_VERSION}.{FORMAT}:{hashlib.sha256(told).hexdigest()}"

    async def _search(self, query: Query, reaching: Reaching, until: float, now: datetime) -> Found:
        """Every source at once, and what they found as one list, whatever orders it. `now`: what the key was
        made with, since midnight may pass meanwhile. Rewordings are weighed as the question is."""
        grasp = self._grasp(query.text)

        async def first(asked: Query) -> Found:
            return fused(*await self._legs(dated(asked, now), reaching, until), asked, now, grasp)

        return await self._both(query, first, until)

    async def _both(self, query: Query, first: First, until: float) -> Found:
        """Both stages; where there is no second, the first."""
        return await (self._second.search(query, first, until) if self._second else first(query))

    async def _legs(
        self, query: Query, reaching: Reaching, until: float
    ) -> tuple[list[Legs], list[Degraded]]:
        """Each source's own. The embedding is shared: one source's end must not cancel it for another."""
        faults: list[Degraded] = []
        embedding = asyncio.create_task(self._embed(query, faults, until))
        searches = {
            asyncio.create_task(_legs(reach, query, embedding)): name for name, reach in reaching.items()
        }
        try:
            await asyncio.wait(searches, timeout=left(until)) if searches else None
        finally:
            await _end([embedding, *searches])
        found: list[Legs] = []
        for task, name in searches.items():
            outcome = _outcome(task, name)
            (found.append if isinstance(outcome, Legs) else faults.append)(outcome)  # type: ignore[arg-type]
        return found, faults

    async def embedded(self, text: str, scope: Scope) -> Embedding:
        """A query's vector; the asker's newest ones are remembered. Raises `RetrievalError`."""
        known = self._recent.get(scope, text)
        return known or self._recent.keep(scope, text, await self._embedder.query(text))

    async def _embed(self, query: Query, faults: list[Degraded], until: float) -> Embedding | None:
        """The query's vector, or None and a word in `faults`."""
        try:
            async with asyncio.timeout_at(until - self.seconds * (1 - EMBEDDING_SHARE)):
                return await self.embedded(query.text, query.scope)
        except TimeoutError:
            faults.append(Degraded("embedding", "timeout"))
        except RetrievalError as error:
            faults.append(Degraded("embedding", error.reason))
        return None


def fused(
    found: Sequence[Legs], faults: Sequence[Degraded], query: Query, now: datetime, grasp: float
) -> Found:
    """What the sources found as one list, most relevant first. `now` tells what `yesterday` is, `grasp` how
    much of the question the embedder can read."""
    question = fusion.asked(query.text, now)
    candidates = fuse(found, grasp)
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


def dated(query: Query, now: datetime) -> Query:
    """With the days that it asks about, seen from now."""
    return replace(query, days=fusion.asked(query.text, now).stretches(now.year))


def left(until: float) -> float:
    """Seconds to a time of the loop; 0: it is past."""
    return max(0.0, until - asyncio.get_running_loop().time())


async def _legs(
    reaching: asyncio.Task[Reach], query: Query, embedding: asyncio.Task[Embedding | None]
) -> Legs:
    """One source's, as soon as it says how it stands."""
    reach = await asyncio.shield(reaching)
    return await reach.search(query, asyncio.shield(embedding))


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
