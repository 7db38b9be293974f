"""Who says what a person thought of an answer."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import ModelError
from app.services import feedback
from app.services.feedback import ASKED, SHOWN, DecidedBy, Judge, Sentiment, named
from tests.fakes.answering import FakeModel, FakeStream

UNMARKED = "I had hoped for the one about swimming"


@pytest.mark.parametrize(
    ("message", "rating", "said"),
    [
        ("Thanks!", None, ("positive", "marker")),
        ("That's wrong", None, ("negative", "marker")),
        ("Thanks!", "down", ("negative", "rating")),
        ("That's wrong", "up", ("positive", "rating")),
        (UNMARKED, "up", ("positive", "rating")),
    ],
)
async def test_a_rating_comes_first_then_markers(
    message: str, rating: str | None, said: tuple[str, str]
) -> None:
    """Neither costs a model anything."""
    model = FakeModel()
    assert await Judge(model).sentiment(message, rating) == said
    assert model.prompts == []


@pytest.mark.parametrize(
    ("word", "sentiment"),
    [
        ("positive", "positive"),
        (" Negative", "negative"),
        ("neg", "negative"),
        ("**neutral**", "neutral"),
        ("pos", "positive"),
    ],
)
async def test_a_model_decides_the_rest(word: str, sentiment: str) -> None:
    """In a word, or in the first part of one."""
    model = FakeModel(FakeStream([word]))
    assert await Judge(model).sentiment(UNMARKED, None) == (sentiment, "model")
    assert (model.prompts[0].system, model.prompts[0].message) == (ASKED, UNMARKED)
    assert model.closed == 1


async def test_it_is_shown_the_beginning() -> None:
    """A verdict stands there, and a long text costs money."""
    model = FakeModel(FakeStream(["neutral"]))
    await Judge(model).sentiment("x " * 20_000, None)
    assert len(model.prompts[0].message) == SHOWN


FAULTS: dict[str, Callable[[], FakeModel | None]] = {
    "none": lambda: None,
    "another word": lambda: FakeModel(FakeStream(["Sure"])),
    "silence": lambda: FakeModel(FakeStream([])),
    "too short": lambda: FakeModel(FakeStream(["ne"])),
    "a denial": lambda: FakeModel(FakeStream(["not negative"])),
    "refused": lambda: FakeModel(error=ModelError("404")),
    "broken off": lambda: FakeModel(FakeStream(["pos"], error=ModelError("closed"))),
    "slow head": lambda: FakeModel(head=30),
    "slow words": lambda: FakeModel(FakeStream(["positive"], pause=30)),
}


@pytest.mark.parametrize("model", FAULTS.values(), ids=FAULTS)
async def test_without_a_word_it_is_neutral(
    monkeypatch: pytest.MonkeyPatch, model: Callable[[], FakeModel | None]
) -> None:
    """And nobody has decided; within the deadline."""
    monkeypatch.setattr(feedback, "MODEL_SECONDS", 0.05)
    assert await Judge(model()).sentiment(UNMARKED, None) == (Sentiment.NEUTRAL, DecidedBy.NONE)


@given(st.text())
def test_law_a_word_names_one_or_none(text: str) -> None:
    """Whatever a model says; and what it names, the word begins with."""
    found = named(text)
    letters = "".join(filter(str.isalpha, text)).lower()
    assert found is None or found.startswith(letters)
