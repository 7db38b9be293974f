"""Postings as numpy arrays: of one document as it is stored, or of many merged.

Terms ascend; the postings of `terms[i]` are `rows[starts[i]:starts[i+1]]` with their counts, rows
ascending. A row is a passage: 0 is the first. Never changed once made. `from_bytes` raises `ValueError`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAGIC = b"IBW1"
MOST = np.iinfo(np.uint16).max

Rows = NDArray[np.uint32]
Mask = NDArray[np.bool_]
Spans = NDArray[np.intp]
"""One row a term: first and end."""


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """An inverted index over `len(lengths)` passages."""

    terms: NDArray[np.uint64]
    starts: NDArray[np.uint32]
    """One more than terms."""
    rows: Rows
    counts: NDArray[np.uint16]
    """How often the term stands in the passage; more than 65,535 counts as that."""
    lengths: NDArray[np.uint32]
    """Terms of each passage, repeats included."""

    @property
    def nbytes(self) -> int:
        """Memory, bytes."""
        return sum(array.nbytes for array in self.arrays())

    def arrays(self) -> tuple[NDArray[np.unsignedinteger], ...]:
        """In the order they are stored."""
        return self.terms, self.starts, self.rows, self.counts, self.lengths

    def spans(self, terms: NDArray[np.uint64]) -> Spans:
        """Where the postings of each term lie: first and end; empty where no passage holds it."""
        at = np.searchsorted(self.terms, terms)
        found = np.zeros((len(terms), 2), dtype=np.intp)
        there = np.flatnonzero(at < len(self.terms))
        there = there[self.terms[at[there]] == terms[there]]
        found[there, 0], found[there, 1] = self.starts[at[there]], self.starts[at[there] + 1]
        return found

    def to_bytes(self) -> bytes:
        """Magic, three sizes as uint32, then the arrays, all little-endian."""
        sizes = np.array([len(self.terms), len(self.rows), len(self.lengths)], dtype="<u4")
        return MAGIC + sizes.tobytes() + b"".join(array.tobytes() for array in self.arrays())


def inverted(
    terms: NDArray[np.uint64], rows: Rows, counts: NDArray[np.uint16], lengths: NDArray[np.uint32]
) -> Segment:
    """Postings in any term order, rows ascending within a term, to a segment."""
    order = np.argsort(terms, kind="stable")
    unique, starts = np.unique(terms[order], return_index=True)
    bounds = np.append(starts, len(terms)).astype(np.uint32)
    return Segment(unique, bounds, rows[order], counts[order], lengths)


def merge(segments: Sequence[Segment], keep: Sequence[Mask | None]) -> Segment:
    """One segment of the kept rows of several, in order. `None` keeps all rows of that segment."""
    moved = [kept(segment, mask) for segment, mask in zip(segments, keep, strict=True)]
    offsets = np.cumsum([0, *(len(lengths) for _, _, _, lengths in moved)]).astype(np.uint32)
    return inverted(
        np.concatenate([part[0] for part in moved]),
        np.concatenate([part[1] + offset for part, offset in zip(moved, offsets[:-1], strict=True)]),
        np.concatenate([part[2] for part in moved]),
        np.concatenate([part[3] for part in moved]),
    )


def kept(
    segment: Segment, mask: Mask | None
) -> tuple[NDArray[np.uint64], Rows, NDArray[np.uint16], NDArray[np.uint32]]:
    """A segment's postings, one term an entry, rows renumbered without those the mask drops."""
    terms = np.repeat(segment.terms, np.diff(segment.starts))
    if mask is None:
        return terms, segment.rows, segment.counts, segment.lengths
    alive = mask[segment.rows]
    number = (np.cumsum(mask) - 1).astype(np.uint32)
    return terms[alive], number[segment.rows[alive]], segment.counts[alive], segment.lengths[mask]


def from_bytes(data: bytes) -> Segment:
    """The inverse of `to_bytes`. `ValueError` if it is not what that wrote."""
    if data[:4] != MAGIC or len(data) < 16:
        raise ValueError("not postings")
    terms, rows, lengths = (int(size) for size in np.frombuffer(data, dtype="<u4", count=3, offset=4))
    sizes = ((terms, "<u8"), (terms + 1, "<u4"), (rows, "<u4"), (rows, "<u2"), (lengths, "<u4"))
    if len(data) != 16 + sum(size * np.dtype(kind).itemsize for size, kind in sizes):
        raise ValueError("postings cut short")
    arrays, at = [], 16
    for size, kind in sizes:
        arrays.append(np.frombuffer(data, dtype=kind, count=size, offset=at))
        at += arrays[-1].nbytes
    return Segment(*arrays)
