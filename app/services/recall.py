"""What is fetched for one message of a person: memories and reference texts, cards, votes, the last activity.

All of it beside each other, under one deadline (RAG_TIMEOUT_SECONDS); each part that fails or is late ends in
`degraded`, and the others are used. The votes alone wait for the search: they are asked of what it found.
Seconds. Source: seed 003 (3.1, 4.3), CONTRACT §2 (2-6).
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from app.domain.errors import RetrievalError
from app.domain.found import Found
from app.domain.memory import OUTSIDE, Cards, Memory, Moment, Tallies, Temporal, Votes
from app.domain.passage import Query, Scope
from app.domain.recall import CORPUS, MEMORIES, Drawn, retrieve_personal_memory
from app.domain.trace import Degraded
from app.services.retrieval import Retrieval

CANDIDATES = 24
"""Passages a leg of each source gives, at least: three times what is told of either by default, so that
what is left out afterwards leaves enough."""
FIRST_SHARE = 0.9
"""Part of the deadline that all but the votes have; the rest is theirs."""

T = TypeVar("T")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be fetched."""

    scope: Scope
    message: str
    threshold: float
    personal: int
    """Memories at most; 0: none are looked for."""
    corpus: int
    """Reference texts at most, likewise."""
    kinds: tuple[str, ...] = ()
    """Of the cards that are wanted."""


@dataclass(frozen=True, slots=True)
class Known:
    """What came of it."""

    found: Found
    drawn: Drawn = field(default_factory=Drawn)
    """The memories among it that may be told."""
    cards: Sequence[Memory] = ()
    tallies: Tallies | None = None
    """The user's votes on the memories that may be told; None: not known."""
    moment: Moment | None = None
    """When the user last said something; None: not known."""
    degraded: tuple[Degraded, ...] = ()
    """Of all parts."""


class Recall:
    """The parts that know a person."""

    def __init__(self, retrieval: Retrieval, cards: Cards, votes: Votes, temporal: Temporal) -> None:
        self._retrieval = retrieval
        self._cards = cards
        self._votes = votes
        self._temporal = temporal

    async def gather(self, wanted: Wanted) -> Known:
        """Everything. Raises nothing but on cancellation."""
        lost, seconds = list[Degraded](), self._retrieval.seconds
        until = asyncio.get_running_loop().time() + seconds
        first = until - seconds * (1 - FIRST_SHARE)
        async with asyncio.TaskGroup() as group:
            search = group.create_task(self._search(wanted, first))
            cards = group.create_task(self._hand(wanted, first, lost))
            moment = group.create_task(self.moment(wanted.scope, first, lost))
        found = search.result()
        # Many texts may be long, and each is looked through.
        drawn = await asyncio.to_thread(draw, wanted, found)
        tallies = await self._tallies(wanted.scope, drawn, until, lost)
        told = dict.fromkeys((*found.degraded, *lost))
        return Known(found, drawn, cards.result(), tallies, moment.result(), tuple(told))

    async def moment(self, scope: Scope, until: float, lost: list[Degraded]) -> Moment | None:
        """When the user last said something, if known by then (the loop's time); else a word in `lost`."""
        found = await timely("temporal", self._temporal.last(scope), until, lost)
        if found and found.lost:
            lost.append(Degraded(OUTSIDE, found.lost))
        return found

    async def _search(self, wanted: Wanted, until: float) -> Found:
        """The sources that are to give something."""
        counts = {MEMORIES: wanted.personal, CORPUS: wanted.corpus}
        names = [name for name, count in counts.items() if count]
        limit = max(CANDIDATES, *counts.values())
        query = Query(wanted.message, wanted.scope, limit=limit, threshold=wanted.threshold)
        return await self._retrieval.gather(query, names, until=until)

    async def _hand(self, wanted: Wanted, until: float, lost: list[Degraded]) -> Sequence[Memory]:
        """The user's cards of the kinds wanted."""
        if not wanted.kinds:
            return ()
        return await timely("cards", self._cards.cards(wanted.scope, wanted.kinds), until, lost) or ()

    async def _tallies(
        self, scope: Scope, drawn: Drawn, until: float, lost: list[Degraded]
    ) -> Tallies | None:
        """The votes on those memories."""
        ids = [item.passage.id for item in drawn.chosen]
        if not ids:
            return Tallies()
        tallies = await timely("votes", self._votes.tallies(scope, ids), until, lost)
        if tallies is not None and tallies.lost:
            lost.append(Degraded(OUTSIDE, tallies.lost))
        return tallies


def draw(wanted: Wanted, found: Found) -> Drawn:
    """The memories that may be told."""
    return retrieve_personal_memory(
        found.candidates, wanted.message, top_k=wanted.personal, threshold=wanted.threshold
    )


async def timely(name: str, work: Awaitable[T], until: float, lost: list[Degraded]) -> T | None:
    """What comes of it by then; else None, and a word in `lost`."""
    try:
        async with asyncio.timeout_at(until):
            return await work
    except TimeoutError:
        reason = "timeout"
    except RetrievalError as error:
        reason = error.reason
    log.warning("part failed", part=name, reason=reason)
    lost.append(Degraded(name, reason))
    return None
