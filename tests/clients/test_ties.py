"""Equal scores at the end of a list: the id decides, whatever order the engine has them in."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients import ties
from app.clients.points import Ask, Point, Sparse, Where

WORDS = Ask(Where(), 0, words=Sparse((1,), (1.0,)))
MEANING = Ask(Where(), 0, dense=b"1234")

scores = st.lists(st.integers(0, 3), max_size=60)


def engine(asks: Sequence[Ask], stored: dict[str, tuple[int, int]]) -> list[list[Point]]:
    """Ranks `{id: (score by words, by meaning)}`; equal scores as they were stored."""
    return [ranked(ask, stored) for ask in asks]


def ranked(ask: Ask, stored: dict[str, tuple[int, int]]) -> list[Point]:
    """One list."""
    among = {point.id for point in ranked(ask.among, stored)} if ask.among else stored.keys()
    leg = 0 if ask.words else 1
    found = [Point(name, score=told[leg]) for name, told in stored.items() if name in among]
    return sorted(found, key=lambda point: -point.score)[: ask.limit]


def searched(asks: Sequence[Ask], stored: dict[str, tuple[int, int]]) -> list[list[Point]]:
    """As the engines of the house search."""
    spares = ties.spares(asks)
    while True:
        found = engine(ties.widened(asks, spares), stored)
        if (more := ties.grown(asks, found, spares)) == spares:
            return ties.settled(asks, found)
        spares = more


@given(scores, scores, st.integers(0, 12), st.randoms(use_true_random=False))
def test_the_order_of_the_files_decides_nothing(
    words: list[int], meaning: list[int], limit: int, chance: random.Random
) -> None:
    """However many are equal, and of what ranks among others too."""
    stored = {f"{n:02}": pair for n, pair in enumerate(zip(words, meaning, strict=False))}
    asks = [replace(WORDS, limit=limit), replace(MEANING, limit=4, among=replace(WORDS, limit=limit))]
    shuffled = dict(chance.sample(list(stored.items()), len(stored)))

    found = searched(asks, shuffled)

    wanted = sorted(stored, key=lambda name: (-stored[name][0], name))[:limit]
    assert [point.id for point in found[0]] == wanted
    assert [point.id for point in found[1]] == sorted(wanted, key=lambda name: (-stored[name][1], name))[:4]


def test_what_is_asked_anyway_is_asked_once() -> None:
    """The list that another ranks among is one of the asks, payload or not."""
    words = replace(WORDS, limit=5)
    asks = [words, replace(MEANING, limit=5, among=replace(words, payload=False))]
    assert len(ties.widened(asks, ties.spares(asks))) == 2
    assert len(ties.widened(asks[1:], ties.spares(asks[1:]))) == 2


def test_beyond_so_many_equal_scores_the_engine_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection whose every point is equal is not fetched whole: three rounds, and that is that."""
    stored = {f"{n:05}": (1, 1) for n in range(2_000)}
    rounds: list[int] = []
    widened = ties.widened

    def told(asks: Sequence[Ask], spares: ties.Spares) -> list[Ask]:
        rounds.extend(spares.values())
        return widened(asks, spares)

    monkeypatch.setattr(ties, "widened", told)
    assert len(searched([replace(WORDS, limit=5)], stored)[0]) == 5
    assert rounds == [ties.SPARE, ties.SPARE * ties.MORE, ties.MOST]


def test_only_the_list_that_was_cut_is_asked_for_again() -> None:
    """The others stay as long as they were, what ranks among it grows with it."""
    stored = {f"{n:03}": (1, n) for n in range(200)}
    words, meaning = replace(WORDS, limit=5), replace(MEANING, limit=7)
    asks = [words, meaning, replace(meaning, limit=5, among=words)]
    spares = ties.spares(asks)

    more = ties.grown(asks, engine(ties.widened(asks, spares), stored), spares)

    assert more == {ties.key(words): ties.SPARE * ties.MORE, ties.key(meaning): ties.SPARE}
    assert [ask.limit for ask in ties.widened(asks, more)] == [5 + 64, 7 + 8, 5 + 64]
