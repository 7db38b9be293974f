"""Exact BM25 (Robertson/Zaragoza 2009, k1 1.2, b .75) over segments, with the reach's own statistics.

IDF and mean length count the live passages of all given segments together, and nothing else: what others
keep moves no score. A passage's score adds its terms in ascending order of their hash, so it is the same
to the last bit however passages are spread over segments. IDF is Lucene's ln(1 + (N - df + .5)/(df + .5)).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.index.segment import Mask, Rows, Segment

K1 = 1.2
B = 0.75

RARE_SHARE = 0.02
"""A word is rare where at most this share of the reach's passages hold it…"""
RARE_COUNT = 3
"""…or so few of them, in a small reach (there at most half of all, or every word were rare)."""
RARE_MASS = 0.5
"""A passage holds the query's rare words if it holds at least this share of their IDF mass."""

Live = tuple[Segment, Mask | None]
"""A segment and which of its rows are alive (None: all)."""


@dataclass(frozen=True, slots=True)
class Field:
    """A segment as a query sees it."""

    segment: Segment
    mask: Mask | None
    spans: list[slice]
    """Of each query term, in the order of the weights."""

    def rows(self, span: slice) -> Rows:
        """The passages of a span, dead ones included."""
        return self.segment.rows[span]

    def frequency(self, span: slice) -> int:
        """Live passages of a span."""
        return span.stop - span.start if self.mask is None else int(self.mask[self.rows(span)].sum())

    def lengths(self) -> NDArray[np.uint32]:
        """Of the live passages."""
        return self.segment.lengths if self.mask is None else self.segment.lengths[self.mask]


@dataclass(frozen=True, slots=True)
class Weight:
    """A query term in this reach. Terms are taken in ascending order of their hash."""

    idf: float
    rare: bool


@dataclass(frozen=True, slots=True)
class Reach:
    """What the caller can reach, as a query sees it."""

    fields: tuple[Field, ...]
    weights: tuple[Weight, ...]
    mean_length: float

    @property
    def mass(self) -> float:
        """IDF of all query terms; words that stand nowhere weigh most."""
        return sum(weight.idf for weight in self.weights)

    @property
    def rare_mass(self) -> float:
        """IDF of the rare ones."""
        return sum(weight.idf for weight in self.weights if weight.rare)


@dataclass(frozen=True, slots=True)
class Held:
    """What one passage holds of the query."""

    coverage: float
    """Share of the query's IDF mass, in [0, 1]."""
    rare: bool
    """Whether it holds the query's rare words."""


def survey(segments: Sequence[Live], terms: Iterable[int]) -> Reach:
    """Count, once a query: document frequencies and mean length over the live rows."""
    wanted = np.array(sorted(set(terms)), dtype=np.uint64)
    fields = tuple(Field(segment, mask, segment.spans(wanted)) for segment, mask in segments)
    lengths = [field.lengths() for field in fields]
    passages = sum(map(len, lengths))
    total = sum(int(some.sum()) for some in lengths)
    frequencies = [sum(field.frequency(field.spans[at]) for field in fields) for at in range(len(wanted))]
    weights = tuple(weigh(frequency, passages) for frequency in frequencies)
    return Reach(fields, weights, total / passages if total else 1.0)


def weigh(frequency: int, passages: int) -> Weight:
    """IDF, and whether the word is rare here."""
    idf = float(np.log1p((passages - frequency + 0.5) / (frequency + 0.5)))
    few = min(RARE_COUNT, passages / 2)
    return Weight(idf, frequency <= max(few, RARE_SHARE * passages))


def scores(reach: Reach) -> list[NDArray[np.float64]]:
    """BM25 of every row of every segment; 0 for those without a query term, and for dead ones."""
    return [score(field, reach) for field in reach.fields]


def score(field: Field, reach: Reach) -> NDArray[np.float64]:
    """BM25 of one segment's rows."""
    total = np.zeros(len(field.segment.lengths))
    norm = K1 * (1 - B + B * field.segment.lengths / reach.mean_length)
    for weight, span in zip(reach.weights, field.spans, strict=True):
        rows, counts = field.rows(span), field.segment.counts[span]
        total[rows] += weight.idf * (K1 + 1) * counts / (counts + norm[rows])
    if field.mask is not None:
        total[~field.mask] = 0
    return total


def held(reach: Reach, field: Field, rows: Rows) -> list[Held]:
    """What each of a few rows (ascending) holds of the query."""
    mass, rare = np.zeros(len(rows)), np.zeros(len(rows))
    for weight, span in zip(reach.weights, field.spans, strict=True):
        having = holding(field.rows(span), rows)
        mass += weight.idf * having
        rare += weight.idf * having * weight.rare
    whole, whole_rare = reach.mass or 1.0, reach.rare_mass
    return [
        Held(float(some / whole), whole_rare > 0 and bool(few >= RARE_MASS * whole_rare))
        for some, few in zip(mass, rare, strict=True)
    ]


def holding(postings: Rows, rows: Rows) -> Mask:
    """Which of the rows are among the postings; both ascend."""
    at = np.minimum(np.searchsorted(postings, rows), max(len(postings) - 1, 0))
    return postings[at] == rows if len(postings) else np.zeros(len(rows), dtype=np.bool_)
