"""What words weigh: more where they tell, less where meaning does, never nothing."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.fusion import DENSE_CONTRAST, DEPTH, LEAST, LEXICAL_CONTRAST, MOST_CONTRAST, fall, weight

SCORE = st.just(0.0) | st.floats(1e-6, 100)  # of BM25: what float32 can hold
LEG = st.lists(SCORE, max_size=30).map(lambda scores: sorted(scores, reverse=True))
NEAR = st.lists(st.floats(-1, 1), max_size=30).map(lambda scores: sorted(scores, reverse=True))


def falling(slope: float, *, best: float = 1.0, places: int = 12) -> list[float]:
    """A leg that falls by `slope` a natural logarithm of the place."""
    return [max(0.0, best - slope * math.log(place)) for place in range(1, places + 1)]


@given(LEG, NEAR)
def test_no_leg_is_turned_off(words: list[float], meaning: list[float]) -> None:
    assert LEAST <= weight(words, meaning) <= MOST_CONTRAST


def test_legs_of_middling_clarity_weigh_as_they_are() -> None:
    assert weight(falling(LEXICAL_CONTRAST), falling(DENSE_CONTRAST, best=0.7)) == pytest.approx(1)


def test_the_clearer_words_tell_the_more_they_weigh() -> None:
    weights = [weight(falling(slope), falling(DENSE_CONTRAST, best=0.7)) for slope in (0.12, 0.16, 0.2, 0.3)]
    assert all(less < more for less, more in pairwise(weights))


def test_the_clearer_meaning_tells_the_less_they_weigh() -> None:
    weights = [
        weight(falling(LEXICAL_CONTRAST), falling(slope, best=0.7)) for slope in (0.03, 0.055, 0.1, 0.14)
    ]
    assert all(more > less for more, less in pairwise(weights))


@given(LEG, NEAR, st.floats(0.1, 10))
def test_the_scale_of_word_scores_does_not_matter(
    words: list[float], meaning: list[float], factor: float
) -> None:
    """BM25 of another corpus differs by a factor."""
    assert weight([factor * each for each in words], meaning) == pytest.approx(weight(words, meaning))


@pytest.mark.parametrize("places", [4, 6, 8, 40])
def test_how_many_were_asked_for_hardly_matters(places: int) -> None:
    """Falls go with the logarithm of the place."""
    whole = weight(falling(0.3, places=DEPTH), falling(0.05, best=0.7, places=DEPTH))
    assert weight(falling(0.3, places=places), falling(0.05, best=0.7, places=places)) == pytest.approx(whole)


def test_a_word_leg_that_ran_out_fell_to_nothing() -> None:
    """Two passages hold a word of the question and ten do not: that tells more than two of two."""
    near = falling(DENSE_CONTRAST, best=0.7)
    assert weight([1.0, 0.8], near) > weight([1.0, 0.8], near[:2])


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        pytest.param([], [0.5, 0.4], id="no words"),
        pytest.param([1.0, 0.5], [], id="no meaning"),
        pytest.param([1.0], [0.5], id="one passage"),
        pytest.param([0.0, 0.0], [0.5, 0.4], id="words that say nothing"),
        pytest.param([1.0, 1.0], [0.5, 0.5], id="all alike"),
    ],
)
def test_without_evidence_words_weigh_one(words: list[float], meaning: list[float]) -> None:
    assert weight(words, meaning) == 1


def test_a_leg_that_does_not_fall_tells_nothing() -> None:
    """Words that all hold weigh least, similarities that are all the same leave it to words."""
    assert weight([1.0, 1.0], [0.5, 0.4]) == LEAST
    assert weight([1.0, 0.5], [0.5, 0.5]) == MOST_CONTRAST


def test_a_fall_is_told_by_the_place_it_ends_at() -> None:
    assert fall([1.0, 0.5]) == pytest.approx(0.5 / math.log(2))
    assert fall([1.0, *[0.4] * (DEPTH - 1), 0.0]) == pytest.approx(0.6 / math.log(DEPTH))
    assert fall([]) == fall([1.0]) == 0
