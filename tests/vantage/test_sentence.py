"""Sentences and questions in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.sentence import sentences

HOSTILE = (
    "a. ",
    "? ",
    "1. ",
    "...",
    "?!",
    "```\n",
    "~~~",
    "[a#",
    "'\"",
    "\n",
    "。",
    ";",
    "α;",
    "e.g. ",
    "a",
    " ",
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("One. Two! Three?", ["One.", "Two!", "Three?"], id="marks before a blank"),
        pytest.param("Do you mean e.g. the first?", ["Do you mean e.g. the first?"], id="shortened words"),
        pytest.param("Ask Dr. Smith. Now.", ["Ask Dr. Smith.", "Now."], id="titles"),
        pytest.param("Is it 3.5 or report.pdf?", ["Is it 3.5 or report.pdf?"], id="stops inside words"),
        pytest.param("Well… the first?", ["Well… the first?"], id="dots that go on"),
        pytest.param("See https://a.b/?q=1 now", ["See https://a.b/?q=1 now"], id="addresses"),
        pytest.param("什么？好。", ["什么？", "好。"], id="no blanks between"),
        pytest.param('He said "why?" Then left.', ['He said "why?"', "Then left."], id="closing quotes"),
        pytest.param("1. Which?\n- Why?", ["Which?", "Why?"], id="bullets are left out"),
        pytest.param("no mark\n\nnext", ["no mark", "next"], id="a line ends one"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_sentences_are_told_apart(text: str, told: list[str]) -> None:
    """At marks that end one, and at the end of a line."""
    assert [sentence.text for sentence in sentences(text)] == told


@pytest.mark.parametrize(
    "text",
    [
        "Which?", "which one do you mean ?", "**Which?**", '"Which?"', "Which?!", "哪一个？",
        "أي واحد؟", "Ποιο;",
        "Ո՞րն է։", "どれですか。", "¿Cuál?", "(Which?)", "Welche?", "कौन सा?",
        "Какой?",
    ],
)  # fmt: skip
def test_a_question_asks(text: str) -> None:
    """Whatever its script's mark is, and what closes behind it."""
    assert [sentence.asks for sentence in sentences(text)] == [True]


@pytest.mark.parametrize(
    "text", ["Which.", "Tell me;", "?", "...?!", "“?”", "好。", "```\nwhich?\n```", "Go!", "a?b"]
)
def test_what_is_none_does_not(text: str) -> None:
    """Statements, marks without a word, code."""
    assert not any(sentence.asks for sentence in sentences(text))


@given(st.text(max_size=300))
def test_no_letter_is_lost(text: str) -> None:
    """But for blanks, what stands in the sentences and bullets is the text."""
    told = "".join(f"{sentence.bullet}{sentence.text}" for sentence in sentences(text))
    assert "".join(told.split()) == "".join(text.split())


@pytest.mark.parametrize(
    "text", ["Meinst du z. B. Excel?", "Es geht, d. h. Anna kommt.", "U. S. A. is long."]
)
def test_letters_with_full_stops_end_no_sentence(text: str) -> None:
    """`z. B.` is one word in two."""
    assert [one.text for one in sentences(text)] == [text]


def test_a_letter_alone_ends_one() -> None:
    """As any other word does."""
    assert [one.text for one in sentences("It is vitamin B. Eat well.")] == ["It is vitamin B.", "Eat well."]
