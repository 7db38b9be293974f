"""How much of a question an embedder can read: the longer its pieces, the more."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.models.bundled import LEAST, WHOLE, grasp, whole


@given(st.floats(0, allow_nan=False))
def test_a_question_is_never_unread_altogether(letters: float) -> None:
    """Nor read more than whole: infinity is a question without words."""
    assert LEAST <= grasp(letters) <= 1


def test_longer_pieces_are_read_better() -> None:
    """Up to those of related languages, and nothing falls or leaps on the way."""
    told = [grasp(WHOLE * share / 20) for share in range(5, 21)]
    assert all(less < more <= less + 0.11 for less, more in pairwise(told))
    assert told[-1] == 1


def test_what_is_only_spelled_hardly_counts() -> None:
    """A letter a piece."""
    assert grasp(1.0) == pytest.approx(0.16)


@pytest.mark.parametrize("text", ["", "bridge", "мост"])
def test_where_nobody_sees_the_pieces_all_is_read(text: str) -> None:
    """No evidence is no evidence against it."""
    assert whole(text) == 1
