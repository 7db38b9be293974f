"""How many distinct things a message asks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage import words
from app.vantage.breadth import BULLETS, MARK, OPENING, ORDERS, WISHES, _asking, breadth


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


SAID = [
    "what",
    "list",
    "the",
    "roof",
    ".",
    "?",
    "\n",
    "1",
    "2",
    ")",
    "-",
    "and",
    "please",
    "i want",
    "tea",
    "'s",
]


def asks(sentence: tuple[str, ...], numbered: bool) -> bool:
    """As it is meant: a question or a command, a wish, an item; none without a word."""
    said = [word for word in sentence if word.isalnum()]
    opened = next((word for word in said if word not in OPENING), (*said, "")[0])
    wish = said[:1] == ["i"] and sentence[sentence.index("i") :][:2] in WISHES
    item = sentence[0] in BULLETS or (sentence[0].isdecimal() and sentence[1:2] == (")",))
    behind = numbered and not (sentence[0].isdecimal() and sentence[1:] == (".",))
    return bool(said) and (sentence[-1] in MARK or opened in ORDERS or wish or item or behind)


@given(st.lists(st.sampled_from(SAID), max_size=40).map(" ".join))
def test_sentences_that_ask_are_found_by_their_bytes(message: str) -> None:
    """All of them, and no other; an item stands behind its number."""
    text = words.read(message)
    before = [(), *text.sentences]
    numbered = [len(said) == 2 and said[0].isdecimal() and said[1] == "." for said in before]
    told = {said for said, item in zip(text.sentences, numbered, strict=False) if asks(said, item)}
    assert {text.tokens[begun:end] for begun, _, end in _asking(text.kinds)} == told
