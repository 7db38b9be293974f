"""What was said around a memory speaks for it: word scores spread along a thread. Pure.

A turn of a conversation seldom holds the words it is about; the turn before asked with them. Meaning does not
spread: a neighbour's similarity says little that one's own does not (figures: docs/decisions/0027). Memories
that name no thread have no neighbours, since nothing says that they were said in one breath.
"""

from collections.abc import Mapping

REACH = {1: 0.5, 2: 0.25}
"""What is added of the score of a neighbour so many places away, on either side."""

Spot = tuple[str, int]
"""A thread, and a place in it."""


def spread(scores: Mapping[str, float], spots: Mapping[str, Spot]) -> dict[str, float]:
    """Scores (BM25, not negative) with the neighbours' share, of all in `scores` and of their neighbours in
    `spots`. Nothing is known of a neighbour that was not found: it adds nothing."""
    loudest: dict[Spot, float] = {}
    for key, spot in spots.items():
        loudest[spot] = max(loudest.get(spot, 0.0), scores.get(key, 0.0))
    return {
        key: scores.get(key, 0.0) + (around(spots[key], loudest) if key in spots else 0.0)
        for key in scores.keys() | spots.keys()
    }


def around(spot: Spot, scores: Mapping[Spot, float]) -> float:
    """What the neighbours of a place add, nearest first and the earlier of two first: the same to the last
    bit in whatever order they were found."""
    thread, place = spot
    return sum(
        share * scores.get((thread, place + step), 0.0)
        for distance, share in REACH.items()
        for step in (-distance, distance)
    )
