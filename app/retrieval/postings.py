"""Postings: the inverted index of some passages as numpy arrays, and the form in which terms are stored.

The record keeps the terms of each passage (`pack`), so that loading an index analyses nothing. A row is a
passage: 0 is the first. Term frequencies are kept raw, as BM25 needs them. Pure computing.
"""

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.retrieval.terms import VERSION, terms
from app.retrieval.vocabulary import count
from app.text.sanitise import one_line, quote
from app.text.tokens import inner

MAGIC = b"IT"
HEADER = struct.Struct("<2sHIIII")
"""MAGIC, the version of the analysis, the length of the passage in terms, then of its text (`Shown`)."""
TERM_BYTES, COUNT_BYTES = 8, 2
MAX_COUNT = np.iinfo(np.uint16).max

Rows = NDArray[np.uint32]
Mask = NDArray[np.bool_]
Spans = NDArray[np.intp]
"""One row per term: the first of its postings, and the end."""


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The postings of `terms[i]` are `rows[starts[i]:starts[i+1]]` with their counts; rows ascend."""

    terms: NDArray[np.uint64]
    """Ascending."""
    starts: NDArray[np.uint32]
    """One more than terms."""
    rows: Rows
    counts: NDArray[np.uint16]
    """Term frequencies; more than 65,535 count as that."""
    lengths: NDArray[np.uint32]
    """Terms of each passage, repeats included."""
    shown: NDArray[np.uint32]
    """Of the text of each passage: its characters, and the `inner` tokens of what prompts show of it, by
    `quote` and by `one_line`."""

    @property
    def nbytes(self) -> int:
        """Memory, bytes."""
        arrays = (self.terms, self.starts, self.rows, self.counts, self.lengths, self.shown)
        return sum(array.nbytes for array in arrays)

    def spans(self, terms: NDArray[np.uint64]) -> Spans:
        """Where the postings of each term are; empty for a term that no passage holds."""
        at = np.searchsorted(self.terms, terms)
        found = np.zeros((len(terms), 2), dtype=np.intp)
        known = np.flatnonzero(at < len(self.terms))
        known = known[self.terms[at[known]] == terms[known]]
        found[known, 0], found[known, 1] = self.starts[at[known]], self.starts[at[known] + 1]
        return found


def pack(words: str, text: str | None = None) -> bytes:
    """The terms of one passage as they are stored, of all the words that it is found by;
    `text`: what is shown of it, where that is less. CPU: about 0.7 ms for 300 words."""
    text = words if text is None else text
    bag = Counter(terms(words))
    ordered = sorted(bag)
    shown = (inner(count, show(text)) for show in (quote, one_line))
    header = HEADER.pack(MAGIC, VERSION, bag.total(), len(text), *shown)
    counts = [min(bag[term], MAX_COUNT) for term in ordered]
    return header + np.array(ordered, dtype="<u8").tobytes() + np.array(counts, dtype="<u2").tobytes()


def is_current(packed: bytes | None) -> bool:
    """Whether `pack` of this version of the analysis wrote it."""
    if (
        packed is None
        or len(packed) < HEADER.size
        or (len(packed) - HEADER.size) % (TERM_BYTES + COUNT_BYTES)
    ):
        return False
    magic, version, *_ = HEADER.unpack_from(packed)
    return bool(magic == MAGIC and version == VERSION)


def invert(packed: Sequence[bytes]) -> Postings:
    """The postings of stored passages, in order. CPU: about 0.2 µs per posting."""
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
    """The postings of texts."""
    return invert([pack(text) for text in texts])


def merge(parts: Sequence[Postings], keep: Sequence[Mask | None]) -> Postings:
    """The kept rows of several as one, in order; None keeps all. CPU: about 20 ns per posting, no sorting."""
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
    free = starts[:-1].copy()  # where the next part's postings of each term go
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
    """Without the rows that the mask drops; terms that nobody holds any more may stay, without postings."""
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
