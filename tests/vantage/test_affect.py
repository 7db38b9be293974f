"""How moved the asker is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage import words
from app.vantage.affect import affect


def of(message: str) -> float:
    """Of a message."""
    return affect(message, words.read(message))


@pytest.mark.parametrize(
    "message", ["What is the capital of Peru?", "NASA launch date", "a list of ISO codes", ""]
)
def test_a_plain_message_is_calm(message: str) -> None:
    """Acronyms do not shout."""
    assert of(message) == 0.0


@pytest.mark.parametrize(
    ("calm", "moved"),
    [
        ("the dog is here", "the dog is here!"),
        ("the dog died yesterday", "the dog DIED YESTERDAY"),
        ("i am happy", "i am so happy"),
        ("i am here", "i am afraid"),
        ("it is late", "it is late 😭"),
        ("it is late", "it is laaaate"),
        ("ich bin hier", "ich bin verzweifelt"),
    ],
)
def test_each_sign_of_feeling_counts(calm: str, moved: str) -> None:
    """Marks, capitals, emphasis, words, pictures, stretched letters; in other languages too."""
    assert of(moved) > of(calm)


@given(st.text(max_size=200), st.sampled_from([" !", " 😭", " very", " sad"]))
def test_a_sign_more_never_lowers_it(message: str, sign: str) -> None:
    """Whatever stands before it."""
    assert 0.0 <= of(message) <= of(message + sign) < 1.0
