"""How many distinct things a message asks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage import words
from app.vantage.breadth import _END, _READ, _TELLING, _asks, _listed, _number, _Read, breadth


def of(message: str) -> float:
    """Of a message."""
    return breadth(words.read(message))


@pytest.mark.parametrize(
    ("asks", "message"),
    [
        (1, "What is the capital of Peru?"),
        (1, "capital of peru"),
        (1, "Compare Rust and Go."),
        (1, "Explain salt and pepper to me"),
        (1, "I moved. I am tired. What should I eat?"),
        (1, "What is it? What is it?"),
        (2, "What is the capital of Peru and how many people live there?"),
        (2, "List the planets and explain their names."),
        (2, "Was ist das und wer hat es gebaut?"),
        (2, "Write a poem. Then translate it."),
        (3, "When? Where? Why?"),
        (3, "1) fix the door\n2) paint the wall\n3) sweep the floor"),
        (3, "1. one horse\n2. two cows\n3. three hens"),
        (2, "1. fix the door\n2. paint the wall"),
        (3, "- one horse\n- two cows\n- three hens"),
    ],
)
def test_asks_are_counted(asks: int, message: str) -> None:
    """Questions, commands, items of a list; each once."""
    assert of(message) == pytest.approx(1 - 1 / asks)


@given(st.text(max_size=300), st.sampled_from(["What is the time in Oslo?", "Why?", "List the moons."]))
def test_a_further_question_never_lowers_it(message: str, further: str) -> None:
    """On a line of its own."""
    assert 0.0 <= of(message) <= of(f"{message}\n{further}") < 1.0


def test_a_hundred_questions_are_not_quite_one() -> None:
    """Breadth stays below 1."""
    assert 0.98 < of(" ".join(f"What is {n}?" for n in range(100))) < 1.0


SAID = ["what", "list", "the", "roof", ".", "?", "\n", "1", "2", ")", "-", "and", "please", "i want", "tea"]


@given(st.lists(st.sampled_from(SAID), max_size=40).map(" ".join))
def test_no_sentence_that_asks_is_passed_over(message: str) -> None:
    """Without a telling word it asks nothing, unless it is a number's item, and those are known."""
    text = words.read(message)
    tokens, kinds = text.tokens, text.kinds
    read = _Read(tokens, *(table.marks(kinds) for table in _READ))
    begun = 0
    for end in (*_END.places(kinds), len(kinds)):
        if begun < min(end + 1, len(kinds)) and not _TELLING.count(kinds[begun : end + 1]):
            assert _asks(read, begun, min(end + 1, len(kinds)), frozenset()) == 0
        begun = end + 1
    items = {after for (number, *stop), after in pairwise(text.sentences) if _number((number, *stop))}
    assert _listed(tokens, kinds, _END.marks(kinds)) == items
