"""Messages that are clear although they name little."""

import pytest

from app.domain.followup import tokenised
from app.vantage.settled import WHOLE, settled


def told(message: str) -> bool:
    """As the rules ask it."""
    return settled(message, [word.lower() for word in tokenised(message) if word[0].isalnum()])


@pytest.mark.parametrize(
    "message",
    [
        "thanks!",
        "Thank you for your help",
        "hey again!",
        "Who are you?",
        "what time is it",
        "What did I say last time?",
        "have I told you that already?",
        "2+2",
        "7 * 6 =",
        "perfect",
        "That's great!",
        "wie geht's?",
        "ok great, bye",
    ],
)
def test_company_clock_memory_and_sums_are_clear(message: str) -> None:
    """Nothing about them is to be asked back."""
    assert told(message)


@pytest.mark.parametrize(
    "message",
    [
        "yes",
        "no",
        "please",
        "thanks, can you do it again?",
        "make it better",
        "42",
        "What did he say?",
        "great but fix it",
    ],
)
def test_what_still_asks_is_not(message: str) -> None:
    """An answer to nothing, a wish behind thanks, a number alone, somebody else's words."""
    assert not told(message)


def test_every_whole_phrase_is_found() -> None:
    """The table is spelt as messages are cut."""
    assert [phrase for phrase in WHOLE if not told(" ".join(phrase))] == []
