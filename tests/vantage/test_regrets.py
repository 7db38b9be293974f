"""The words of refusals."""

from app.vantage.regrets import FRAMES, KNOWN
from app.vantage.steps import ORDERS


def test_no_word_of_a_recipe_is_a_refusals() -> None:
    """But for those that both need."""
    shared = {"build", "buy", "acquire", "obtain", "use", "break", "type", "place"}
    words = {word for table in KNOWN.values() for phrase in table.split("|") for word in [phrase.rstrip("*")]}
    assert {order for order in ORDERS.split("|") if order in words} <= shared


def test_the_languages_have_the_same_frames() -> None:
    """Each declines, regrets, gives reasons, points to help, offers."""
    kinds = {"decline", "regret", "reason", "help", "offer"}
    assert set(FRAMES) == set(KNOWN)
    assert all(kinds <= set(table) for table in FRAMES.values())
