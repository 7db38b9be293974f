"""Values made quickly are the values that their own constructor makes."""

import copy
import dataclasses
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.memo import quick
from app.types import Hit


@dataclass(frozen=True, slots=True)
class Word:
    """As those of the domain: slots, defaults, a field that is not compared."""

    text: str
    weight: float = 1.0
    notes: list[str] = field(default_factory=list)
    lent: float = field(default=0.0, compare=False)


@given(st.text(), st.floats(allow_nan=False), st.floats(), st.booleans(), st.floats())
def test_it_is_equal_to_the_constructors(
    key: str, score: float, coverage: float, rare: bool, lent: float
) -> None:
    """In kind, fields, hash and words; a field that is not compared counts for neither."""
    made, plain = (make(key, score, coverage, rare, lent, 0.0) for make in (quick(Hit), Hit))
    assert (type(made), repr(made), hash(made)) == (Hit, repr(plain), hash(plain))
    assert [made.key, made.score, made.rare] == [key, score, rare]
    assert quick(Hit)(key, score, 0.5, rare, 1.0, 0.0) == Hit(key, score, 0.5, rare, 2.0)


def test_it_is_as_frozen() -> None:
    """A value that was passed on is what it was."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(quick(Word)("sea", 1.0, [], 0.0), "text", "sand")  # noqa: B010 - the type checker refuses more


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, dataclasses.replace])
def test_it_goes_where_others_go(again: object) -> None:
    """Copied, or changed in a field, it stays of its kind."""
    assert callable(again)
    assert again(quick(Word)("sea", 2.0, ["deep"], 0.5)) == Word("sea", 2.0, ["deep"], 0.5)


def test_no_field_is_left_out() -> None:
    """Defaults are the constructor's own: whoever forgets one is told."""
    with pytest.raises(TypeError):
        quick(Word)("sea", 1.0)
