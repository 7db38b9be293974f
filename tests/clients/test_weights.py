"""Word scores made anew: the same to the last bit, in whatever order the engine adds."""

import math
import random
from array import array
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients import weights
from app.clients.points import Ask, Point, Sparse, Where

terms = st.lists(st.integers(1, 8), unique=True, max_size=8).map(sorted)


def engine(asks: Sequence[Ask], stored: Sequence[Point], order: Sequence[int]) -> list[list[Point]]:
    """Adds in float32, in its own order of words."""
    return [ranked(ask, stored, order) for ask in asks]


def idf(term: int, stored: Sequence[Point]) -> float:
    """As Qdrant documents it."""
    holders = sum(term in weights.held(point) for point in stored)
    return math.log(1 + (len(stored) - holders + 0.5) / (holders + 0.5))


def ranked(ask: Ask, stored: Sequence[Point], order: Sequence[int]) -> list[Point]:
    """One list."""
    wanted = ask.words.indices if ask.words else ()
    scores, rare = {}, {term: np.float32(idf(term, stored)) for term in wanted}
    for point in stored:
        total = np.float32(0)
        for term in order:
            if term in wanted:
                total += rare[term] * np.float32(weights.held(point).get(term, 0.0))
        scores[point.id] = float(total)
    found = [
        Point(point.id, point.payload, None, point.words if ask.vectors else None, scores[point.id])
        for point in sorted(stored, key=lambda point: -scores[point.id])
        if scores[point.id] > 0
    ]
    return found[: ask.limit]


def asked(asks: Sequence[Ask], stored: Sequence[Point], order: Sequence[int]) -> list[list[Point]]:
    """As the engines of the house ask."""
    rows = engine(weights.seeing(asks), stored, order)
    known = weights.counted(asks, rows)
    probes = weights.probes(asks, known)
    return weights.weighed(asks, rows, known, weights.probed(probes, engine(probes, stored, order)))


@given(terms, st.lists(terms, max_size=9), st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_engines_order_of_adding_decides_nothing(
    question: list[int], texts: list[list[int]], limit: int, chance: random.Random
) -> None:
    """Whether the list was cut off or not; and the sums are right."""
    stored = [
        Point(str(n), words=Sparse(tuple(text), tuple(0.1 + term / 7 for term in text)))
        for n, text in enumerate(texts)
    ]
    asks = [Ask(Where(), limit, words=Sparse(tuple(question), (1.0,) * len(question)))]
    orders = list(range(1, 9)), chance.sample(range(1, 9), 8)
    one, other = ({point.id: point.score for point in asked(asks, stored, order)[0]} for order in orders)
    for key in one.keys() & other.keys():  # which of two that are equal comes in, `ties.py` decides
        assert one[key] == other[key]
        own = weights.held(stored[int(key)])
        assert abs(one[key] - sum(idf(term, stored) * own.get(term, 0.0) for term in question)) < 1e-5


@pytest.mark.parametrize("limit", [5, 50], ids=["cut off", "whole"])
def test_others_words_may_come_first(limit: int) -> None:
    """The same to the last bit in a reach of a thousand."""
    chance = random.Random(3)  # noqa: S311 - the same on every run
    stored = [
        Point(str(n), words=Sparse((n % 8 + 1,), (chance.random(),)) if n < 30 else Sparse())
        for n in range(1_000)
    ]
    asks = [Ask(Where(), limit, words=Sparse((1, 2, 5), (1.0, 0.5, 2.0)))]
    one, other = (asked(asks, stored, order) for order in ((1, 2, 5), (5, 2, 1)))
    assert one == other


@given(terms, st.lists(terms, max_size=9))
def test_a_whole_reach_needs_no_engine(question: list[int], texts: list[list[int]]) -> None:
    """The same list as by asking, to the last bit: every point with a word, best first, equal ones by id."""
    stored = [
        Point(str(n), words=Sparse(tuple(text), tuple(0.1 + term / 7 for term in text)))
        for n, text in enumerate(texts)
    ]
    words = Sparse(tuple(question), (1.0,) * len(question))
    [found] = asked([Ask(Where(), 99, words=words, vectors=True)], stored, range(1, 9))
    assert weights.reckoned(words, stored) == sorted(found, key=lambda point: (-point.score, point.id))


def test_of_a_points_words_those_asked_for_are_given() -> None:
    """Others have no part in what is made of them."""
    stored = [Point("1", words=Sparse((1, 2, 3), (0.5, 1.5, 2.5)))]
    [[found]] = asked([Ask(Where(), 5, words=Sparse((1, 3), (1.0, 1.0)), vectors=True)], stored, (1, 2, 3))
    assert found.words == Sparse((1, 3), (0.5, 2.5))


def test_vectors_are_given_only_to_who_asked() -> None:
    """They are fetched anyway."""
    words = Sparse((1,), (1.0,))
    stored = [Point("1", {"text": "x"}, words=words)]
    asks = [Ask(Where(), 5, words=words), Ask(Where(), 5, words=words, vectors=True)]
    plain, full = asked(asks, stored, (1,))
    assert (plain[0].words, full[0].words) == (None, words)


def test_a_word_is_asked_for_once_and_only_where_it_must() -> None:
    """However many legs ask by it in a scope; meaning needs none, nor does a list that was not cut off."""
    words = Sparse((1, 2), (1.0, 1.0))
    stored = [Point(str(n), words=words) for n in range(5)]
    legs = [Ask(Where(), 5, words=words), Ask(Where(), 5, dense=b"1234")]
    asks = [*legs, Ask(Where(), 5, words=words, among=legs[1])]
    cut, whole = [stored, stored, stored], [stored[:4], stored, stored]
    assert len(weights.probes(asks, weights.counted(asks, cut))) == 2
    assert weights.probes(asks, weights.counted(asks, whole)) == []
    long = Sparse(tuple(range(1_000)), (1.0,) * 1_000)
    assert len(weights.probes([Ask(Where(), 5, words=long)], {})) == 1_000


@pytest.mark.parametrize("limit", [20, 99], ids=["cut off", "whole"])
def test_however_long_the_question_no_sum_is_the_engines(limit: int) -> None:
    """Other people's words may have come first."""
    chance = random.Random(5)  # noqa: S311 - the same on every run
    words = 70
    held = [sorted(chance.sample(range(words), 15)) for _ in range(30)]
    stored = [
        Point(str(n), words=Sparse(tuple(own), tuple(chance.random() for _ in own)))
        for n, own in enumerate(held)
    ]
    asks = [Ask(Where(), limit, words=Sparse(tuple(range(words)), (1.0,) * words))]
    one, other = (
        {point.id: point.score for point in asked(asks, stored, order)[0]}
        for order in (range(words), range(words - 1, -1, -1))
    )
    assert {key: one[key] for key in one.keys() & other.keys()} == {
        key: other[key] for key in one.keys() & other.keys()
    }


def test_of_a_long_question_the_rarest_words_that_are_held_score() -> None:
    """Then the others, in their own order, to the same number; a short question's all."""
    most = weights.TERMS
    terms = tuple(range(most + 100))
    row = [
        Point("1", words=Sparse(terms[50:], terms[50:])),
        Point("2", words=Sparse(terms[-60:], terms[-60:])),
    ]
    found = weights.chosen(Sparse(terms, terms), row)
    assert found.indices == found.values == (*terms[50:-60], *terms[-60:])[:most]
    fewer = weights.chosen(Sparse(terms, terms), [Point("1", words=Sparse((most + 99,), (1.0,)))])
    assert fewer.indices == (*terms[: most - 1], most + 99)
    short = Sparse(terms[:most], terms[:most])
    assert weights.chosen(short, row) is short


@given(terms, st.lists(terms, max_size=9))
def test_of_packed_points_the_same_is_found(question: list[int], texts: list[list[int]]) -> None:
    """All at once: to the last bit what one after the other gives."""
    words = Sparse(tuple(question), tuple(0.3 * term for term in question))
    packed = [
        Point(str(n), words=Sparse(array("I", text), array("f", [1 / (1 + term) for term in text])))
        for n, text in enumerate(texts)
    ]
    plain = [
        replace(point, words=Sparse(tuple(point.words.indices), tuple(point.words.values)))
        for point in packed
        if point.words
    ]
    assert weights.shares(words, packed) == weights.shares(words, plain)
    assert weights.shares(words, [*packed, *plain]) == weights.shares(words, [*plain, *plain])
