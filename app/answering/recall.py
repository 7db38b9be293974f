"""Personal recall: memories, reference texts, cards, votes and the last activity of one person.

`Recall.gather` reads all of it concurrently under one deadline (RAG_TIMEOUT_SECONDS); what fails or is late
ends in `degraded`, and the rest is used. The votes alone wait for the search: they are read for what it
found. A passage is chosen by relevance among the matches; boosts order what was chosen and never let in
what the threshold kept out. Seconds. Source: docs/contract.md.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from itertools import chain
from typing import TypeVar

import structlog

from app.answering.budget import Budget, Meter, Selection, fit, noted
from app.answering.question import Question
from app.db.memories import OUTSIDE, Memory, Moment, Tallies, Tally, Temporal, Votes
from app.errors import RetrievalError
from app.retrieval.fusion import scored
from app.retrieval.memories import MemorySource
from app.retrieval.ranking import (
    BOUND,
    Boosted,
    Wants,
    apart,
    boosted,
    content,
    corpus_tags,
    is_probe,
    is_test,
    score_corpus_hit,
    score_personal_hit,
)
from app.retrieval.relevance import is_match
from app.retrieval.search import Retrieval
from app.retrieval.tags import decay, memory_tags
from app.types import (
    CORPUS,
    MEMORIES,
    Candidate,
    Degraded,
    Found,
    Passage,
    Query,
    Scope,
    Verdict,
)
from app.vantage.terms import Mix

TOP_K = 8
"""Passages of each kind where the question does not say."""
CONSIDERED, TOLD = 8, 3
"""Memories that are re-ranked, and that the model sees, at most."""
MARKS, CLOSING = frozenset("?？"), "?？!！.。… \t\n\r"
"""Of a question; and what a text may close with."""

RECENCY = "recency"
"""The boost's name in a ledger."""

Scores = Mapping[tuple[str, str], Boosted]
"""With their factors, by source and id of the passage."""


@dataclass(frozen=True, slots=True)
class Split:
    """k per source: passages at most. A source with 0 is not searched."""

    personal: int
    corpus: int


@dataclass(frozen=True, slots=True)
class Weighing:
    """A mix, resolved for one answer."""

    split: Split
    threshold: float
    """Similarity that a passage must exceed, unless a rare word vouches for it."""
    bias: float | None
    """Recency bias in [0, 1]; None: recency is no boost (/rag/query)."""
    at: datetime
    """When the question was asked; ages are counted from it, also in a later `remix`."""


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


def weighed(mix: Mix, top_k: int, *, threshold: float, at: datetime, personal: bool = True) -> Weighing:
    """`threshold`: RETRIEVE_THRESHOLD, for a mix without its own; `personal`: VANTAGE_PERSONAL_MEMORY."""
    shares = split(mix, top_k)
    own = mix.similarity_threshold
    return Weighing(
        shares if personal else replace(shares, personal=0),
        threshold if own is None else own,
        mix.recency_bias,
        at,
    )


def split(mix: Mix, top_k: int) -> Split:
    """k per source: top_k times its weight, rounded up; 0 stays 0."""
    return Split(share(mix.memory_cards, top_k), share(mix.corpus, top_k))


def share(weight: float, top_k: int) -> int:
    """In decimal arithmetic: 50 times 0.14 is 7, not 7.000000000000001 rounded up to 8."""
    return math.ceil(Fraction(repr(min(1.0, max(0.0, weight)))) * top_k)


def recency(at: datetime | None, now: datetime, bias: float | None) -> float:
    """A factor in [1, 1 + BOUND × bias]: the most for a new text, half the bonus after 30 days (`decay`).

    1 without a date or bias; a date in the future counts as now."""
    if at is None or not bias:
        return 1.0
    return 1 + BOUND * min(1.0, max(0.0, bias)) * decay(at, now)


def chosen(
    drawn: Drawn, found: Sequence[Candidate], tallies: Mapping[str, Tally], wants: Wants, by: Weighing
) -> tuple[Drawn, Drawn]:
    """The memories and the reference texts to show. With a bias, recency is applied before the cut to k, so
    that a recent text is not cut before its boost counts."""
    most = min(TOLD, by.split.personal)
    if by.bias is None:
        memories = rerank_personal(drawn, tallies, wants, keep=most)
    else:
        memories = by_recency(rerank_personal(drawn, tallies, wants, keep=len(drawn.chosen)), by, keep=most)
    wide = len(found) if by.bias else by.split.corpus
    corpus = unified_retrieve(found, wants.tags, top_k=wide, threshold=by.threshold, told=memories.chosen)
    return memories, corpus if by.bias is None else by_recency(corpus, by, keep=by.split.corpus)


def by_recency(drawn: Drawn, by: Weighing, *, keep: int) -> Drawn:
    """The chosen by score × recency, at most `keep`; ties keep their order."""
    fresh = {key(item.passage): recency(item.passage.created_at, by.at, by.bias) for item in drawn.chosen}
    scores = dict(drawn.boosts)
    for item in drawn.chosen:
        name = key(item.passage)
        before = scores.get(name, Boosted(item.passage.score, {}))
        scores[name] = boosted(item.passage.score, {**before.boosts, RECENCY: fresh[name]})
    ranked = sorted(drawn.chosen, key=lambda item: -scores[key(item.passage)].score)
    over = tuple((item, Verdict.OVER_LIMIT) for item in ranked[keep:])
    return replace(drawn, chosen=tuple(ranked[:keep]), left=(*over, *drawn.left), boosts=scores)


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
    entries = tuple(
        noted(item, verdict, boosts.get(key(item.passage)), relevance=item.passage.score)
        for item, verdict in told
    )
    return Selection(tuple(rescored(item.passage, boosts) for item in packed), entries, short=False)


def judged(items: Sequence[Candidate], verdict: Verdict) -> list[tuple[Candidate, Verdict]]:
    """Each with what became of it."""
    return [(item, verdict) for item in items]


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
    """True if it ends as a question does."""
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
class Recalled:
    """What was read for one question of a person."""

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

    def __init__(self, retrieval: Retrieval, cards: MemorySource, votes: Votes, temporal: Temporal) -> None:
        self._retrieval = retrieval
        self._cards = cards
        self._votes = votes
        self._temporal = temporal

    async def gather(self, question: Question, by: Weighing, kinds: Sequence[str] = ()) -> Recalled:
        """Read everything; `kinds`: of the cards that are wanted. Raises nothing but on cancellation."""
        lost, seconds = list[Degraded](), self._retrieval.seconds
        until = deadline(seconds)
        first = until - seconds * (1 - FIRST_SHARE)
        async with asyncio.TaskGroup() as group:
            search = group.create_task(self._search(question, by, first))
            cards = group.create_task(self._read_cards(question.scope, tuple(kinds), first, lost))
            moment = group.create_task(self.moment(question.scope, first, lost))
        found = search.result()
        # Many texts may be long, and each is looked through.
        drawn = await asyncio.to_thread(draw_memories, question.message, by, found)
        tallies = await self._tallies(question.scope, drawn, until, lost)
        told = dict.fromkeys((*found.degraded, *lost))
        return Recalled(found, drawn, cards.result(), tallies, moment.result(), tuple(told))

    async def moment(self, scope: Scope, until: float, lost: list[Degraded]) -> Moment | None:
        """When the user last said something, if known by then (the loop's time); else a word in `lost`."""
        found = await timely("temporal", self._temporal.last(scope), until, lost)
        if found and found.lost:
            lost.append(Degraded(OUTSIDE, found.lost))
        return found

    async def _search(self, question: Question, by: Weighing, until: float) -> Found:
        """Search the sources that are to give something."""
        counts = {MEMORIES: by.split.personal, CORPUS: by.split.corpus}
        names = [name for name, count in counts.items() if count]
        limit = max(CANDIDATES, *counts.values())
        query = Query(question.message, question.scope, limit=limit, threshold=by.threshold)
        return await self._retrieval.gather(query, names, until=until)

    async def _read_cards(
        self, scope: Scope, kinds: tuple[str, ...], until: float, lost: list[Degraded]
    ) -> Sequence[Memory]:
        if not kinds:
            return ()
        return await timely("cards", self._cards.cards(scope, kinds), until, lost) or ()

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


def draw_memories(message: str, by: Weighing, found: Found) -> Drawn:
    """The memories among what was found that may be told."""
    return retrieve_personal_memory(
        found.candidates, message, top_k=by.split.personal, threshold=by.threshold
    )


def deadline(seconds: float) -> float:
    """The time of the loop in so many seconds."""
    return asyncio.get_running_loop().time() + seconds


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
