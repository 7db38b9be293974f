"""One question over some shelves: words by BM25, meaning by exact cosine, ties by (document, ordinal).

Pure computing over arrays; what costs more than a millisecond is called in a thread by whoever asks.
Cosines are raw here; `sources/documents.py` turns them into similarities.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.domain.passage import Hit
from app.domain.quick import quick
from app.domain.stopwatch import LEXICAL as WORDS
from app.domain.stopwatch import stage
from app.index.block import Block
from app.index.bm25 import Seen, contents, seen, shares, survey
from app.index.place import Matrix, Place, Spot, key
from app.index.shelf import Shelf
from app.retrieval.content import Content
from app.retrieval.terms import terms

hit_of = quick(Hit)

Ranked = list[tuple[Spot, float]]

SHORT = 100
"""Letters of a question whose cost is the passages; longer ones cost by their words, too…"""
LETTER = 10
"""…and every letter as much as so many passages, to be cut into terms: some 2 µs."""


class Search:
    """The blocks of a query's reach, laid side by side. A spot is (block, row) among them."""

    def __init__(self, shelves: Sequence[Shelf[Any, Any]]) -> None:
        self.shelves = shelves
        self.blocks: list[Block] = [block for shelf in shelves for block in shelf.blocks]
        self._reach = survey([], [])
        self._seen: list[Seen] = []

    @property
    def size(self) -> int:
        """Passages in reach."""
        return sum(shelf.size for shelf in self.shelves)

    def effort(self, text: str) -> int:
        """What the word leg costs, in passages searched for a short question (`meaning.INLINE`)."""
        return self.size * max(SHORT, len(text)) // SHORT + LETTER * len(text)

    def place(self, spot: Spot) -> Place:
        """Which passage stands there."""
        return self.blocks[spot[0]].place(spot[1])

    def spots(self, shelf: Shelf[Any, Any], places: Iterable[Place]) -> dict[Place, Spot]:
        """Where the living among a shelf's passages stand."""
        first = self._first(shelf)
        return {place: (first + block, row) for place, (block, row) in shelf.located(places).items()}

    def holds(self, shelf: Shelf[Any, Any], spot: Spot) -> bool:
        """Whether a passage stands on this shelf."""
        first = self._first(shelf)
        return first <= spot[0] < first + len(shelf.blocks)

    def _first(self, shelf: Shelf[Any, Any]) -> int:
        """The number of a shelf's first block."""
        return sum(len(other.blocks) for other in self.shelves[: self.shelves.index(shelf)])

    def words(self, text: str, limit: int) -> list[Spot]:
        """The word leg, best first. To be called before `hits`."""
        with stage(WORDS):
            return self._worded(text, limit)

    def _worded(self, text: str, limit: int) -> list[Spot]:
        """What every block holds of the words, by its score."""
        self._reach = survey([(block.words, block.live) for block in self.blocks], terms(text))
        self._seen = seen(self._reach)
        scores = [block.scores for block in self._seen]
        found = [(spot, self._score(spot)) for spot in best(scores, limit, 0.0)]
        return [spot for spot, _ in self.ranked(found)[:limit]]

    def hits(self, spots: Iterable[Spot], content: Content | None = None) -> dict[Spot, Hit]:
        """How the word leg sees passages; those without a word of the query are left out. `content`: the
        query's, where words alone are to tell what matches."""
        found: dict[Spot, Hit] = {}
        for block, rows in by_block(spots).items():
            at = np.array(rows, dtype=np.uint32)
            own, place = self._seen[block], self.blocks[block].place
            told = (
                contents(self._reach.fields[block], self._reach, content, at) if content else [0.0] * len(at)
            )
            held = zip(rows, own.scores[at].tolist(), *shares(self._reach, own, at), told, strict=True)
            for row, score, coverage, rare, share in held:
                if score > 0:
                    found[block, row] = hit_of(key(place(row)), score, coverage, rare, 0.0, share)
        return found

    def meaning(self, vector: Matrix, limit: int) -> Ranked:
        """The exact meaning leg over the blocks that have vectors: (spot, raw cosine), best first."""
        cosines = [row_cosines(block, vector) for block in self.blocks]
        found = [((block, row), float(cosines[block][row])) for block, row in best(cosines, limit, -np.inf)]
        return self.ranked(found)[:limit]

    def cosines(self, vector: Matrix, spots: Iterable[Spot]) -> dict[Spot, float]:
        """Cosines of a few passages, of those whose vectors are here."""
        found: dict[Spot, float] = {}
        for block, rows in by_block(spots).items():
            vectors = self.blocks[block].vectors
            if vectors is not None:
                values = np.vecdot(vectors[rows], vector).tolist()
                found.update(zip(((block, row) for row in rows), values, strict=True))
        return found

    def ranked(self, found: Iterable[tuple[Spot, float]]) -> Ranked:
        """Best first; equal ones by document and ordinal."""
        every = list(found)
        if len({value for _, value in every}) == len(every):
            return sorted(every, key=lambda item: -item[1])
        return sorted(every, key=lambda item: (-item[1], self.place(item[0])))

    def _score(self, spot: Spot) -> float:
        """BM25 of a passage."""
        return float(self._seen[spot[0]].scores[spot[1]])


def by_block(spots: Iterable[Spot]) -> dict[int, list[int]]:
    """Rows, each once and ascending, by the block they stand in."""
    found: dict[int, list[int]] = {}
    for block, row in sorted(set(spots)):
        found.setdefault(block, []).append(row)
    return found


def row_cosines(block: Block, vector: Matrix) -> NDArray[np.float32]:
    """Of every row; nothing for the dead and for blocks without vectors."""
    if block.vectors is None:
        return np.full(block.rows, -np.inf, dtype=np.float32)
    # vecdot sums each row alone: equal rows get equal bits wherever they lie, and no BLAS threads are
    # woken, which under load cost twenty times what they save (0.6 against 12 ms for 10,000 rows).
    found: NDArray[np.float32] = np.vecdot(block.vectors, vector)
    if block.live is not None:
        found[~block.live] = -np.inf
    return found


def cosine(row: Matrix, vector: Matrix) -> float:
    """Of two unit vectors: the same bits as in `row_cosines`."""
    return float(np.vecdot(row, vector))


def best(values: Sequence[NDArray[np.floating]], limit: int, least: float) -> list[Spot]:
    """Spots of the `limit` largest values above `least`, and of all that tie with the last of them."""
    every = np.concatenate([np.zeros(0, dtype=np.float32), *values])
    if len(every) > limit:
        least = max(least, float(np.nextafter(np.partition(every, -limit)[-limit], -np.inf)))
    offsets = np.cumsum([0, *(len(some) for some in values)])
    chosen = np.flatnonzero(every > least)
    blocks = np.searchsorted(offsets, chosen, side="right") - 1
    return list(zip(blocks.tolist(), (chosen - offsets[blocks]).tolist(), strict=True))
