"""Exact BM25 (Robertson/Zaragoza 2009, k1 1.2, b .75) with the statistics of what the asker can reach.

N, document frequencies and the mean length count the live passages of the given postings together and nothing
else, so nobody else's texts can move a score. A passage's terms are added in ascending order of their hash:
the score does not depend on how passages are spread over segments. IDF is Lucene's ln(1 + (N-df+.5)/(df+.5)).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.retrieval.content import Content, weight
from app.retrieval.postings import Mask, Postings, Rows

K1 = 1.2
B = 0.75
LEAST_MEAN = 100.0
"""Terms of a mean passage, at least: among short texts, as people's turns of some thirty terms, a few more
would otherwise count as much as among pages (memories: nDCG@10 .611 with their own mean, .620 with this)."""

RARE_SHARE = 0.02
"""A term is rare if at most this share of the passages in reach hold it…"""
RARE_COUNT = 3
"""…or at most this many, where the reach is small (then at most half of all, or every term were rare)."""
RARE_MASS = 0.5
"""A passage holds the rare terms of a query if it holds at least this share of their IDF mass."""

BATCH = 1 << 16
"""Postings processed at once: a millisecond, and bounded memory."""
FEW_TERMS = 100
"""Terms of a query that are processed one by one; with more, the numpy calls cost more than the postings."""

Live = tuple[Postings, Mask | None]
"""Postings, and which of their rows are alive (None: all)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some postings of a query, its terms in ascending order."""

    terms: NDArray[np.intp]
    """Positions among the query's terms."""
    sizes: NDArray[np.intp]
    """Postings of each."""
    rows: Rows
    counts: NDArray[np.uint16]

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value of its term, for every posting."""
        return np.repeat(values[self.terms], self.sizes)


@dataclass(frozen=True, slots=True)
class Scores:
    """The rows of one segment as the query's terms see them."""

    bm25: NDArray[np.float64]
    """0 for rows without a query term, and for dead ones."""
    mass: NDArray[np.float64]
    """IDF of the query terms that a row holds."""
    rare: NDArray[np.float64]
    """The same, of the rare terms."""


class Lexical:
    """One query's terms over the segments in reach."""

    def __init__(self, segments: Sequence[Live], terms: Iterable[int]) -> None:
        self.terms = np.array(sorted(set(terms)), dtype=np.uint64)
        self._segments = segments
        self._spans = [postings.spans(self.terms) for postings, _ in segments]
        lengths = [
            postings.lengths if mask is None else postings.lengths[mask] for postings, mask in segments
        ]
        self.passages = sum(map(len, lengths))
        total = sum(int(each.sum()) for each in lengths)
        self._mean_length = max(LEAST_MEAN, total / self.passages) if total else 1.0
        self.frequencies = np.zeros(len(self.terms), dtype=np.intp)
        """Live passages that hold each term."""
        for number in range(len(segments)):
            self.frequencies += self._document_frequencies(number)
        few = max(min(RARE_COUNT, self.passages / 2), RARE_SHARE * self.passages)
        self._rare: NDArray[np.bool_] = self.frequencies <= few
        self.idf = np.log1p((self.passages - self.frequencies + 0.5) / (self.frequencies + 0.5))

    def scores(self, number: int) -> Scores:
        """Every row of a segment, in one pass over the query's postings."""
        postings, mask = self._segments[number]
        found = Scores(*(np.zeros(len(postings.lengths)) for _ in range(3)))
        norm = K1 * (1 - B + B * postings.lengths / self._mean_length)
        if len(self.terms) <= FEW_TERMS:
            self._add_by_term(number, norm, found)
        else:
            self._add_by_batch(number, norm, found)
        if mask is not None:
            found.bm25[~mask] = 0
        return found

    def held(self, scores: Scores, rows: Rows) -> tuple[list[float], list[bool]]:
        """Of some rows: the share of the query's IDF mass that each holds, in [0, 1], and whether it holds
        the query's rare terms."""
        mass, rare_mass = float(self.idf.sum()) or 1.0, float(self.idf[self._rare].sum())
        rare = (scores.rare[rows] >= RARE_MASS * rare_mass) & (rare_mass > 0)
        return (scores.mass[rows] / mass).tolist(), rare.tolist()

    def contents(self, number: int, content: Content, rows: Rows) -> list[float]:
        """The share of the query's content (`content.py`) that each of some rows holds."""
        weights = [
            weight(content.get(term, 0.0), count, self.passages)
            for term, count in zip(self.terms.tolist(), self.frequencies.tolist(), strict=True)
        ]
        held = np.zeros(len(rows))
        postings, _ = self._segments[number]
        for (first, end), each in zip(self._spans[number].tolist(), weights, strict=True):
            if each and end > first:
                held[np.isin(rows, postings.rows[first:end])] += each
        found: list[float] = (held / (sum(weights) or 1.0)).tolist()
        return found

    def _document_frequencies(self, number: int) -> NDArray[np.intp]:
        """Live passages of a segment that hold each term."""
        spans, (_, mask) = self._spans[number], self._segments[number]
        if mask is None:
            sizes: NDArray[np.intp] = spans[:, 1] - spans[:, 0]
            return sizes
        found = np.zeros(len(self.terms), dtype=np.intp)
        for batch in self._batches(number):
            owners = np.repeat(batch.terms, batch.sizes)
            found += np.bincount(owners[mask[batch.rows]], minlength=len(self.terms))
        return found

    def _batches(self, number: int) -> Iterator[Batch]:
        """All postings of the query in a segment, dead rows included; a term is never divided."""
        postings, spans = self._segments[number][0], self._spans[number]
        sizes = spans[:, 1] - spans[:, 0]
        ends = np.cumsum(sizes)
        known = np.flatnonzero(sizes)
        for some in np.split(known, np.flatnonzero(np.diff(ends[known] // BATCH)) + 1):
            firsts, many = spans[some, 0], sizes[some]
            at = np.arange(int(many.sum())) + np.repeat(firsts - np.cumsum(many) + many, many)
            yield Batch(some, many, postings.rows[at], postings.counts[at])

    def _add_by_term(self, number: int, norm: NDArray[np.floating], into: Scores) -> None:
        """Term by term: slices are cheaper than index arrays while terms are few."""
        postings, passages = self._segments[number][0], len(into.bm25)
        every = zip(self._spans[number].tolist(), self.idf.tolist(), self._rare.tolist(), strict=True)
        for (first, end), idf, rare in every:
            if first == end:
                continue
            at = slice(None) if end - first == passages else postings.rows[first:end].astype(np.intp)
            counts = postings.counts[first:end].astype(np.float64)
            into.bm25[at] += idf * (K1 + 1) * counts / (counts + norm[at])
            into.mass[at] += idf
            if rare:
                into.rare[at] += idf

    def _add_by_batch(self, number: int, norm: NDArray[np.floating], into: Scores) -> None:
        """Posting by posting, for long queries."""
        rare = self._rare.astype(np.float64)
        for batch in self._batches(number):
            counts, idf = batch.counts.astype(np.float64), batch.spread(self.idf)
            np.add.at(
                into.bm25,
                batch.rows,
                batch.spread(self.idf * (K1 + 1)) * counts / (counts + norm[batch.rows]),
            )
            np.add.at(into.mass, batch.rows, idf)
            few = np.flatnonzero(batch.spread(rare))
            np.add.at(into.rare, batch.rows[few], idf[few])
