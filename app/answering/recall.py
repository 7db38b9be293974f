"""Personal recall: memories, reference texts, cards, votes and the last activity of one person.

`Recall.gather` reads all of it concurrently under one deadline (RAG_TIMEOUT_SECONDS); a part that fails or is
late is listed in `degraded`, and the rest is used. Only the votes wait for the search, since they are read
for its results. Passages are chosen by relevance among the matches; boosts order the chosen ones and never
admit one below the threshold. Times are in seconds. Source: docs/contract.md.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from app.answering.budget import judged
from app.answering.question import Question
from app.db.memories import OUTSIDE, Memory, Moment, Tallies, Tally, Temporal, Votes
from app.retrieval.memories import MemorySource
from app.retrieval.ranking import (
    BOUND,
    Wants,
    content,
    corpus_tags,
    is_probe,
    is_test,
    score_corpus_hit,
    score_personal_hit,
    without_copies_of,
)
from app.retrieval.relevance import is_match
from app.retrieval.search import Retrieval
from app.retrieval.tags import decay, memory_tags
from app.tasks import deadline, timely
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
"""Default number of passages of each kind."""
CONSIDERED, TOLD = 8, 3
"""Most memories that are re-ranked, and that the model sees."""
MARKS, CLOSING = frozenset("?？"), "?？!！.。… \t\n\r"
"""Question marks, and characters that may end a text."""

RECENCY = "recency"
"""Name of the boost in a trace."""
RECENCY_HALF_LIFE_DAYS, RECENCY_BOUND = 30.0, 0.1
"""Of the recency boost. A change alters remixes of recorded answers: raise RANKING_VERSION."""


@dataclass(frozen=True, slots=True)
class Split:
    """Most passages per source. A source with 0 is not searched."""

    personal: int
    corpus: int


@dataclass(frozen=True, slots=True)
class Weighing:
    """A mix, resolved for one answer."""

    split: Split
    threshold: float
    """Similarity that a passage must exceed, unless lexical evidence suffices."""
    bias: float | None
    """Recency bias in [0, 1]; None: no recency boost (/rag/query)."""
    at: datetime
    """Time of the question, from which ages are counted, also in a later `remix`."""


def retrieve_personal_memory(
    found: Sequence[Candidate], message: str, *, top_k: int, threshold: float
) -> list[Candidate]:
    """The memories; the min(8, top_k) most relevant matches, before any boost, get no verdict. Excluded are
    texts that only test the service, unless the message is a test itself, and stored copies of the question,
    which are no answer. A statement may be asked for in its own words."""
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
) -> list[Candidate]:
    """The reference texts of all collections; the top_k best matches, boosted by tags that they share with
    the question, get no verdict. Copies of a memory in `told` are excluded: the memory can be voted on. Texts
    that no boost could raise into the top_k are not tagged, which takes time."""
    asked = corpus_tags(wanted)
    others, copies = without_copies_of(of(found, CORPUS), told)
    drawn = draw(others, threshold, len(others))
    matches = running(drawn)
    least = matches[top_k - 1].passage.score if 0 < top_k <= len(matches) else 0.0
    near = [item for item in matches if item.passage.score * (1 + BOUND) >= least]
    return [
        *top([score_corpus_hit(item, tags_of(item.passage) if asked else (), asked) for item in near], top_k),
        *judged(matches[len(near) :], Verdict.OVER_LIMIT),
        *(item for item in drawn if item.verdict),
        *judged(copies, Verdict.DUPLICATE),
    ]


def rerank_personal(
    drawn: Sequence[Candidate], tallies: Mapping[str, Tally], wants: Wants, *, keep: int
) -> list[Candidate]:
    """The memories without a verdict by relevance × boosts; only `keep` of them remain so."""
    hits = [
        score_personal_hit(item, tags_of(item.passage), tallies.get(item.passage.id, Tally()), wants)
        for item in running(drawn)
    ]
    return [*top(hits, keep), *(item for item in drawn if item.verdict)]


def draw(
    found: Sequence[Candidate],
    threshold: float,
    most: int,
    fits: Callable[[Candidate], bool] = lambda _: True,
) -> list[Candidate]:
    """The candidates (best first), of which the first `most` that match and fit get no verdict."""
    drawn: list[Candidate] = []
    left = most
    for item in found:
        verdict = None
        if not is_match(item, threshold):
            verdict = Verdict.BELOW_THRESHOLD
        elif not left:
            verdict = Verdict.OVER_LIMIT
        elif not fits(item):
            verdict = Verdict.SKIPPED
        else:
            left -= 1
        drawn.append(replace(item, verdict=verdict))
    return drawn


def running(candidates: Iterable[Candidate]) -> list[Candidate]:
    return [item for item in candidates if item.verdict is None]


def top(candidates: Sequence[Candidate], keep: int) -> list[Candidate]:
    """Best score first; all but `keep` are over the limit. Ties keep their order."""
    ranked = sorted(candidates, key=lambda item: -item.score)
    return [*ranked[:keep], *judged(ranked[keep:], Verdict.OVER_LIMIT)]


def resolve_mix(mix: Mix, top_k: int, *, threshold: float, at: datetime, personal: bool = True) -> Weighing:
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
    return Split(portion(mix.memory_cards, top_k), portion(mix.corpus, top_k))


def portion(weight: float, top_k: int) -> int:
    """In decimal arithmetic: 50 times 0.14 is 7, not 7.000000000000001 rounded up to 8."""
    return math.ceil(Fraction(repr(min(1.0, max(0.0, weight)))) * top_k)


def recency(at: datetime | None, now: datetime, bias: float | None) -> float:
    """A factor in [1, 1 + RECENCY_BOUND × bias]: the full bonus for a new text, half of it after
    RECENCY_HALF_LIFE_DAYS. 1 without a date or bias; a date in the future counts as now."""
    if at is None or not bias:
        return 1.0
    return 1 + RECENCY_BOUND * min(1.0, max(0.0, bias)) * decay(at, now, RECENCY_HALF_LIFE_DAYS)


def chosen(
    drawn: Sequence[Candidate],
    found: Sequence[Candidate],
    tallies: Mapping[str, Tally],
    wants: Wants,
    by: Weighing,
) -> list[Candidate]:
    """The memories and then the reference texts; those to show have no verdict. Recency is applied before the
    cut to k, so that a recent text is not cut before its boost counts."""
    most = min(TOLD, by.split.personal)
    if by.bias is None:
        memories = rerank_personal(drawn, tallies, wants, keep=most)
    else:
        memories = by_recency(rerank_personal(drawn, tallies, wants, keep=len(drawn)), by, keep=most)
    told = running(memories)
    wide = len(found) if by.bias else by.split.corpus
    corpus = unified_retrieve(found, wants.tags, top_k=wide, threshold=by.threshold, told=told)
    return [*memories, *(corpus if by.bias is None else by_recency(corpus, by, keep=by.split.corpus))]


def by_recency(drawn: Sequence[Candidate], by: Weighing, *, keep: int) -> list[Candidate]:
    fresh = [
        replace(item, boosts={**item.boosts, RECENCY: recency(item.passage.created_at, by.at, by.bias)})
        for item in running(drawn)
    ]
    return [*top(fresh, keep), *(item for item in drawn if item.verdict)]


def of(found: Sequence[Candidate], source: str) -> list[Candidate]:
    return [item for item in found if item.passage.source == source]


def asks(text: str) -> bool:
    return not MARKS.isdisjoint(text[len(text.rstrip(CLOSING)) :])


def bare(text: str) -> str:
    return content(text.rstrip(CLOSING))


def tags_of(passage: Passage) -> tuple[str, ...]:
    return memory_tags(passage.text, str(passage.fields.get("tags") or "").split(","))


CANDIDATES = 24
"""Least candidates of each retriever and source: three times the default number shown, so that enough remain
after exclusions."""
FIRST_SHARE = 0.9
"""Share of the deadline for all but the votes, which have the rest."""


@dataclass(frozen=True, slots=True)
class Recalled:
    found: Found
    drawn: Sequence[Candidate] = ()
    """The memories; those that may be shown have no verdict."""
    cards: Sequence[Memory] = ()
    tallies: Tallies | None = None
    """The user's votes on the memories that may be shown; None: unknown."""
    moment: Moment | None = None
    """When the user last sent a message; None: unknown."""
    degraded: tuple[Degraded, ...] = ()


class Recall:
    def __init__(self, retrieval: Retrieval, cards: MemorySource, votes: Votes, temporal: Temporal) -> None:
        self._retrieval = retrieval
        self._cards = cards
        self._votes = votes
        self._temporal = temporal

    @property
    def seconds(self) -> float:
        return self._retrieval.seconds

    async def gather(
        self,
        question: Question,
        by: Weighing,
        kinds: Sequence[str] = (),
        *,
        text: str = "",
        before: tuple[str, ...] = (),
        until: float | None = None,
    ) -> Recalled:
        """`kinds`: of the requested cards; `text`: the search text, if it is not the message; `before`: the
        user's earlier messages. Raises only on cancellation."""
        lost, seconds = list[Degraded](), self.seconds
        until = until or deadline(seconds)
        first = until - seconds * (1 - FIRST_SHARE)
        query = Query(text or question.message, question.scope, threshold=by.threshold, before=before)
        async with asyncio.TaskGroup() as group:
            search = group.create_task(self._search(query, by, first))
            cards = group.create_task(self._read_cards(question.scope, tuple(kinds), first, lost))
            moment = group.create_task(self.moment(question.scope, first, lost))
        found = search.result()
        # Many texts may be long, and each is scanned.
        drawn = await asyncio.to_thread(
            retrieve_personal_memory,
            found.candidates,
            question.message,
            top_k=by.split.personal,
            threshold=by.threshold,
        )
        tallies = await self._tallies(question.scope, drawn, until, lost)
        told = dict.fromkeys((*found.degraded, *lost))
        return Recalled(found, drawn, cards.result(), tallies, moment.result(), tuple(told))

    async def moment(self, scope: Scope, until: float, lost: list[Degraded]) -> Moment | None:
        """The user's last message, if known by `until` (the loop's time); else an entry in `lost`."""
        found = await timely("temporal", self._temporal.last(scope), until, lost)
        if found and found.lost:
            lost.append(Degraded(OUTSIDE, found.lost))
        return found

    async def _search(self, query: Query, by: Weighing, until: float) -> Found:
        counts = {MEMORIES: by.split.personal, CORPUS: by.split.corpus}
        names = [name for name, count in counts.items() if count]
        limit = max(CANDIDATES, *counts.values())
        return await self._retrieval.gather(replace(query, limit=limit), names, until=until)

    async def _read_cards(
        self, scope: Scope, kinds: tuple[str, ...], until: float, lost: list[Degraded]
    ) -> Sequence[Memory]:
        if not kinds:
            return ()
        return await timely("cards", self._cards.cards(scope, kinds), until, lost) or ()

    async def _tallies(
        self, scope: Scope, drawn: Sequence[Candidate], until: float, lost: list[Degraded]
    ) -> Tallies | None:
        ids = [item.passage.id for item in running(drawn)]
        if not ids:
            return Tallies()
        tallies = await timely("votes", self._votes.tallies(scope, ids), until, lost)
        if tallies is not None and tallies.lost:
            lost.append(Degraded(OUTSIDE, tallies.lost))
        return tallies
