"""Requests that contradict themselves."""

import pytest

from app.vantage.clash import OPPOSITES, clashes

PAIRS = [pair.split() for pair in OPPOSITES.split("|")]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_opposites_of_one_thing_clash(pair: list[str]) -> None:
    """Whichever is said first."""
    one, other = pair
    assert clashes(["make", "it", one, "but", other])
    assert clashes(["make", "it", other, "and", "also", one])


@pytest.mark.parametrize(
    "text",
    [
        "give me a one-word answer in 500 words",
        "write one sentence with at least 300 words",
        "write a text without adjectives and many adjectives",
    ],
)
def test_little_and_much_clash(text: str) -> None:
    """So does what is to be missing and there."""
    assert clashes(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "make coffee without a coffee machine",
        "give me one word for three things",
        "write 500 words about one page",
        "give me these 500 words in one sentence",
        "make the intro shorter and the conclusion longer",
        "write a short but detailed summary",
        "write a short story about a long journey",
        "what is short and long",
        "compare hot and cold",
        "make it shorter or longer",
        "write about the difference of formal and informal",
        "",
    ],
)
def test_two_things_may_be_opposite(text: str) -> None:
    """A choice, a comparison, two objects."""
    assert not clashes(text.split())
