"""Word scores that hang on nothing but the asker's own points.

Engines sum a point's words in the order in which they happened to meet them first, in anybody's text, and
float32 sums of another order differ in the last bit: enough to tell that somebody else wrote something, and
to turn an order round. So the sums are made here, in the words' own order. The IDFs for them are counted
where a list was not cut off (it then holds every point with one of the words); else each word is asked for by
itself: the best point's score by one word alone is one product. Pure. IDF as Qdrant has it:
ln((N + 1) / (df + .5)).
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from app.clients.points import Ask, Point, Sparse, Where

TERMS = 64
"""Words of a question that are asked for one by one; a longer one's scores stay the engine's."""
Reach: TypeAlias = tuple[Where, tuple[int, ...]]
"""A scope and the words asked in it: they have the same IDFs in every leg."""
Idf: TypeAlias = Mapping[int, float]


def seeing(asks: Sequence[Ask]) -> list[Ask]:
    """The asks, with word vectors given back."""
    return [replace(ask, vectors=True) if reach(ask) else ask for ask in asks]


def reach(ask: Ask) -> Reach | None:
    """Where and for which words IDFs are needed; None: the scores are the engine's."""
    terms = ask.words.indices if ask.words else ()
    return (ask.where, terms) if 0 < len(terms) <= TERMS else None


def probes(asks: Sequence[Ask], known: Mapping[Reach, Idf]) -> list[Ask]:
    """The best point by each word alone, where the words cannot be counted."""
    lacking = dict.fromkeys(each for ask in asks for each in [reach(ask)] if each and each not in known)
    return [
        Ask(where, 1, words=Sparse((term,), (1.0,)), payload=False, vectors=True)
        for where, terms in lacking
        for term in terms
    ]


def counted(asks: Sequence[Ask], found: Sequence[Sequence[Point]]) -> dict[Reach, Idf]:
    """The IDFs that whole lists tell."""
    whole = (
        (ask, row) for ask, row in zip(asks, found, strict=True) if not ask.among and len(row) < ask.limit
    )
    return {each: idfs(ask.words, row) for ask, row in whole if (each := reach(ask)) and ask.words}


def idfs(words: Sparse, row: Sequence[Point]) -> Idf:
    """Of every point that holds one of the words; how many others there are, one score tells."""
    if not row:
        return {}
    frequency = Counter(term for point in row for term in held(point))
    shares = [(weight * own, term) for term, weight, own in shared(words, row[0])]
    logs = sum(share * math.log(frequency[term] + 0.5) for share, term in shares)
    passages = round(math.exp((row[0].score + logs) / sum(share for share, _ in shares))) - 1
    return {term: math.log((max(passages, len(row)) + 1) / (frequency[term] + 0.5)) for term in words.indices}


def probed(asked: Sequence[Ask], told: Sequence[Sequence[Point]]) -> dict[tuple[Where, int], float]:
    """The IDFs that probes tell: a score is the IDF times the point's own weight."""
    return {
        (ask.where, ask.words.indices[0]): row[0].score / own
        for ask, row in zip(asked, told, strict=True)
        if row and ask.words and (own := held(row[0]).get(ask.words.indices[0]))
    }


def weighed(
    asks: Sequence[Ask],
    found: Sequence[Sequence[Point]],
    known: Mapping[Reach, Idf],
    told: Sequence[Sequence[Point]],
) -> list[list[Point]]:
    """The asks' lists, with the scores as they should be; still in the engine's order. `known` is `counted`,
    `told` answers `probes`."""
    alone = probed(probes(asks, known), told)
    rows = []
    for ask, row in zip(asks, found, strict=True):
        if (each := reach(ask)) is None:
            rows.append(list(row))
            continue
        idf = known.get(each) or {term: alone.get((ask.where, term), 0.0) for term in each[1]}
        rows.append([exact(ask, point, idf) for point in row])
    return rows


def exact(ask: Ask, point: Point, idf: Idf) -> Point:
    """A point with its sum."""
    score = sum(weight * own * idf[term] for term, weight, own in shared(ask.words or Sparse(), point))
    return Point(point.id, point.payload, point.dense, point.words if ask.vectors else None, score)


def shared(words: Sparse, point: Point) -> list[tuple[int, float, float]]:
    """The words that a point holds, in order: each with the question's weight and the point's."""
    own = held(point)
    return [
        (term, weight, own[term])
        for term, weight in zip(words.indices, words.values, strict=True)
        if term in own
    ]


def held(point: Point) -> Mapping[int, float]:
    """A point's words and their weights."""
    return dict(zip(point.words.indices, point.words.values, strict=True)) if point.words else {}
