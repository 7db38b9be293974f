"""Equal scores at the end of a list: engines break them by where points lie in their files, so that another
user's writes could change who is in. Here the id decides.

A few more than asked for are fetched, ordered by (score, id) and cut; if the scores are equal right to the
end of what was fetched, the engine is asked again for more. Pure, and the same for every engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.clients.points import Ask, Point

SPARE = 8
"""Points fetched beyond the limit: words of equal weight in texts of equal length are few in one list."""
NOISE = 1e-5
"""Share of a score that may be rounding: the engine's list is ordered by float32 sums."""
MOST = 512
"""Fetched in a second round where those do not do. Beyond so many equal scores the engine's order stands:
each costs its thread 20 us a list, and a search of some thousand equal ones took a second."""


def widened(asks: Sequence[Ask], spare: int) -> list[Ask]:
    """What the engine is asked: the asks, then those that they rank among, each longer by `spare`."""
    return [wide(ask, spare) for ask in (*asks, *inner(asks))]


def inner(asks: Sequence[Ask]) -> list[Ask]:
    """What is ranked among, each once, where it is not asked for anyway."""
    told = [key(ask) for ask in asks]
    found = {key(ask.among): ask.among for ask in asks if ask.among and key(ask.among) not in told}
    return [replace(ask, payload=False, vectors=False) for ask in found.values()]


def key(ask: Ask) -> Ask:
    """The ask as a question alone: the same for whoever wants payloads or not."""
    return replace(ask, payload=False, vectors=False)


def wide(ask: Ask, spare: int) -> Ask:
    """Longer by `spare`; one that ranks among others ranks them all."""
    if ask.among is None:
        return replace(ask, limit=ask.limit + spare)
    return replace(ask, limit=ask.among.limit + spare, among=wide(ask.among, spare))


def settled(asks: Sequence[Ask], found: Sequence[Sequence[Point]], spare: int) -> list[list[Point]] | None:
    """Each ask's list as it was asked for; None: equal scores go on beyond what was fetched."""
    every = (*asks, *inner(asks))
    if any(cut_off(ask, row, spare) for ask, row in zip(every, found, strict=True)):
        return None
    among = {
        key(ask): {point.id for point in best(row, ask.limit)} for ask, row in zip(every, found, strict=True)
    }
    return [
        best(within(ask, row, among), ask.limit) for ask, row in zip(asks, found[: len(asks)], strict=True)
    ]


def cut_off(ask: Ask, row: Sequence[Point], spare: int) -> bool:
    """Whether a point that was not fetched may score like the last one that is wanted."""
    if ask.among or not ask.limit or spare >= MOST or len(row) < ask.limit + spare:
        return False
    scores = sorted((point.score for point in row), reverse=True)
    return scores[ask.limit - 1] - scores[-1] <= NOISE * abs(scores[-1])


def within(ask: Ask, row: Sequence[Point], among: Mapping[Ask, set[str]]) -> Sequence[Point]:
    """Of a list that was ranked among others, those that the others' own list holds."""
    if ask.among is None:
        return row
    held = among[key(ask.among)]
    return [point for point in row if point.id in held]


def best(row: Sequence[Point], limit: int) -> list[Point]:
    """By score, then id."""
    return sorted(row, key=lambda point: (-point.score, point.id))[:limit]
