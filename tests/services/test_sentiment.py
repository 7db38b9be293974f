"""Whether somebody was content, by their words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.feedback import NEAR, Sentiment, marked_sentiment

CONTENT = (
    "thanks!",
    "Thank you so much",
    "Perfect, exactly what I needed",
    "great",
    "Great answer",
    "that's great",
    "That is exactly right",
    "yes, that's right",
    "not bad",
    "that's not bad",
    "exactly!",
    "great, now the second one",
    "It's not wrong",
    "can't thank you enough",
    "no problem, thanks",
    "very helpful",
    "ok great",
    "thanks. And where is the kayak?",
    "👍",
    "👍🏽",
    "danke dir",
    "merci beaucoup",
    "sí, perfecto",
    "спасибо",
    "谢谢",
    "ありがとう",
)
DISCONTENT = (
    "no, that's not what I meant",
    "No.",
    "No, I meant the second one",
    "that isn't helpful",
    "hmm, nope",
    "wrong",
    "You are wrong",
    "That's incorrect",
    "that's not right",
    "useless",
    "not helpful",
    "that was not very helpful",
    "it isn't good",
    "not great",
    "this is terrible",
    "this doesn't help",
    "👎",
    "👎🏽",
    "das ist falsch",
    "c'est faux",
    "no es correcto",
    "неправильно",
    "错了",
)
UNDECIDED = (
    "thanks, but that's wrong",
    "👍👎",
    "My great aunt wrote a book",
    "what is the right way to knead?",
    "no idea what to do",
    "no thanks",
    "thanks to my friend the boat floats",
    "How bad is it?",
    "a good recipe for bread?",
    "what's wrong with my bike",
    "the right hand",
    "is there no other way",
    "tell me more",
    "nice try",
    "yes please",
    "",
)


@pytest.mark.parametrize("text", CONTENT)
def test_content_is_told(text: str) -> None:
    """Thanks, praise, a bad word turned round, a thumb."""
    assert marked_sentiment(text) is Sentiment.POSITIVE


@pytest.mark.parametrize("text", DISCONTENT)
def test_discontent_is_told(text: str) -> None:
    """A no, blame, a good word turned round, a thumb."""
    assert marked_sentiment(text) is Sentiment.NEGATIVE


@pytest.mark.parametrize("text", UNDECIDED)
def test_what_does_not_judge_is_left_undecided(text: str) -> None:
    """Markers of both kinds, words that describe something else, or none."""
    assert marked_sentiment(text) is None


@given(st.text(max_size=200))
def test_neutral_is_never_found(text: str) -> None:
    """A marker is positive or negative; nobody knows from words that somebody felt nothing."""
    assert marked_sentiment(text) in (None, Sentiment.POSITIVE, Sentiment.NEGATIVE)


@given(st.sampled_from(CONTENT), st.sampled_from(DISCONTENT))
def test_both_kinds_cancel(good: str, bad: str) -> None:
    """In either order."""
    assert marked_sentiment(f"{good}. {bad}") is None
    assert marked_sentiment(f"{bad}. {good}") is None


def test_only_the_beginning_judges() -> None:
    """What is said far below is another matter."""
    assert marked_sentiment("word " * NEAR + "thanks") is None
