"""Word scores that hang on nothing but the asker's own points.

Engines sum a point's words in the order in which they happened to meet them first, in anybody's text, and
float32 sums of another order differ in the last bit: enough to tell that somebody else wrote something, and
to turn an order round. So the sums are made here, in the words' own order. The IDFs for them are counted
where a list was not cut off (it then holds every point with one of the words); else each word is asked for by
itself: the best point's score by one word alone is one product. Where every point in reach is at hand
(`reckoned`), the engine need not be asked by words at all. Pure. IDF as Qdrant has it:
ln((N + 1) / (df + .5)), N the points that have words.
"""

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from app.clients.points import Ask, Point, Sparse, Where

TERMS = 256
"""Words of a question that score at all (`chosen`): a search asks for each by itself, .15 ms of a thread."""
Reach: TypeAlias = tuple[Where, tuple[int, ...]]
"""A scope and the words asked in it: they have the same IDFs in every leg."""
Word: TypeAlias = tuple[Where, int]
"""One word in a scope."""
Idf: TypeAlias = Mapping[int, float]
Weights: TypeAlias = Mapping[int, float]
"""A question's, by term: made once, looked up for every point."""
Pack: TypeAlias = tuple["array[int]", "array[float]"]
"""A point's terms, ascending, and their weights: `I` and `f`."""
Share: TypeAlias = tuple[int, float, float]
"""A word that a point holds of a question: the term, the question's weight of it, the point's own."""


def seeing(asks: Sequence[Ask]) -> list[Ask]:
    """The asks, with word vectors given back."""
    return [replace(ask, vectors=True) if reach(ask) else ask for ask in asks]


def reach(ask: Ask) -> Reach | None:
    """Where and for which words IDFs are needed, however many; None: it does not ask by words."""
    terms = tuple(ask.words.indices) if ask.words else ()
    return (ask.where, terms) if terms else None


def word(probe: Ask) -> Word:
    """What a probe asks for."""
    return probe.where, probe.words.indices[0] if probe.words else 0


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
    rows = shares(words, row)
    frequency = frequencies(rows)
    best = [(weight * own, term) for term, weight, own in rows[0]]
    logs = sum(share * math.log(frequency[term] + 0.5) for share, term in best)
    passages = round(math.exp((row[0].score + logs) / sum(share for share, _ in best))) - 1
    return rarities(words, frequency, max(passages, len(row)))


def frequencies(rows: Iterable[Sequence[Share]]) -> Counter[int]:
    """How many points hold each of the question's words."""
    return Counter(term for row in rows for term, _, _ in row)


def holders(words: Sparse, row: Iterable[Point]) -> Counter[int]:
    """The same of points as they are."""
    wanted = set(words.indices)
    return Counter(term for point in row if point.words for term in point.words.indices if term in wanted)


def rarities(words: Sparse, frequency: Mapping[int, int], passages: int) -> Idf:
    """The IDF of each word, counted over so many points."""
    return {term: math.log((passages + 1) / (frequency.get(term, 0) + 0.5)) for term in words.indices}


def reckoned(words: Sparse, row: Sequence[Point]) -> list[Point]:
    """The word leg over `row`, all points in reach with their vectors: what the engine would find, best first
    (equal scores by id), each with its part of the question's words."""
    rows = shares(words, row)
    idf = rarities(words, frequencies(rows), sum(point.words is not None for point in row))
    found = [scored(point, own, idf, vectors=True) for point, own in zip(row, rows, strict=True) if own]
    return sorted(found, key=lambda point: (-point.score, point.id))


def chosen(words: Sparse, row: Sequence[Point]) -> Sparse:
    """A long question's words that score: of those that `row` holds, the asker's own points with all their
    words, the rarest; then others."""
    if len(words.indices) <= TERMS:
        return words
    frequency = holders(words, row)
    rarest = sorted(words.indices, key=lambda term: (term not in frequency, frequency[term], term))[:TERMS]
    kept = set(rarest)
    held = [pair for pair in zip(words.indices, words.values, strict=True) if pair[0] in kept]
    return Sparse(tuple(term for term, _ in held), tuple(weight for _, weight in held))


def probed(asked: Sequence[Ask], told: Sequence[Sequence[Point]]) -> dict[Word, float]:
    """The IDFs that probes tell, a score being the IDF times the point's own weight; 0: nobody has it."""
    return {
        word(ask): row[0].score / own if row and (own := held(row[0]).get(word(ask)[1])) else 0.0
        for ask, row in zip(asked, told, strict=True)
    }


def weighed(
    asks: Sequence[Ask],
    found: Sequence[Sequence[Point]],
    known: Mapping[Reach, Idf],
    rare: Mapping[Word, float],
) -> list[list[Point]]:
    """The asks' lists, with the scores as they should be; still in the engine's order. `known` is `counted`,
    `rare` is what `probes` told."""
    rows = []
    for ask, row in zip(asks, found, strict=True):
        if (each := reach(ask)) is None:
            rows.append(list(row))
            continue
        idf = known.get(each) or {term: rare.get((ask.where, term), 0.0) for term in each[1]}
        own = shares(ask.words or Sparse(), row)
        rows.append(
            [scored(point, some, idf, vectors=ask.vectors) for point, some in zip(row, own, strict=True)]
        )
    return rows


def scored(point: Point, own: Sequence[Share], idf: Idf, *, vectors: bool) -> Point:
    """A point by what it holds of a question."""
    score = sum([weight * value * idf[term] for term, weight, value in own])
    terms, _, values = zip(*own, strict=True) if own else ((), (), ())
    words = Sparse(terms, values) if vectors else None
    return Point(point.id, point.payload, point.dense, words, score)


def shares(words: Sparse, row: Sequence[Point]) -> list[list[Share]]:
    """What each point holds of a question, in the order of the terms: sums are made in one order, whoever
    wrote the point."""
    wanted = dict(zip(words.indices, words.values, strict=True))
    packed = [each for point in row if (each := pack(point.words))]
    if wanted and len(packed) == len(row) > 1:
        return sifted(wanted, packed)
    return [shared(wanted, point) for point in row]


def shared(wanted: Weights, point: Point) -> list[Share]:
    """One point's."""
    own = point.words or Sparse()
    found = sorted(wanted.keys() & own.indices)
    return [(term, wanted[term], own.values[bisect_left(own.indices, term)]) for term in found]


def pack(words: Sparse | None) -> Pack | None:
    """A point's words, if they are packed (`hand.py`)."""
    if words and isinstance(words.indices, array) and isinstance(words.values, array):
        return words.indices, words.values
    return None


def sifted(wanted: Weights, packed: Sequence[Pack]) -> list[list[Share]]:
    """Of many points at once, at a quarter of the time."""
    terms = np.frombuffer(b"".join([own for own, _ in packed]), dtype=np.uintc)
    values = np.frombuffer(b"".join([own for _, own in packed]), dtype=np.float32)
    asked = np.array(sorted(wanted), dtype=np.uintc)
    at = np.flatnonzero(asked[np.searchsorted(asked[:-1], terms)] == terms)
    whose = np.searchsorted(np.cumsum([len(own) for own, _ in packed]), at, side="right")
    found: list[list[Share]] = [[] for _ in packed]
    for point, term, own in zip(whose.tolist(), terms[at].tolist(), values[at].tolist(), strict=True):
        found[point].append((term, wanted[term], own))
    return found


def held(point: Point) -> Mapping[int, float]:
    """A point's words and their weights."""
    return dict(zip(point.words.indices, point.words.values, strict=True)) if point.words else {}
