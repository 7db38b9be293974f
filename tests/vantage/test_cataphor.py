"""Pronouns whose meaning follows them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.followup import MARK, tokenised
from app.vantage.cataphor import follows

BITS = [*["it", "they", "when", "a", "you", "like", "to", "do", "how", "the", "Oslo", "in", "called"], ","]


def told(text: str) -> bool:
    """As the rules ask it."""
    tokens = tokenised(text)
    return follows([token.lower() for token in tokens if not MARK.fullmatch(token)], tokens)


@pytest.mark.parametrize(
    "text",
    [
        "What do you call it when you can't sleep?",
        "why is it called a hamburger",
        "What's it like living in Oslo?",
        "What does it feel like to be old?",
        "how it works when a plane flies",
        "Why is it that bread goes stale?",
        "How do they make cheese?",
        "What do they teach at Eton?",
        "Who are they, the Beatles?",
        "Where is it, Timbuktu?",
        "how do I exit it, vim I mean",
        "is it just me or is coffee dear",
    ],
)
def test_what_follows_is_seen(text: str) -> None:
    """A clause, people at large, a noun set beside."""
    assert told(text)


@pytest.mark.parametrize(
    "text",
    [
        "What is it called in German?",
        "What is it like in winter?",
        "How does it work when I press it?",
        "How do they make them?",
        "What do they eat?",
        "Where is it, Mum?",
        "Can you fix it, Ada?",
        "Which is it, the first or the second?",
        "when it does that again",
        "it",
        "",
    ],
)
def test_what_points_still_is_not(text: str) -> None:
    """A language, a month, somebody spoken to, a choice."""
    assert not told(text)


@given(st.lists(st.sampled_from(BITS), max_size=12))
def test_every_text_can_be_read(found: list[str]) -> None:
    """Without an error."""
    assert told(" ".join(found)) in (True, False)
