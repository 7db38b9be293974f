"""Equal scores at the end of a list: engines break them by where points lie in their files, so that another
user's writes could change who is in. Here the id decides.

A few more than asked for are fetched, ordered by (score, id) and cut; where the scores are equal right to the
end of what was fetched, all is asked again, that list longer. Pure, and the same for every engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from app.clients.points import Ask, Point

SPARE = 8
"""Points fetched beyond the limit: words of equal weight in texts of equal length are few in one list."""
NOISE = 1e-5
"""Share of a score that may be rounding: the engine's list is ordered by float32 sums."""
MORE = 8
"""Times as many in the next round."""
MOST = 512
"""Fetched beyond the limit at last. Beyond so many equal scores the engine's order stands: each costs its
thread 20 us a list, and a search of some thousand equal ones took a second."""

Question: TypeAlias = tuple[object, ...]
Spares: TypeAlias = Mapping[Question, int]
"""Points beyond the limit, by `key`; of what ranks among others it is theirs."""


def spares(asks: Sequence[Ask]) -> Spares:
    """Of the first round."""
    return {key(ask): SPARE for ask in (*asks, *inner(asks)) if not ask.among}


def widened(asks: Sequence[Ask], spares: Spares) -> list[Ask]:
    """What the engine is asked: the asks, then those that they rank among, each longer by its spare."""
    return [wide(ask, spares) for ask in (*asks, *inner(asks))]


def grown(asks: Sequence[Ask], found: Sequence[Sequence[Point]], spares: Spares) -> Spares:
    """For the next round; the same: none is needed."""
    every = zip((*asks, *inner(asks)), found, strict=True)
    cut = {key(ask) for ask, row in every if not ask.among and cut_off(ask, row, spares[key(ask)])}
    return {each: spare * MORE if each in cut else spare for each, spare in spares.items()}


def inner(asks: Sequence[Ask]) -> list[Ask]:
    """What is ranked among, each once, where it is not asked for anyway."""
    told = [key(ask) for ask in asks]
    found = {key(ask.among): ask.among for ask in asks if ask.among and key(ask.among) not in told}
    return [replace(ask, payload=False, vectors=False) for ask in found.values()]


def key(ask: Ask) -> Question:
    """The ask as a question alone: the same for whoever wants payloads or not."""
    return ask.where, ask.limit, ask.dense, ask.words, ask.among and key(ask.among)


def wide(ask: Ask, spares: Spares) -> Ask:
    """Longer by its spare; one that ranks among others ranks them all."""
    if ask.among is None:
        return replace(ask, limit=ask.limit + spares[key(ask)])
    among = wide(ask.among, spares)
    return replace(ask, limit=among.limit, among=among)


def settled(asks: Sequence[Ask], found: Sequence[Sequence[Point]]) -> list[list[Point]]:
    """Each ask's list as it was asked for."""
    among = {
        key(ask): {point.id for point in best(row, ask.limit)}
        for ask, row in zip((*asks, *inner(asks)), found, strict=True)
        if not ask.among
    }
    return [
        best(within(ask, row, among), ask.limit) for ask, row in zip(asks, found[: len(asks)], strict=True)
    ]


def cut_off(ask: Ask, row: Sequence[Point], spare: int) -> bool:
    """Whether a point that was not fetched may score like the last one that is wanted."""
    if not ask.limit or spare >= MOST or len(row) < ask.limit + spare:
        return False
    scores = sorted((point.score for point in row), reverse=True)
    return scores[ask.limit - 1] - scores[-1] <= NOISE * abs(scores[-1])


def within(ask: Ask, row: Sequence[Point], among: Mapping[Question, set[str]]) -> Sequence[Point]:
    """Of a list that was ranked among others, those that the others' own list holds."""
    if ask.among is None:
        return row
    held = among[key(ask.among)]
    return [point for point in row if point.id in held]


def best(row: Sequence[Point], limit: int) -> list[Point]:
    """By score, then id."""
    return sorted(row, key=lambda point: (-point.score, point.id))[:limit]
