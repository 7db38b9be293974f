"""Both legs of a collection of points in one round trip, each leg's passages scored exactly by the other too.

Word scores are BM25, meaning's are similarities above the space's floor. Points without text, and those that
are barred, are left out. Raises `RetrievalError` as the engine does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import structlog

from app.clients.points import Ask, Point, Points, Sparse, Where
from app.clients.points import Collection as Shape
from app.clients.weights import TERMS, chosen, reckoned
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding, Hit, Legs, Passage, Query
from app.domain.space import Space, similarity
from app.domain.stopwatch import BOTH, TEXTS, WEIGHING, stage
from app.index import payload
from app.index.mark import short
from app.index.meaning import computed
from app.index.search import LETTER
from app.index.sparse import Stock, stock
from app.index.sparse import question as worded_question

WIDE = 100
"""Word hits that are looked at, at least: neighbours speak for each other, and IDFs are read off them
(`sparse.frequencies`). 200 found nothing more."""

Search: TypeAlias = Callable[[Sequence[Ask]], Awaitable[list[list[Point]]]]
"""Of one collection."""
Pair: TypeAlias = tuple[Sequence[Point], Sequence[Point]]
"""What a leg found, with payloads, and how it scores what the other found."""
Pairs: TypeAlias = tuple[Pair, Pair]
"""By words, by meaning."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of each collection."""

    words: Sparse
    vector: Embedding | None
    limit: int
    """Passages a leg."""
    floor: float
    """Of the space."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)
    """To weigh what a collection found: eight that answer at once would hold up everybody else's request."""


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
    textless: int = 0
    """Points passed over for want of a text."""


async def asked(query: Query, vector: Embedding | None, space: Space) -> Question:
    """A query as collections are asked; a vector of another space is no vector."""
    if vector is not None and len(vector) != 4 * space.dim:
        log.error("the query's vector is of another space", space=space.name)
        raise RetrievalError("embedding")
    words = await computed(LETTER * len(query.text), worded_question, query.text)
    return Question(words, vector, query.limit, space.floor)


def worded(shape: Shape) -> bool:
    """Whether its word vectors are of our making: another's terms are not ours."""
    return shape.words == "words" and shape.dense == "meaning"


async def look(
    points: Points,
    shape: Shape,
    where: Where,
    question: Question,
    *,
    passages: int,
    barred: Collection[str] = (),
) -> Seen:
    """The collection's passages for a question; `passages` are in reach, `barred` ids may not be told."""
    wide = max(WIDE, 2 * question.limit) + len(barred)
    few = passages <= wide  # then both legs see everything, and none needs the other's to be scored
    if not worded(shape):
        question = replace(question, words=Sparse())
    search = partial(reaching, points, shape.name, passages)
    every = await at_once(search, where, question, passages) if few else None
    if every is not None:
        return await in_turn(question, every, partial(counted, question, every, barred))
    question = await shortened(search, where, question, wide)
    found = await apart(search, where, question, wide, wide if few else question.limit + len(barred))
    (by_words, also), _ = found
    whole = few or len(by_words) < wide
    work = partial(scored, question, found, passages, barred, whole=whole)
    return await in_turn(question, [*by_words, *also], work)


async def in_turn(question: Question, found: Iterable[Point], work: Callable[[], Seen]) -> Seen:
    """One collection's after the other's, the loop free in between; where there is much, in a thread."""
    async with question.turn:
        with stage(WEIGHING):
            seen = await computed(effort(question, found), work)
        await asyncio.sleep(0)
    return seen


def effort(question: Question, found: Iterable[Point]) -> int:
    """What it takes to weigh these points' words, in `computed`'s passages: about a word each."""
    return len(question.words.indices) + sum(len(point.words.indices) for point in found if point.words)


async def reaching(points: Points, name: str, passages: int, asks: Sequence[Ask]) -> list[list[Point]]:
    """Ask, and tell how many points are in reach."""
    with stage(BOTH):
        return await points.search(name, [known(ask, passages) for ask in asks])


def known(ask: Ask, passages: int) -> Ask:
    """With their number, also in what it ranks among."""
    return replace(ask, passages=passages, among=known(ask.among, passages) if ask.among else None)


async def at_once(search: Search, where: Where, question: Question, passages: int) -> list[Point] | None:
    """Few passages by one ask: meaning tells them all, with their words. None: one leg is enough, or it does
    not see them all (somebody writes meanwhile, or a point has no vector)."""
    if question.vector is None or not question.words.indices:
        return None
    [found] = await search([Ask(where, passages + 1, dense=question.vector, vectors=True)])
    return found if len(found) == passages else None


async def shortened(search: Search, where: Where, question: Question, near: int) -> Question:
    """A long question by those of its words that the passages nearest in meaning hold, the rarest first;
    without a vector, by some: each word has its price, and what decides must be the asker's own."""
    if len(question.words.indices) <= TERMS:
        return question
    found: list[Point] = []
    if question.vector is not None:
        [found] = await search([Ask(where, near, dense=question.vector, payload=False, vectors=True)])
    return replace(question, words=await computed(effort(question, found), chosen, question.words, found))


async def apart(search: Search, where: Where, question: Question, wide: int, near: int) -> Pairs:
    """By an ask a leg, `wide` and `near` long, and what each found as the other scores it, if both ask."""
    words = meaning = None
    if question.words.indices:
        words = Ask(where, wide, words=question.words, vectors=True)
    if question.vector is not None:
        meaning = Ask(where, near, dense=question.vector)
    asks = list(filter(None, (words, meaning)))
    if words and meaning:
        asks += [
            replace(meaning, limit=wide, among=words, payload=False),
            replace(words, limit=near, among=meaning, payload=False),
        ]
    found = iter(await search(asks) if asks else ())
    by_words, by_meaning = (next(found) if ask else [] for ask in (words, meaning))
    alike, also = next(found, []), next(found, [])
    return (by_words, also), (by_meaning, alike)


def counted(question: Question, every: Sequence[Point], barred: Collection[str]) -> Seen:
    """All that is in reach, its words weighed here."""
    question = replace(question, words=chosen(question.words, every))
    by_words = reckoned(question.words, every)
    return scored(question, ((by_words, ()), (every, ())), len(every), barred, whole=True)


def scored(question: Question, found: Pairs, passages: int, barred: Collection[str], *, whole: bool) -> Seen:
    """What the legs found; `whole`: the word leg was not cut off."""
    (by_words, _), _ = found
    return seen(question, stock(question.words, by_words, passages, whole=whole), *found, barred)


def seen(question: Question, held: Stock, by_words: Pair, by_meaning: Pair, barred: Collection[str]) -> Seen:
    """What the engine gave, put together."""
    known = {point.id: point for point in (*by_words[0], *by_meaning[0]) if point.id not in barred}
    told = {key: point for key, point in known.items() if payload.text(point.payload)}
    return Seen(
        points=told,
        hits={
            point.id: sight(point, held) for leg in reversed(by_words) for point in leg if point.id in told
        },
        similarities={
            point.id: similarity(point.score, question.floor)
            for leg in reversed(by_meaning)
            for point in leg
            if point.id in told
        },
        nearest=tuple(point.id for point in by_meaning[0] if point.id in told)[: question.limit],
        textless=len(known) - len(told),
    )


def sight(point: Point, held: Stock) -> Hit:
    """How words see a point."""
    holds = held.held(point.words or Sparse())
    return Hit(point.id, point.score, holds.coverage, holds.rare)


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
    chosen = sorted(leading.union(each.key for each in near))
    beside = {key: hits[key] for key in chosen if key in hits and key not in leading}
    with stage(TEXTS):
        passages = make(short(source, chosen))
    return Legs(source, words, near, passages, beside=beside)


def voiced(key: str, score: float, own: Hit | None) -> Hit:
    """A passage with its score; what it covers is its own, whoever speaks for it."""
    if own is None:
        return Hit(key, score, lent=score)
    return own if own.score == score else Hit(key, score, own.coverage, own.rare, score - own.score)


def ranked(hits: Iterable[Hit], limit: int) -> tuple[Hit, ...]:
    """A leg."""
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.key))[:limit])
