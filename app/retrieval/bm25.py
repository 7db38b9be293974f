"""Postings and exact BM25 over the passages in reach (Robertson/Zaragoza 2009, k1 1.2, b .75).

A passage is a row of its postings, from 0. N, document frequencies and the mean length count only the live
passages of the given postings, so other people's texts cannot change a score. Terms are added in order of
their hash, so the score does not depend on the segments. IDF is Lucene's ln(1 + (N-df+.5)/(df+.5)).

`content`, the share of a question's content in a passage, decides what matches when words alone do: IDF times
the word's rarity in general text, by its token's rank in the o200k vocabulary (`how` and `much` are rare in
an annual report). Figures: `relevance.CONTENT`. No I/O.
"""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.text.terms import (
    COUNT_BYTES,
    HEADER,
    TERM_BYTES,
    WORD_CHARACTERS,
    calmed,
    encode_terms,
    forms,
    hashed,
    names,
    stem,
    words,
)
from app.text.vocabulary import o200k

Rows = NDArray[np.uint32]
Mask = NDArray[np.bool_]
Spans = NDArray[np.intp]
"""One row per term: its first posting and the end."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The postings of `terms[i]` are `rows[starts[i]:starts[i+1]]` with their counts; rows ascend."""

    terms: NDArray[np.uint64]
    starts: NDArray[np.uint32]
    """One more than terms."""
    rows: Rows
    counts: NDArray[np.uint16]
    """Term frequencies, at most 65,535."""
    lengths: NDArray[np.uint32]
    """Number of terms of each passage, repeats included."""
    shown: NDArray[np.uint32]
    """For the text of each passage: its characters, and its tokens within prompts by `quote` and by
    `one_line` (`inner`)."""

    @property
    def nbytes(self) -> int:
        arrays = (self.terms, self.starts, self.rows, self.counts, self.lengths, self.shown)
        return sum(array.nbytes for array in arrays)

    def spans(self, terms: NDArray[np.uint64]) -> Spans:
        """The postings of each term; empty for an unknown term."""
        at = np.searchsorted(self.terms, terms)
        found = np.zeros((len(terms), 2), dtype=np.intp)
        known = np.flatnonzero(at < len(self.terms))
        known = known[self.terms[at[known]] == terms[known]]
        found[known, 0], found[known, 1] = self.starts[at[known]], self.starts[at[known] + 1]
        return found


def invert(packed: Sequence[bytes]) -> Postings:
    """Postings of stored passages, in order. About 0.2 µs of CPU per posting."""
    sizes = [(len(row) - HEADER.size) // (TERM_BYTES + COUNT_BYTES) for row in packed]
    ends = [HEADER.size + TERM_BYTES * size for size in sizes]
    term_of = np.frombuffer(
        b"".join(row[HEADER.size : end] for row, end in zip(packed, ends, strict=True)), dtype="<u8"
    )
    count_of = np.frombuffer(b"".join(row[end:] for row, end in zip(packed, ends, strict=True)), dtype="<u2")
    heads = np.frombuffer(b"".join(row[4 : HEADER.size] for row in packed), dtype="<u4").reshape(-1, 4)
    row_of = np.repeat(np.arange(len(packed), dtype=np.uint32), sizes)
    order = np.argsort(term_of, kind="stable")
    distinct, starts = np.unique(term_of[order], return_index=True)
    bounds = np.append(starts, len(term_of)).astype(np.uint32)
    return Postings(distinct, bounds, row_of[order], count_of[order], heads[:, 0].copy(), heads[:, 1:].copy())


def build(texts: Sequence[str]) -> Postings:
    return invert([encode_terms(text) for text in texts])


def merge(parts: Sequence[Postings], keep: Sequence[Mask | None]) -> Postings:
    """The kept rows of several parts, in order; None keeps all. About 20 ns per posting, no sorting."""
    alive = [kept(part, mask) for part, mask in zip(parts, keep, strict=True)]
    distinct = np.unique(np.concatenate([part.terms for part in alive] or [np.zeros(0, dtype=np.uint64)]))
    places = [np.searchsorted(distinct, part.terms) for part in alive]
    totals = np.zeros(len(distinct), dtype=np.int64)
    for part, place in zip(alive, places, strict=True):
        totals[place] += np.diff(part.starts)
    starts = np.zeros(len(distinct) + 1, dtype=np.int64)
    np.cumsum(totals, out=starts[1:])
    rows = np.zeros(int(starts[-1]), dtype=np.uint32)
    counts = np.zeros(int(starts[-1]), dtype=np.uint16)
    free = starts[:-1].copy()  # where the next part's postings of each term start
    first = 0
    for part, place in zip(alive, places, strict=True):
        sizes = np.diff(part.starts).astype(np.int64)
        target = np.arange(len(part.rows)) + np.repeat(free[place] - part.starts[:-1], sizes)
        rows[target] = part.rows + np.uint32(first)
        counts[target] = part.counts
        free[place] += sizes
        first += len(part.lengths)
    lengths = np.concatenate([part.lengths for part in alive] or [np.zeros(0, dtype=np.uint32)])
    shown = np.concatenate([part.shown for part in alive] or [np.zeros((0, 3), dtype=np.uint32)])
    held = totals > 0
    bounds = np.append(starts[:-1][held], starts[-1]).astype(np.uint32)
    return Postings(distinct[held], bounds, rows, counts, lengths, shown)


def kept(part: Postings, mask: Mask | None) -> Postings:
    """Drops masked rows; terms without postings may remain."""
    if mask is None:
        return part
    alive = mask[part.rows]
    number = (np.cumsum(mask) - 1).astype(np.uint32)
    before = np.zeros(len(alive) + 1, dtype=np.uint32)
    np.cumsum(alive, out=before[1:])
    return Postings(
        part.terms,
        before[part.starts],
        number[part.rows[alive]],
        part.counts[alive],
        part.lengths[mask],
        part.shown[mask],
    )


Content = Mapping[int, float]
"""A question's terms with their rarity in general text, at least 0."""

COMMON = 1_000
"""Token ranks up to this have rarity 0: bytes, `the`, `is`, `me`."""
ELSEWHERE = 100
"""Passages without the word that count in addition to those in reach, so that a word in one of three memories
is still rare."""


def content(text: str) -> Content:
    """The terms of a question, as cut by `terms.words`. About 20 µs of CPU per new word."""
    found: dict[int, float] = {}
    for each in words(calmed(unicodedata.normalize("NFKC", text))):
        word = each[:WORD_CHARACTERS]
        terms = [(stem(form), form) for form in forms(word)] + [(name, name) for name in names(word)]
        for term, written in terms:
            key = hashed(term)
            found[key] = min(found.get(key, math.inf), rarity(written))
    return found


@lru_cache(maxsize=1 << 14)
def rarity(word: str) -> float:
    """log(token rank / COMMON), at least 0. A word of several tokens has the highest rank."""
    encoding, folded = o200k(), word.casefold()
    written = (folded, folded.title(), f" {folded}", f" {folded.title()}")
    tokens = [encoding.encode_ordinary(each) for each in written]
    rank = min([token for [token, *rest] in tokens if not rest], default=encoding.n_vocab)
    return max(0.0, math.log(rank / COMMON))


def weight(rarity: float, count: int, passages: int) -> float:
    return rarity * math.log1p((passages + ELSEWHERE - count + 0.5) / (count + 0.5))


K1 = 1.2
B = 0.75
LEAST_MEAN = 100.0
"""Least mean length in terms: among short texts, such as chat turns of thirty terms, a few more terms would
otherwise count as much as among pages (memories: nDCG@10 .611 with their own mean, .620 with this)."""

BATCH = 1 << 16
"""Postings per batch: a millisecond, and bounded memory."""
FEW_TERMS = 100
"""Query terms that are processed one by one; beyond, the numpy calls cost more than the postings."""

Live = tuple[Postings, Mask | None]
"""Postings with the mask of their live rows (None: all)."""


@dataclass(frozen=True, slots=True)
class Batch:
    terms: NDArray[np.intp]
    """Positions among the query's terms."""
    sizes: NDArray[np.intp]
    rows: Rows
    counts: NDArray[np.uint16]

    def repeat(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.repeat(values[self.terms], self.sizes)


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the rows of one segment."""

    bm25: NDArray[np.float64]
    """0 for rows without a query term, and for deleted ones."""
    mass: NDArray[np.float64]
    """Sum of the IDF of a row's query terms."""


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
        """Number of live passages with each term."""
        for number in range(len(segments)):
            self.frequencies += self._document_frequencies(number)
        self.idf = np.log1p((self.passages - self.frequencies + 0.5) / (self.frequencies + 0.5))

    def scores(self, number: int) -> Scores:
        postings, mask = self._segments[number]
        found = Scores(np.zeros(len(postings.lengths)), np.zeros(len(postings.lengths)))
        norm = K1 * (1 - B + B * postings.lengths / self._mean_length)
        if len(self.terms) <= FEW_TERMS:
            self._add_by_term(number, norm, found)
        else:
            self._add_by_batch(number, norm, found)
        if mask is not None:
            found.bm25[~mask] = 0
        return found

    def coverage(self, scores: Scores, rows: Rows) -> list[float]:
        """For each row: the share of the query's IDF mass in it, in [0, 1]."""
        found: list[float] = (scores.mass[rows] / (float(self.idf.sum()) or 1.0)).tolist()
        return found

    def contents(self, number: int, content: Content, rows: Rows) -> list[float]:
        """The share of the query's content in each row."""
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
        """All postings of the query in a segment, deleted rows included; one term is never divided."""
        postings, spans = self._segments[number][0], self._spans[number]
        sizes = spans[:, 1] - spans[:, 0]
        ends = np.cumsum(sizes)
        known = np.flatnonzero(sizes)
        for some in np.split(known, np.flatnonzero(np.diff(ends[known] // BATCH)) + 1):
            firsts, many = spans[some, 0], sizes[some]
            at = np.arange(int(many.sum())) + np.repeat(firsts - np.cumsum(many) + many, many)
            yield Batch(some, many, postings.rows[at], postings.counts[at])

    def _add_by_term(self, number: int, norm: NDArray[np.floating], into: Scores) -> None:
        """Slices are cheaper than index arrays while terms are few."""
        postings, passages = self._segments[number][0], len(into.bm25)
        for (first, end), idf in zip(self._spans[number].tolist(), self.idf.tolist(), strict=True):
            if first == end:
                continue
            at = slice(None) if end - first == passages else postings.rows[first:end].astype(np.intp)
            counts = postings.counts[first:end].astype(np.float64)
            into.bm25[at] += idf * (K1 + 1) * counts / (counts + norm[at])
            into.mass[at] += idf

    def _add_by_batch(self, number: int, norm: NDArray[np.floating], into: Scores) -> None:
        for batch in self._batches(number):
            counts, idf = batch.counts.astype(np.float64), batch.repeat(self.idf)
            np.add.at(
                into.bm25,
                batch.rows,
                batch.repeat(self.idf * (K1 + 1)) * counts / (counts + norm[batch.rows]),
            )
            np.add.at(into.mass, batch.rows, idf)
