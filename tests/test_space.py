"""Similarity: cosines that mean the same in every space."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.types import LEAST_FLOOR, similarity, space_name

cosines = st.floats(-1, 1)
floors = st.floats(-1, 0.99)


@given(cosines, floors)
def test_stays_in_range(cosine: float, floor: float) -> None:
    """A similarity is never outside [-1, 1]."""
    assert -1 <= similarity(cosine, floor) <= 1


@given(cosines, cosines, floors)
def test_keeps_the_order(one: float, other: float, floor: float) -> None:
    """The nearer of two texts stays the nearer, or both are at the clamp."""
    low, high = sorted((one, other))
    assert similarity(low, floor) <= similarity(high, floor)


@given(st.floats(LEAST_FLOOR, 0.99))
def test_unrelated_is_zero_and_equal_is_one(floor: float) -> None:
    """A text at the floor has similarity 0, the same text 1."""
    assert similarity(floor, floor) == 0
    assert similarity(1, floor) == pytest.approx(1)


@given(cosines, st.floats(-1, LEAST_FLOOR, exclude_max=True))
def test_a_low_floor_counts_as_none(cosine: float, floor: float) -> None:
    """Below .15 a space is comparable as it is."""
    assert similarity(cosine, floor) == cosine


def test_a_space_of_one_point_has_no_similarity() -> None:
    """A floor of 1 divides by nothing: all is as good as unrelated."""
    assert similarity(1, 1) == 0


def test_a_space_is_named_by_model_and_dimensions() -> None:
    """The name is what every vector records."""
    assert space_name("text-embedding-3-large", 1536) == "text-embedding-3-large@1536"
