"""A short message as the rules of clarity read it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.message import Message, lowered


@pytest.mark.parametrize(
    "text", ["fix it", "please fix it", "is it far", "and the other", "it is far?", "I need it"]
)
def test_questions_and_commands_ask(text: str) -> None:
    """Told by the mark or the first word, whatever courtesy stands before it."""
    assert Message(text).asks


@pytest.mark.parametrize("text", ["He left me", "I need a holiday", "The weather ruined it", "sourdough", ""])
def test_statements_and_topics_do_not(text: str) -> None:
    """However they go on."""
    assert not Message(text).asks


def test_an_empty_statement_is_a_request_if_it_tells_of_trouble() -> None:
    """`I did it` is told for its own sake."""
    assert Message("it doesn't work").hollow
    assert not Message("I did it").hollow
    assert Message("I did it?").hollow


@pytest.mark.parametrize(
    ("own", "text"),
    [(0, "can you fix it"), (1, "who wrote it"), (1, "Und der zweite Monat?"), (2, "Berlin or Rome")],
)
def test_its_own_words_are_counted_in_its_language(own: int, text: str) -> None:
    """The one that leaves the fewest."""
    assert Message(text).own == own


@pytest.mark.parametrize(
    "text",
    [
        'explain "it"',
        "translate: it is late",
        "fix this\nI goes home",
        "run it --fast",
        "what is foo_bar",
        "What does this mean: carpe diem",
        "Say it in French: good morning",
        "Is this right: I should of gone",
        "Put this in French - where is the station",
    ],
)
def test_a_text_to_work_on_is_seen(text: str) -> None:
    """Quoted, behind a colon, on its own line; or code."""
    assert Message(text).given


@pytest.mark.parametrize(
    "text",
    [
        "fix this: thanks",
        "Hi\ncan you do it",
        "translate this:",
        "fix it",
        "Can you fix this - please",
        "I need this: can you help",
        "Question: can you fix it",
    ],
)
def test_courtesy_is_no_text(text: str) -> None:
    """Nor is a line without a verb that works on the next."""
    assert not Message(text).given


def test_stretched_words_are_read_as_they_are_meant() -> None:
    """Numbers keep their noughts."""
    assert Message("heeelp 1000 times").lower == ["help", "1000", "times"]


@given(st.text(max_size=300))
def test_every_text_can_be_read(text: str) -> None:
    """Without an error, and in lower case."""
    message = Message(text)
    assert message.own <= len(message.lower)
    assert {message.asks, message.hollow, message.meant, message.given} <= {True, False}
    assert all(word == word.lower() for word in lowered(text))
