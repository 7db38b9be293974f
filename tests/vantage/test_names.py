"""Names and nothing else."""

import pytest

from app.vantage.names import GIVEN, SURNAMES, named


@pytest.mark.parametrize("text", ["jennifer", "peter miller", "dr smith", "mrs anna weber", "maria"])
def test_a_person_alone_is_a_name(text: str) -> None:
    """With or without title and surname."""
    assert named(text.split())


@pytest.mark.parametrize(
    "text", ["", "dr", "smith", "peter is here", "paris", "anna karenina", "peter john paul smith"]
)
def test_what_may_be_something_else_is_none(text: str) -> None:
    """A trade, a place, a book, a sentence."""
    assert not named(text.split())


def test_given_names_are_no_other_words() -> None:
    """Those that are words, places or months as well are left out."""
    assert GIVEN.isdisjoint(
        {"rose", "paris", "jordan", "will", "grace", "may", "june", "april", "mark", "victoria"}
    )
    assert all(word == word.lower() for word in GIVEN | SURNAMES)
