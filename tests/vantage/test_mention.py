"""Words that are meant as words."""

import pytest

from app.vantage.mention import worded


@pytest.mark.parametrize(
    "text",
    [
        "difference between that and which",
        "difference between this and these",
        "difference between it is and its",
        "which is correct who or whom",
        "when do i use then and when than",
        "what part of speech is because",
        "is which a pronoun",
        "what is another word for good",
        "how do you spell your",
    ],
)
def test_a_word_that_is_spoken_about_is_meant(text: str) -> None:
    """Where a noun should stand, or in talk of grammar."""
    assert worded(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "difference between this and that",
        "difference between it and the other",
        "difference between a and b",
        "which do i use",
        "when do i use it",
        "what is the word for this",
        "should i use it or not",
        "is it a noun",
        "",
    ],
)
def test_a_word_that_points_is_not(text: str) -> None:
    """Two things, or one that was spoken of."""
    assert not worded(text.split())
