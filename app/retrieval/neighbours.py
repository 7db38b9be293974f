"""What was said around a memory counts for it: BM25 scores spread along a thread.

A turn of a conversation seldom holds the words that it is about; the turn before asked with them. Similarity
is not spread: a neighbour's says little that one's own does not (docs/adr/0004). Memories that name no
thread have no neighbours. Pure computing.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.retrieval.index import Floats, Segment

STEPS = {-1: 0.5, 1: 0.5, -2: 0.25, 2: 0.25}
"""What is added of the score of a neighbour so many places away."""
SPOT = "spot"
"""The column of a segment that holds thread and place in one number (`spot_number`)."""
PLACES = 24
"""Bits of the place; the other 40 are the thread's."""


def spot_number(thread_id: str, place: int) -> int:
    """Where a memory was said; 0: nobody knows. Consecutive places of a thread are consecutive numbers."""
    if not thread_id or not 0 < place < 1 << PLACES:
        return 0
    digest = hashlib.blake2b(thread_id.encode("utf-8", "surrogatepass"), digest_size=5).digest()
    return int.from_bytes(digest, "little") << PLACES | place


def spread(segments: Sequence[Segment], scores: Sequence[Floats]) -> list[Floats]:
    """What the neighbours of each row add to its score. Of two memories in one place the better counts."""
    if not segments:
        return []
    spots = np.concatenate([segment.columns[SPOT] for segment in segments])
    every = np.concatenate([*scores])
    lent = np.zeros(len(every))
    scored = np.flatnonzero((every > 0) & (spots > 0))
    if len(scored):
        places, best = _loudest(spots[scored], every[scored])
        targets = np.concatenate([places + np.uint64(step % (1 << 64)) for step in STEPS])
        loans = np.concatenate([share * best for share in STEPS.values()])
        targets, at = np.unique(targets, return_inverse=True)
        lent = _looked_up(spots, targets, np.bincount(at, weights=loans).astype(np.float64))
    return np.split(lent, np.cumsum([len(each) for each in scores])[:-1])


def _loudest(spots: NDArray[np.uint64], scores: Floats) -> tuple[NDArray[np.uint64], Floats]:
    """Distinct spots, ascending, and the best score at each."""
    places, at = np.unique(spots, return_inverse=True)
    best = np.zeros(len(places))
    np.maximum.at(best, at, scores)
    return places, best


def _looked_up(spots: NDArray[np.uint64], places: NDArray[np.uint64], values: Floats) -> Floats:
    """The value at each known spot, 0 where there is none. `places` ascend."""
    at = np.minimum(np.searchsorted(places, spots), len(places) - 1)
    return np.where((places[at] == spots) & (spots > 0), values[at], 0.0)
