"""How much of a message narrows the answer down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage import words
from app.vantage.specificity import specificity


def of(message: str) -> float:
    """Of a message."""
    return specificity(message, words.read(message))


@pytest.mark.parametrize(
    ("loose", "narrow"),
    [
        ("the rent of a flat", "the rent of a flat in Bergen"),
        ("the rent in Bergen", "the rent in Bergen 1987"),
        ("who said so", 'who said "so"'),
        ("call me", "call me if unless"),
        ("write words", "write exactly words"),
        ("what is due", "what is due in march"),
    ],
)
def test_each_sign_narrows(loose: str, narrow: str) -> None:
    """Names, numbers, quotations, conditions, constraints, months."""
    assert of(narrow) > of(loose)


def test_a_name_is_told_from_a_sentences_first_word() -> None:
    """By where its capital stands."""
    assert of("Bread is good. Rice is good.") < of("Bread is good in Rome. Rice is good.")
    assert of("Rice") == of("rice")


def test_nothing_is_not_specific() -> None:
    """And a plea hardly."""
    assert of("") == 0.0
    assert of("help me") < 0.1


@given(st.text(max_size=200), st.sampled_from([" in 1987", " if it rains", ' "so"', " exactly"]))
def test_a_further_condition_never_lowers_it(message: str, further: str) -> None:
    """Whatever stands before it."""
    assert 0.0 <= of(message) <= of(message + further) < 1.0
