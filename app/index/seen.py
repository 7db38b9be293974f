"""What an engine gave for a question, put together: both legs, each passage scored by words and by meaning,
and passages of the days that are asked about, which neither leg need have found.

Points without text, and those that are barred, are left out. Pure; nothing here raises.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.clients.points import Point, Sparse, Where
from app.clients.weights import chosen, reckoned
from app.domain.passage import Embedding, Hit, Legs, Passage
from app.domain.space import similarity
from app.domain.stopwatch import TEXTS, stage
from app.index import payload
from app.index.mark import short
from app.index.sparse import Stock, stock
from app.retrieval.content import Content

DATED = 20
"""Passages of the days asked about."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of each collection."""

    words: Sparse
    vector: Embedding | None
    limit: int
    """Passages a leg."""
    floor: float
    """Of the space."""
    dated: Where | None = None
    """The points in reach that are of the days asked about; None: no days are asked about."""
    content: Content | None = None
    """The query's, by terms as the engine holds them; None: it was embedded."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)
    """To weigh what a collection found: eight that answer at once would hold up everybody else's request."""


@dataclass(frozen=True, slots=True)
class Given:
    """What the engine gave: each list best first."""

    words: Sequence[Point] = ()
    meaning: Sequence[Point] = ()
    dated: Sequence[Point] = ()
    """Those of the days asked about that are nearest in meaning."""
    worded: Sequence[Point] = ()
    """As words score what meaning found, and the dated; without payloads."""
    meant: Sequence[Point] = ()
    """As meaning scores what words found; without payloads."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One collection's answer."""

    points: Mapping[str, Point] = field(default_factory=dict)
    """With their payloads, by id."""
    hits: Mapping[str, Hit] = field(default_factory=dict)
    """How words see them; those without a word of the question are left out."""
    similarities: Mapping[str, float] = field(default_factory=dict)
    nearest: tuple[str, ...] = ()
    """The meaning leg: ids, nearest first."""
    dated: Mapping[str, Hit | None] = field(default_factory=dict)
    """Those of the days asked about, and how words see them; None: they hold none."""
    lone: frozenset[str] = frozenset()
    """Those of them that neither leg found."""
    textless: int = 0
    """Points passed over for want of a text."""


def counted(question: Question, every: Sequence[Point], barred: Collection[str]) -> Seen:
    """All that is in reach, its words weighed here."""
    question = replace(question, words=chosen(question.words, every))
    by_words = reckoned(question.words, every)
    return scored(question, Given(by_words, every), len(every), barred, whole=True)


def scored(question: Question, found: Given, passages: int, barred: Collection[str], *, whole: bool) -> Seen:
    """What the legs found; `whole`: the word leg was not cut off."""
    held = stock(question.words, found.words, passages, whole=whole, told=question.content)
    return seen(question, held, found, barred)


def seen(question: Question, held: Stock, found: Given, barred: Collection[str]) -> Seen:
    """The same, by the IDFs in `held`."""
    of_days = [point for point in found.dated if point.id not in barred][:DATED]
    every = (*of_days, *found.words, *found.meaning)
    known = {point.id: point for point in every if point.id not in barred}
    told = {key: point for key, point in known.items() if payload.text(point.payload)}
    by_words = (*found.worded, *found.words)  # a leg's own score is the last, and counts
    by_meaning = (*found.meant, *of_days, *found.meaning)
    hits = {point.id: sight(point, held) for point in by_words if point.id in told}
    legs = frozenset(point.id for point in (*found.words, *found.meaning))
    return Seen(
        points=told,
        hits={key: hit for key, hit in hits.items() if key in legs},
        similarities={
            point.id: similarity(point.score, question.floor) for point in by_meaning if point.id in told
        },
        nearest=tuple(point.id for point in found.meaning if point.id in told)[: question.limit],
        dated={point.id: hits.get(point.id) for point in of_days if point.id in told},
        lone=frozenset(told.keys() - legs),
        textless=len(known) - len(told),
    )


def sight(point: Point, held: Stock) -> Hit:
    """How words see a point."""
    holds = held.held(point.words or Sparse())
    return Hit(point.id, point.score, holds.coverage, holds.rare, content=holds.content)


def assembled(
    source: str,
    seen: Seen,
    scores: Mapping[str, float],
    make: Callable[[Mapping[str, str]], Mapping[str, Passage]],
    *,
    limit: int,
) -> Legs:
    """The legs over all that was seen, by these word scores, ties by id; `make` is given the chosen ids, each
    with its short form."""
    hits = {key: voiced(key, score, seen.hits.get(key)) for key, score in scores.items() if score > 0}
    words = ranked(hits.values(), limit)
    near = ranked((Hit(key, seen.similarities[key]) for key in seen.nearest), limit)
    leading = {each.key for each in words}
    chosen = leading.union(each.key for each in near)
    beside = {key: hits[key] for key in chosen if key in hits and key not in leading}
    dated = {key: hits.get(key, hit) for key, hit in seen.dated.items() if key not in chosen}
    with stage(TEXTS):
        passages = make(short(source, sorted(chosen.union(dated))))
    told = {key: hit for key, hit in dated.items() if hit}
    return Legs(source, words, near, passages, beside=beside, dated=told)


def voiced(key: str, score: float, own: Hit | None) -> Hit:
    """A passage with its score; what it covers is its own, whoever speaks for it."""
    if own is None:
        return Hit(key, score, lent=score)
    if own.score == score:
        return own
    return Hit(key, score, own.coverage, own.rare, score - own.score, own.content)


def ranked(hits: Iterable[Hit], limit: int) -> tuple[Hit, ...]:
    """A leg."""
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.key))[:limit])
