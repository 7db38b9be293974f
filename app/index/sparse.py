"""Word vectors: BM25 as a product of sparse vectors, for engines that keep them and add the IDF themselves.

A passage's weight of a term is BM25's without the IDF (k1 1.2, b .75), a query's is 1 a distinct term. Terms
are the low 32 bits of `analysis.terms`. The mean length is a constant, for a weight is written once and the
mean moves. What is rare and what is covered (CONTRACT §0, Match) means the same as in `bm25.py`.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from app.clients.points import Point, Sparse
from app.clients.weights import holders
from app.index.bm25 import K1, RARE_COUNT, RARE_MASS, RARE_SHARE, B, Held
from app.retrieval.content import Content, content, weight
from app.retrieval.terms import terms

MEAN = 100.0
"""Terms of a passage of middling length: what people say has some thirty, what they file some two hundred.
Of either it costs .01 of nDCG at most (docs/decisions/0027). After a change, points are written anew."""
BITS = 0xFFFFFFFF


def folded(text: str) -> list[int]:
    """The terms of a text in order, as engines can hold them."""
    return [term & BITS for term in terms(text)]


def passage(text: str) -> Sparse:
    """What a passage's words weigh."""
    found = folded(text)
    norm = K1 * (1 - B + B * len(found) / MEAN)
    return sparse({term: (K1 + 1) * count / (count + norm) for term, count in Counter(found).items()})


def question(text: str) -> Sparse:
    """A query's words, each once."""
    return sparse(dict.fromkeys(folded(text), 1.0))


def meant(text: str) -> Content:
    """A query's content, by terms as engines hold them."""
    return {term & BITS: rarity for term, rarity in content(text).items()}


def sparse(weights: Mapping[int, float]) -> Sparse:
    """In the order that engines want."""
    ordered = sorted(weights)
    return Sparse(tuple(ordered), tuple(weights[term] for term in ordered))


@dataclass(frozen=True)
class Stock:
    """What the query's words weigh in a reach."""

    idf: Mapping[int, float]
    rare: frozenset[int]
    content: Mapping[int, float] = field(default_factory=dict)
    """What each adds to a passage's share of the query's content; nothing where the query was embedded."""

    @cached_property
    def _whole(self) -> tuple[float, float]:
        """The mass of all words, and of the rare ones."""
        return self._mass(self.idf), self._mass(self.rare)

    def held(self, words: Sparse) -> Held:
        """What a passage holds of the query."""
        found = tuple(sorted([term for term in words.indices if term in self.idf]))
        if found not in self._known:
            self._known[found] = self._held(found)
        return self._known[found]

    @cached_property
    def _known(self) -> dict[tuple[int, ...], Held]:
        """By the terms held: of a hundred passages many hold the same few."""
        return {}

    def _held(self, found: tuple[int, ...]) -> Held:
        """By these terms."""
        (whole, all_few), mass = self._whole, self._mass(found)
        few = self._mass(self.rare.intersection(found))
        told = sum([self.content.get(term, 0.0) for term in found])
        return Held(mass / whole if whole else 0.0, all_few > 0 and few >= RARE_MASS * all_few, told)

    def _mass(self, found: Iterable[int]) -> float:
        """Their IDF, added in one order, so that equal sets come to equal sums."""
        return sum([self.idf[term] for term in sorted(found)])


def stock(
    query: Sparse, hits: Sequence[Point], passages: int, *, whole: bool, told: Content | None = None
) -> Stock:
    """From the word leg's hits with their vectors; `passages` are in reach, `whole`: all hits are here.
    `told`: the query's content, by folded terms, where words alone are to tell what matches."""
    found = frequencies(query, hits, passages, whole=whole)
    few = max(min(RARE_COUNT, passages / 2), RARE_SHARE * passages)
    weights = {
        term: math.log1p(max(passages - count + 0.5, 0.0) / (count + 0.5)) for term, count in found.items()
    }
    rare = frozenset(term for term, count in found.items() if count <= few)
    held = (
        {term: weight(told.get(term, 0.0), count, passages) for term, count in found.items()} if told else {}
    )
    most = sum(held.values()) or 1.0
    return Stock(weights, rare, {term: each / most for term, each in held.items()})


def frequencies(query: Sparse, hits: Sequence[Point], passages: int, *, whole: bool) -> Mapping[int, int]:
    """How many passages in reach hold each word of the query: counted, where every passage with one of them
    is here; else read off the engine's scores.

    Of a leg that was cut off the count is only the least that a word can have, and would call common words
    rare. But each score is the sum of its passage's weights times the IDFs that the engine found over the
    whole reach: with more passages than words that gives the IDFs, and so the counts.
    """
    counted = holders(query, hits)
    seen = [term for term in query.indices if counted[term]]
    found = {term: counted[term] for term in query.indices}
    if whole or not seen or 2 * len(seen) > len(hits):
        return found
    for term, count in read(seen, hits, passages).items():
        found[term] = min(max(found[term], count), passages)
    return found


def read(terms: Sequence[int], hits: Sequence[Point], passages: int) -> Mapping[int, int]:
    """The counts that the scores of the hits tell."""
    idf, *_ = np.linalg.lstsq(weighed(terms, hits), np.array([hit.score for hit in hits]), rcond=None)
    return {
        term: round((passages + 1) / math.exp(min(max(value, 0.0), 50.0)) - 0.5)
        for term, value in zip(terms, idf.tolist(), strict=True)
    }


def weighed(terms: Sequence[int], hits: Sequence[Point]) -> NDArray[np.float64]:
    """What each term weighs in each hit, a hit a row."""
    column = {term: at for at, term in enumerate(terms)}
    matrix = np.zeros((len(hits), len(terms)))
    for row, hit in enumerate(hits):
        words = hit.words or Sparse()
        for term, value in zip(words.indices, words.values, strict=True):
            if term in column:
                matrix[row, column[term]] = value
    return matrix
