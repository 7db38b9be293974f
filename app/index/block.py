"""A block: the words and vectors of some documents, merged, with those that are gone masked out.

A document's passages are consecutive rows in the order of their ordinals, which count from 1. Blocks are
values: a change makes a new one, so that a search under way keeps what it began with.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from app.index.place import Matrix, Place
from app.index.segment import Mask, Segment, merge


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """At least one document; `live` is None while all of them are there."""

    documents: tuple[str, ...]
    firsts: tuple[int, ...]
    """The first row of each document, and the number of rows."""
    words: Segment
    vectors: Matrix | None
    """One row a passage, unit length; None in a part too large to be searched exactly."""
    live: Mask | None = None
    """By row."""

    @property
    def size(self) -> int:
        """Live passages."""
        return self.firsts[-1] if self.live is None else int(self.live.sum())

    @property
    def rows(self) -> int:
        """Passages, the dead included."""
        return self.firsts[-1]

    @property
    def nbytes(self) -> int:
        """Memory, bytes."""
        return self.words.nbytes + (0 if self.vectors is None else self.vectors.nbytes)

    def place(self, row: int) -> Place:
        """Which passage a row is."""
        at = bisect_right(self.firsts, row) - 1
        return self.documents[at], row - self.firsts[at] + 1

    def without(self, gone: Collection[str]) -> "Block":
        """The same without some documents."""
        dead = [at for at, document in enumerate(self.documents) if document in gone]
        if not dead:
            return self
        live = np.ones(self.rows, dtype=np.bool_) if self.live is None else self.live.copy()
        for at in dead:
            live[self.firsts[at] : self.firsts[at + 1]] = False
        return replace(self, live=live)


def single(document: str, words: Segment, vectors: Matrix | None) -> Block:
    """One document as a block. Its vectors are as many as its passages."""
    return Block((document,), (0, len(words.lengths)), words, vectors)


def joined(blocks: Sequence[Block]) -> Block:
    """The live documents of several blocks as one, in order. CPU: about 25 ns a posting."""
    alive = [survivors(block) for block in blocks]
    chosen = [(block, at) for block, ats in zip(blocks, alive, strict=True) for at in ats]
    lengths = [block.firsts[at + 1] - block.firsts[at] for block, at in chosen]
    documents = tuple(block.documents[at] for block, at in chosen)
    firsts = tuple(accumulate(lengths, initial=0))
    words = merge([block.words for block in blocks], [block.live for block in blocks])
    return Block(documents, firsts, words, stacked(blocks))


def survivors(block: Block) -> list[int]:
    """Positions of the documents that are alive; one without passages never was."""
    live = block.live
    return [
        at
        for at in range(len(block.documents))
        if block.firsts[at] < block.firsts[at + 1] and (live is None or live[block.firsts[at]])
    ]


def stacked(blocks: Sequence[Block]) -> Matrix | None:
    """The live rows' vectors; None if one block has none."""
    matrices = [
        block.vectors if block.live is None or block.vectors is None else block.vectors[block.live]
        for block in blocks
    ]
    held = [matrix for matrix in matrices if matrix is not None]
    return np.concatenate(held) if len(held) == len(matrices) else None


def settled(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Few blocks, so that a query looks at few: each more than twice the next, none mostly dead.

    Like the levels of a log-structured merge tree: n passages are merged O(log n) times in their life.
    """
    kept: list[Block] = []
    for block in blocks:
        if block.size:
            kept.append(block if block.size * 2 > block.rows else joined([block]))
        while len(kept) > 1 and kept[-2].rows <= 2 * kept[-1].rows:
            kept[-2:] = [joined(kept[-2:])]
    return tuple(kept)
