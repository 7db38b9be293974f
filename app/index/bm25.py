"""Exact BM25 (Robertson/Zaragoza 2009, k1 1.2, b .75) over segments, with the reach's own statistics.

IDF and mean length count the live passages of all given segments together, and nothing else: what others
keep moves no score. A passage's score adds its terms in ascending order of their hash, so it is the same
to the last bit however passages are spread over segments. IDF is Lucene's ln(1 + (N - df + .5)/(df + .5)).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.index.segment import Mask, Rows, Segment, Spans
from app.retrieval.content import Content, weight

K1 = 1.2
B = 0.75

RARE_SHARE = 0.02
"""A word is rare where at most this share of the reach's passages hold it…"""
RARE_COUNT = 3
"""…or so few of them, in a small reach (there at most half of all, or every word were rare)."""
RARE_MASS = 0.5
"""A passage holds the query's rare words if it holds at least this share of their IDF mass."""

HANDFUL = 1 << 16
"""Postings that are worked on at once: a millisecond, and no more memory than that takes."""

FEW = 100
"""Terms of a query that are looked at one by one; of more, the calls would cost more than the postings."""

Live = tuple[Segment, Mask | None]
"""A segment and which of its rows are alive (None: all)."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Some postings of the query, its terms in ascending order of their hash."""

    terms: NDArray[np.intp]
    """Which, as places among the weights."""
    sizes: NDArray[np.intp]
    """Of each, how many."""
    rows: Rows
    counts: NDArray[np.uint16]

    @property
    def owners(self) -> NDArray[np.intp]:
        """The term of every posting."""
        return np.repeat(self.terms, self.sizes)

    def each(self, weights: NDArray[Any]) -> NDArray[Any]:
        """The weight of its term, for every posting."""
        return np.repeat(weights[self.terms], self.sizes)


@dataclass(frozen=True, slots=True)
class Field:
    """A segment as a query sees it."""

    segment: Segment
    mask: Mask | None
    spans: Spans
    """Of each query term, in the order of the weights."""

    def postings(self) -> Iterator[Postings]:
        """All of the query's, dead rows included, some HANDFUL at a time and a term never divided."""
        sizes = self.spans[:, 1] - self.spans[:, 0]
        ends = np.cumsum(sizes)
        there = np.flatnonzero(sizes)
        for some in np.split(there, np.flatnonzero(np.diff(ends[there] // HANDFUL)) + 1):
            firsts, many = self.spans[some, 0], sizes[some]
            at = np.arange(int(many.sum())) + np.repeat(firsts - np.cumsum(many) + many, many)
            yield Postings(some, many, self.segment.rows[at], self.segment.counts[at])

    def frequencies(self) -> NDArray[np.intp]:
        """Of each term: live passages that hold it."""
        sizes: NDArray[np.intp] = self.spans[:, 1] - self.spans[:, 0]
        if self.mask is None:
            return sizes
        found = np.zeros(len(sizes), dtype=np.intp)
        for some in self.postings():
            found += np.bincount(some.owners[self.mask[some.rows]], minlength=len(sizes))
        return found

    def lengths(self) -> NDArray[np.uint32]:
        """Of the live passages."""
        return self.segment.lengths if self.mask is None else self.segment.lengths[self.mask]


@dataclass(frozen=True, slots=True)
class Reach:
    """What the caller can reach, as a query sees it. Terms are taken in ascending order of their hash."""

    fields: tuple[Field, ...]
    idf: NDArray[np.float64]
    rare: NDArray[np.bool_]
    mean_length: float
    wanted: NDArray[np.uint64]
    """The terms themselves."""
    frequencies: NDArray[np.intp]
    """Of each: live passages that hold it."""
    passages: int

    @property
    def terms(self) -> int:
        """The query's, each once."""
        return len(self.idf)

    @property
    def mass(self) -> float:
        """IDF of all query terms; words that stand nowhere weigh most."""
        return float(sum(self.idf.tolist()))

    @property
    def rare_mass(self) -> float:
        """IDF of the rare ones."""
        return float(sum(self.idf[self.rare].tolist()))


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A segment's rows as the query sees them, all in one pass: what is looked up later costs nothing."""

    scores: NDArray[np.float64]
    """BM25; 0 for those without a query term, and for dead ones."""
    mass: NDArray[np.float64]
    """IDF of the query terms that a row holds."""
    rare: NDArray[np.float64]
    """The same of the rare ones."""


@dataclass(frozen=True, slots=True)
class Held:
    """What one passage holds of the query."""

    coverage: float
    """Share of the query's IDF mass, in [0, 1]."""
    rare: bool
    """Whether it holds the query's rare words."""
    content: float = 0.0
    """Share of the query's content, where words alone are to tell what matches."""


def survey(segments: Sequence[Live], terms: Iterable[int]) -> Reach:
    """Count, once a query: document frequencies and mean length over the live rows."""
    wanted = np.array(sorted(set(terms)), dtype=np.uint64)
    fields = tuple(Field(segment, mask, segment.spans(wanted)) for segment, mask in segments)
    lengths = [field.lengths() for field in fields]
    passages = sum(map(len, lengths))
    total = sum(int(some.sum()) for some in lengths)
    frequencies = np.zeros(len(wanted), dtype=np.intp)
    for field in fields:
        frequencies += field.frequencies()
    few = min(RARE_COUNT, passages / 2)
    return Reach(
        fields,
        np.log1p((passages - frequencies + 0.5) / (frequencies + 0.5)),
        frequencies <= max(few, RARE_SHARE * passages),
        total / passages if total else 1.0,
        wanted,
        frequencies,
        passages,
    )


def seen(reach: Reach) -> list[Seen]:
    """Every segment's rows."""
    return [looked_at(field, reach) for field in reach.fields]


def looked_at(field: Field, reach: Reach) -> Seen:
    """One segment's rows, in one pass over the query's postings. Each row's terms are added in their order,
    whichever way: term by term while there are few, since slices are cheaper than places."""
    total, mass, rare = (np.zeros(len(field.segment.lengths)) for _ in range(3))
    found = Seen(total, mass, rare)
    norm = K1 * (1 - B + B * field.segment.lengths / reach.mean_length)
    (by_term if reach.terms <= FEW else by_handful)(field, reach, norm, found)
    if field.mask is not None:
        total[~field.mask] = 0
    return found


def by_term(field: Field, reach: Reach, norm: NDArray[np.floating], into: Seen) -> None:
    """One term after the other. A term that every passage holds needs no places at all."""
    segment, rows = field.segment, len(field.segment.lengths)
    every = zip(field.spans.tolist(), reach.idf.tolist(), reach.rare.tolist(), strict=True)
    for (first, end), idf, rare in every:
        if first == end:
            continue
        at = slice(None) if end - first == rows else segment.rows[first:end].astype(np.intp)
        counts = segment.counts[first:end].astype(np.float64)
        into.scores[at] += idf * (K1 + 1) * counts / (counts + norm[at])
        into.mass[at] += idf
        if rare:
            into.rare[at] += idf


def by_handful(field: Field, reach: Reach, norm: NDArray[np.floating], into: Seen) -> None:
    """All of them, one posting after the other."""
    factors = reach.idf * (K1 + 1)
    for some in field.postings():
        counts, idf = some.counts.astype(np.float64), some.each(reach.idf)
        np.add.at(into.scores, some.rows, some.each(factors) * counts / (counts + norm[some.rows]))
        np.add.at(into.mass, some.rows, idf)
        few = np.flatnonzero(some.each(reach.rare))
        np.add.at(into.rare, some.rows[few], idf[few])


def shares(reach: Reach, seen: Seen, rows: Rows) -> tuple[list[float], list[bool]]:
    """What each of a few live rows holds of the query (`Held`), as columns: for every hit of an answer a
    value would be made to be taken apart."""
    whole, whole_rare = reach.mass or 1.0, reach.rare_mass
    rare = (seen.rare[rows] >= RARE_MASS * whole_rare) & (whole_rare > 0)
    return (seen.mass[rows] / whole).tolist(), rare.tolist()


def contents(field: Field, reach: Reach, content: Content, rows: Rows) -> list[float]:
    """The share of the query's content (`content.py`) that each of a few live rows holds."""
    weights = [
        weight(content.get(term, 0.0), count, reach.passages)
        for term, count in zip(reach.wanted.tolist(), reach.frequencies.tolist(), strict=True)
    ]
    held = np.zeros(len(rows))
    for (first, end), each in zip(field.spans.tolist(), weights, strict=True):
        if each and end > first:
            held[np.isin(rows, field.segment.rows[first:end])] += each
    found: list[float] = (held / (sum(weights) or 1.0)).tolist()
    return found
