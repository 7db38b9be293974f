"""Whether two models' vectors are of one space."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.adopt import AdoptReport, Taken, cosine, is_same_space
from app.types import Embedding


def vector(seed: str, *, wide: int = 256, noise: float = 0.0) -> Embedding:
    """A direction of its own for each seed, with some noise."""
    chance, blur = random.Random(seed), random.Random(f"{seed}!")  # noqa: S311 - noise
    return struct.pack(f"<{wide}f", *(chance.gauss(0, 1) + noise * blur.gauss(0, 1) for _ in range(wide)))


@given(st.text(max_size=5), st.text(max_size=5))
def test_a_cosine_is_one_of_itself_and_between_both(one: str, other: str) -> None:
    """Whatever their lengths."""
    assert cosine(vector(one), vector(one)) == pytest.approx(1)
    assert -1.0001 <= cosine(vector(one), vector(other)) <= 1.0001


def test_a_vector_of_zeros_is_like_nothing() -> None:
    """Not even like itself."""
    assert cosine(bytes(32), bytes(32)) == 0


@pytest.mark.parametrize(
    ("noise", "others", "verdict"),
    [(0.0, 0, True), (0.7, 0, True), (0.0, 3, True), (0.0, 4, False), (3.0, 0, False), (0.0, 32, False)],
    ids=["equal", "of a part of the text", "a tenth others", "more others", "too far", "another model"],
)
def test_a_space_is_told_by_most_of_a_sample(noise: float, others: int, verdict: bool) -> None:
    """A text's two vectors are near where one model made both, whatever it was given of the text."""
    pairs = [(vector(str(n)), vector(str(n), noise=noise)) for n in range(32 - others)]
    pairs += [(vector(str(n)), vector(f"another {n}")) for n in range(others)]
    assert is_same_space(pairs, 0.0) is verdict


def test_a_floor_is_taken_out_first() -> None:
    """In a space where unrelated texts lie at .7, .8 is no likeness."""
    one = struct.pack("<2f", 1, 0)
    other = struct.pack("<2f", 0.8, 0.6)
    assert is_same_space([(one, other)], 0.0)
    assert not is_same_space([(one, other)], 0.7)


def test_nothing_to_compare_proves_nothing() -> None:
    """Then texts are embedded anew."""
    assert not is_same_space([], 0.0)


def test_what_is_left_is_told_of_all() -> None:
    """Tables and collections."""
    assert AdoptReport("s", [Taken("a", left=2)], [Taken("b", left=1)]).left == 3
