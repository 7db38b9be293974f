"""The asks of one question put to an engine at hand in two rounds: what ranks by itself, then all that needs
to know of it. A server is asked in one, for there a round trip costs more than a search.

What ranks among another ask's points is asked for those points by name: else the engine makes that other
search once more. Words that cannot be counted are probed in the same round. Nothing here raises by itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from app.clients import weights
from app.clients.points import Ask, Point
from app.clients.ties import key

Rows: TypeAlias = list[list[Point]]
"""One list an ask."""


def weighed(asks: Sequence[Ask], search: Callable[[Sequence[Ask]], Rows]) -> Rows:
    """The asks' lists, in the engine's order, with scores that are the asker's alone (`weights.py`). Whatever
    an ask ranks among must be asked too (`ties.widened`)."""
    plain = [ask for ask in asks if ask.among is None]
    first = search(weights.seeing(plain))
    known = weights.counted(plain, first)
    probes = weights.probes(asks, known)
    rest = list(named(asks, {key(ask): row for ask, row in zip(plain, first, strict=True)}))
    second = search([*probes, *weights.seeing(rest)]) if probes or rest else []
    rows, others = iter(first), iter(second[len(probes) :])
    every = [next(others if ask.among else rows) for ask in asks]
    return weights.weighed(asks, every, known, second[: len(probes)])


def named(asks: Sequence[Ask], found: Mapping[Ask, Sequence[Point]]) -> Iterator[Ask]:
    """Those that rank among others, for these by name."""
    for ask in asks:
        if ask.among:
            ids = tuple(point.id for point in found[key(ask.among)])
            yield replace(ask, among=None, where=replace(ask.where, ids=ids))
