"""Which sentences answer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.answering.extractive import (
    FUNCTION_WORDS,
    LEAST_BY_WORDS,
    MOST,
    QuotableSentence,
    by_words,
    quoted,
    sentences,
    subject,
    with_meaning,
)
from app.types import Passage

MILL = (
    "The mill stands below the weir. It was built in 1843 by the brothers Anna and Paul Keller. "
    "Because the old dam leaked, the parish paid for a new one. Its two wheels drove six pairs of stones."
)
BREAD = "Knead the dough for ten minutes. Bake it until the crust is dark. In 1901 flour was dear."
TABLE = "Output of the mill\nWheat flour 310 295 288\nRye flour 120 140 151\nTotal 430 435 439"


def passages(*texts: str) -> list[Passage]:
    """Packed passages, best first."""
    return [Passage("documents", str(n), text, 1, f"mill.pdf#{n}") for n, text in enumerate(texts, 1)]


def best(question: str, *texts: str) -> QuotableSentence:
    """The sentence quoted first."""
    return quoted(by_words(question, sentences(passages(*texts))))[0]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the mill built?", "It was built in 1843"),
        ("Who built the mill?", "Anna and Paul Keller"),
        ("Why was a new dam paid for?", "Because the old dam leaked"),
        ("How many wheels did it have?", "two wheels"),
        ("How long must dough be kneaded?", "ten minutes"),
        ("How much rye flour was made?", "Rye flour 120"),
    ],
)
def test_the_sentence_that_answers_is_first(question: str, answer: str) -> None:
    """Words, their forms and what the question asks for find the sentence among others."""
    assert answer in best(question, MILL, BREAD, TABLE).text


def test_a_sentence_keeps_its_passages_label() -> None:
    """A quote is cited where it stands."""
    assert best("How long must dough be kneaded?", MILL, BREAD).label == "mill.pdf#2"


def test_the_same_text_is_quoted_once_under_its_first_label() -> None:
    """Overlapping chunks and copies do not repeat themselves."""
    found = sentences(passages(MILL, MILL))
    assert {one.label for one in found} == {"mill.pdf#1"}
    assert len(found) == 4


def test_a_heading_is_no_answer() -> None:
    """What states nothing gives way to what does, though it holds the same words."""
    assert best("mill output", "Output of the mill", "The mill had an output of 430 tons.").text.endswith(
        "tons."
    )


def test_surroundings_speak_for_a_sentence() -> None:
    """Of two equal sentences, the one beside the question's subject is better."""
    other = "The bakery stands uphill. Its height is 12 metres."
    mill = "The mill stands below the weir. Its height is 15 metres."
    assert "15" in best("What is the height of the mill in metres?", other, mill).text


def test_near_duplicates_are_dropped() -> None:
    """Two sentences that say the same are one quote."""
    one, other = "The mill was built in 1843.", "The mill was built in the year 1843."
    assert len(quoted(by_words("When was the mill built?", sentences(passages(one, other))))) == 1


def test_meaning_can_turn_the_order() -> None:
    """A sentence close to the question in meaning passes one that shares a word."""
    found = by_words("When was the mill erected?", sentences(passages(MILL)))
    alike = [0.7 if "1843" in one.text else 0.1 for one in found]
    assert "1843" in with_meaning(found, alike)[0].text


def test_what_has_nothing_to_do_with_it_stays_below() -> None:
    """An unrelated question scores under what is taken for an answer."""
    assert best("What is the boiling point of tungsten?", MILL, BREAD).score < LEAST_BY_WORDS


def test_function_words_are_no_subject() -> None:
    """A question of function words alone is about nothing."""
    assert subject("What is it about, and who is that?") == frozenset()
    assert not FUNCTION_WORDS & subject("mill weir dam")


@settings(deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=200), max_size=6))
def test_any_question_and_passages_are_ranked(question: str, texts: list[str]) -> None:
    """At most four distinct quotes, best first, each from a passage that was given."""
    given_ = passages(*texts)
    chosen = quoted(by_words(question, sentences(given_)))
    assert len(chosen) <= MOST
    assert len({one.text for one in chosen}) == len(chosen)
    assert [one.score for one in chosen] == sorted((one.score for one in chosen), reverse=True)
    assert {one.label for one in chosen} <= {one.label for one in given_}
