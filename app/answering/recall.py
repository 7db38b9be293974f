"""What of the found is told: the asker's memories, boosted and cut to three, then reference texts; and the
ledger of how.

A passage is chosen by relevance among the matches; boosts order what was chosen, and never let in what the
threshold kept out. Times are not read here. Source: docs/contract.md.

What is fetched for one message of a person: memories and reference texts, cards, votes, the last activity.

All of it beside each other, under one deadline (RAG_TIMEOUT_SECONDS); each part that fails or is late ends in
`degraded`, and the others are used. The votes alone wait for the search: they are asked of what it found.
Seconds. Source: docs/contract.md.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

import structlog

from app.answering.budget import Budget, Meter, Selection, digest, fit
from app.db.memories import OUTSIDE, Cards, Memory, Moment, Tallies, Tally, Temporal, Votes
from app.errors import RetrievalError
from app.retrieval.fusion import scored
from app.retrieval.ranking import (
    BOUND,
    Boosted,
    Wants,
    apart,
    content,
    corpus_tags,
    is_probe,
    is_test,
    score_corpus_hit,
    score_personal_hit,
)
from app.retrieval.relevance import by_words, is_match
from app.retrieval.search import Retrieval
from app.retrieval.tags import memory_tags
from app.types import Candidate, Degraded, Entry, Found, Passage, Query, Scope, Verdict

MEMORIES, CORPUS = "memories", "corpus"
"""`Passage.source` of both."""
CONSIDERED, TOLD = 8, 3
"""Memories that are re-ranked, and that the model sees, at most."""
MARKS, CLOSING = frozenset("?？"), "?？!！.。… \t\n\r"
"""Of a question; and what a text may close with."""

Scores = Mapping[tuple[str, str], Boosted]
"""With their factors, by source and id of the passage."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Candidates of one source: those chosen, best first, and what became of the others."""

    chosen: tuple[Candidate, ...] = ()
    left: tuple[tuple[Candidate, Verdict], ...] = ()
    boosts: Scores = field(default_factory=dict)
    """Of those chosen; nothing: not boosted (yet)."""


def retrieve_personal_memory(
    found: Sequence[Candidate], message: str, *, top_k: int, threshold: float
) -> Drawn:
    """The most relevant memories that match, min(8, top_k): by relevance, before any boost. Texts that only
    probe the service are none of them, unless the message is itself a test; nor is the question itself, kept
    when it was asked before: it is no answer. A statement may be asked for in its own words."""
    tests = is_test(message)
    words = bare(message)

    def fits(item: Candidate) -> bool:
        text = item.passage.text
        return not (asks(text) and bare(text) == words) and (tests or not is_probe(text))

    return draw(of(found, MEMORIES), threshold, min(CONSIDERED, top_k), fits)


def unified_retrieve(
    found: Sequence[Candidate],
    wanted: Sequence[str],
    *,
    top_k: int,
    threshold: float,
    told: Sequence[Candidate] = (),
) -> Drawn:
    """The reference texts of all collections that match, boosted by the tags of the question that they have;
    one global top_k. A copy of a memory that is `told` is none of them: the memory can be voted on. What no
    boost could bring in is not looked at for tags: a long list costs time."""
    asked = corpus_tags(wanted)

    def boost(passage: Passage) -> Boosted:
        return score_corpus_hit(passage.score, tags_of(passage) if asked else (), asked)

    others, copies = apart(of(found, CORPUS), told)
    matches = draw(others, threshold, len(others))
    least = matches.chosen[top_k - 1].passage.score if 0 < top_k <= len(matches.chosen) else 0.0
    near = [item for item in matches.chosen if item.passage.score * (1 + BOUND) >= least]
    far = tuple((item, Verdict.OVER_LIMIT) for item in matches.chosen[len(near) :])
    same = tuple((item, Verdict.DUPLICATE) for item in copies)
    return rerank(Drawn(tuple(near), (*far, *matches.left, *same)), boost, keep=top_k)


def rerank_personal(drawn: Drawn, tallies: Mapping[str, Tally], wants: Wants, *, keep: int) -> Drawn:
    """The chosen memories by relevance × boosts, at most `keep` of them."""

    def boost(passage: Passage) -> Boosted:
        tally = tallies.get(passage.id, Tally())
        return score_personal_hit(passage.score, tags_of(passage), tally, wants)

    return rerank(drawn, boost, keep=keep)


def draw(
    found: Sequence[Candidate],
    threshold: float,
    most: int,
    fits: Callable[[Candidate], bool] = lambda _: True,
) -> Drawn:
    """The first `most` that match and fit; give the best first."""
    chosen: list[Candidate] = []
    left: list[tuple[Candidate, Verdict]] = []
    for item in found:
        if not is_match(item, threshold):
            left.append((item, Verdict.BELOW_THRESHOLD))
        elif len(chosen) >= most:
            left.append((item, Verdict.OVER_LIMIT))
        elif not fits(item):
            left.append((item, Verdict.SKIPPED))
        else:
            chosen.append(item)
    return Drawn(tuple(chosen), tuple(left))


def rerank(drawn: Drawn, boost: Callable[[Passage], Boosted], *, keep: int) -> Drawn:
    """The chosen by their boosted scores, at most `keep`; equal ones in the order of their relevance."""
    boosts = {key(item.passage): boost(item.passage) for item in drawn.chosen}
    ranked = sorted(drawn.chosen, key=lambda item: -boosts[key(item.passage)].score)
    over = tuple((item, Verdict.OVER_LIMIT) for item in ranked[keep:])
    return Drawn(tuple(ranked[:keep]), (*over, *drawn.left), boosts)


def pack(
    drawn: Sequence[Drawn], duplicates: Sequence[Candidate], *, budget: Budget, meter: Meter
) -> Selection:
    """What fits, in the order given, and the ledger of every candidate."""
    chosen = list(chain.from_iterable(one.chosen for one in drawn))
    packed, over = fit(chosen, meter.line, budget, meter.head())
    boosts = {name: boosted for one in drawn for name, boosted in one.boosts.items()}
    rest = chain.from_iterable(one.left for one in drawn)
    told = (
        *judged(packed, Verdict.PACKED),
        *judged(over, Verdict.OVER_BUDGET),
        *sorted(rest, key=lambda pair: -pair[0].passage.score),
        *judged(duplicates, Verdict.DUPLICATE),
    )
    entries = tuple(entry(item, verdict, boosts.get(key(item.passage))) for item, verdict in told)
    return Selection(tuple(rescored(item.passage, boosts) for item in packed), entries, short=False)


def judged(items: Sequence[Candidate], verdict: Verdict) -> list[tuple[Candidate, Verdict]]:
    """Each with what became of it."""
    return [(item, verdict) for item in items]


def entry(item: Candidate, verdict: Verdict, boosted: Boosted | None) -> Entry:
    """A candidate's line in the ledger; one that was not boosted has no factors."""
    passage = item.passage
    return Entry(
        source=passage.source,
        id=passage.id,
        label=passage.label,
        similarity=passage.similarity,
        score=boosted.score if boosted else passage.score,
        verdict=verdict,
        boosts=dict(boosted.boosts) if boosted else {},
        sha256=digest(passage.text),
        relevance=passage.score,
        created_at=passage.created_at,
        vouched=by_words(item),
    )


def rescored(passage: Passage, boosts: Scores) -> Passage:
    """A passage with its boosted score."""
    boosted = boosts.get(key(passage))
    return scored(passage, boosted.score) if boosted else passage


def key(passage: Passage) -> tuple[str, str]:
    """Which one it is: ids are a source's own."""
    return passage.source, passage.id


def of(found: Sequence[Candidate], source: str) -> list[Candidate]:
    """Those of one source."""
    return [item for item in found if item.passage.source == source]


def asks(text: str) -> bool:
    """Whether it ends as a question does."""
    return not MARKS.isdisjoint(text[len(text.rstrip(CLOSING)) :])


def bare(text: str) -> str:
    """Its content without the marks at its end."""
    return content(text.rstrip(CLOSING))


def tags_of(passage: Passage) -> tuple[str, ...]:
    """A passage's tags: those it was written with, and those of its words."""
    return memory_tags(passage.text, str(passage.fields.get("tags") or "").split(","))


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
        drawn = await asyncio.to_thread(draw_memories, wanted, found)
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


def draw_memories(wanted: Wanted, found: Found) -> Drawn:
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
