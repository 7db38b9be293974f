"""Both legs of a collection of points in one round trip, each leg's passages scored exactly by the other too.

Word scores are BM25, meaning's are similarities above the space's floor. Points without text, and those that
are barred, are left out. Raises `RetrievalError` as the engine does.
"""

import base64
import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from app.clients.points import Ask, Point, Points, Sparse, Where
from app.clients.points import Collection as Shape
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding, Hit, Legs, Passage, Query
from app.domain.space import Space, similarity
from app.index import payload
from app.index.meaning import computed
from app.index.search import LETTER
from app.index.sparse import Stock, stock
from app.index.sparse import question as worded_question

WIDE = 100
"""Word hits that are looked at, at least: neighbours speak for each other, and IDFs are read off them
(`sparse.frequencies`). 200 found nothing more."""
SHORT, LONGER = 8, 16
"""Characters of a label's id: 40 bits; 80 where two would look alike."""

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
    words = meaning = None
    if worded(shape) and question.words.indices:
        words = Ask(where, wide, words=question.words, vectors=True)
    if question.vector is not None:
        meaning = Ask(where, wide if few else question.limit + len(barred), dense=question.vector)
    asks = [ask for ask in (words, meaning) if ask]
    if words and meaning and not few:
        asks += [
            Ask(where, wide, dense=question.vector, among=words, payload=False),
            Ask(where, meaning.limit, words=question.words, among=meaning, payload=False, vectors=True),
        ]
    found = iter(await points.search(shape.name, asks) if asks else [])
    by_words, by_meaning = (next(found) if ask else [] for ask in (words, meaning))
    alike, also = next(found, []), next(found, [])
    held = stock(question.words, by_words, passages, whole=len(by_words) < wide)
    return seen(question, held, (by_words, also), (by_meaning, alike), barred)


def seen(
    question: Question,
    held: Stock,
    by_words: tuple[Sequence[Point], Sequence[Point]],
    by_meaning: tuple[Sequence[Point], Sequence[Point]],
    barred: Collection[str],
) -> Seen:
    """What the engine gave, put together; of each pair the first has payloads."""
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
    return Legs(source, words, near, make(short(source, chosen)), beside=beside)


def voiced(key: str, score: float, own: Hit | None) -> Hit:
    """A passage with its score; what it covers is its own, whoever speaks for it."""
    return Hit(key, score, own.coverage, own.rare) if own else Hit(key, score)


def ranked(hits: Iterable[Hit], limit: int) -> tuple[Hit, ...]:
    """A leg."""
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.key))[:limit])


def short(source: str, keys: Iterable[str]) -> dict[str, str]:
    """Each id as its label shows it: always the same, and no two alike."""
    digests = {key: digest(f"{source}\x1f{key}") for key in keys}
    taken: dict[str, int] = {}
    for found in digests.values():
        taken[found[:SHORT]] = taken.get(found[:SHORT], 0) + 1
    return {key: found[: SHORT if taken[found[:SHORT]] == 1 else LONGER] for key, found in digests.items()}


def digest(text: str) -> str:
    """80 bits as 16 small letters and digits."""
    found = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).digest()
    return base64.b32hexencode(found).decode().lower()
