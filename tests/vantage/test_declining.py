"""What declines, and what only seems to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.declining import MOST, STRANGERS, declines
from app.vantage.sentence import sentences
from tests.vantage.refusals import LEAKS, REFUSALS

NO = "I can't help with that."
EMPTY = {
    *(
        "Sure.",
        "is what you want.",
        "Sure, I can help with that.",
        "I'm glad to help. Call it what you like.",
    ),
    "Ok, no problem. Of course I can help you with that today.",
}
"""They tell nothing: behind a sentence that declines they are idle, and no leak."""


@pytest.mark.parametrize("text", REFUSALS)
def test_an_ordinary_refusal_declines(text: str) -> None:
    """As models word it, in the languages of the tables."""
    assert declines(sentences(text))


@pytest.mark.parametrize("text", LEAKS)
def test_what_tells_or_says_nothing_does_not(text: str) -> None:
    """Declaratives, gerunds, lists, tables, links, code, other languages, empty words."""
    assert not declines(sentences(text))


@pytest.mark.parametrize("text", [leak for leak in LEAKS if leak not in EMPTY])
def test_a_refusal_in_front_hides_nothing(text: str) -> None:
    """What a leak is, it is also behind a sentence that declines; an empty word says nothing there."""
    assert not declines(sentences(f"{NO} {text}"))
    assert not declines(sentences(f"{NO}\n{text}"))


def test_a_regret_alone_declines_nothing() -> None:
    """One sentence has to."""
    assert not declines(sentences("I'm sorry. I'm glad to help with something else."))


def test_it_is_short() -> None:
    """A handful of sentences."""
    assert declines(sentences(" ".join([NO] * MOST)))
    assert not declines(sentences(" ".join([NO] * (MOST + 1))))


def test_few_words_may_be_strange() -> None:
    """Those of what is declined, or offered instead; none outside, and no figure."""
    assert declines(sentences("I can't help with kettles. I can talk about teapots and spoons."))
    assert not declines(sentences("I can't help with kettles, teapots and spoons."))
    assert not declines(sentences(f"{NO} " + "I can talk about a kettle. " * (STRANGERS + 1)))
    assert not declines(sentences("I can't help with 40 kettles."))
    assert declines(sentences("I can't help with that. Please call 988, 24/7."))


@given(st.text(max_size=300))
def test_any_text_is_judged(text: str) -> None:
    """And none without a decline passes."""
    assert not declines(sentences(text.replace("n't", "")))


@pytest.mark.parametrize("part", ["I can't ", "24/7 ", "a.b", "(", "1 - ", "findahelpline.com "], ids=repr)
def test_time_grows_with_the_text_alone(part: str) -> None:
    """100,000 characters in about a second; nothing as long is a refusal."""
    text = (part * 100_000)[:100_000]
    assert not declines(sentences(text))
