"""Counts: known until somebody writes, and never too many."""

from app.clients.tally import Tally


def test_a_count_is_known_until_the_next_write() -> None:
    """Then it is to be made anew; nought is a count too."""
    tally = Tally[str, int]()
    tally.keep("a", 0, lambda: True)
    assert (tally.known("a"), tally.known("b")) == (0, None)
    tally.forget()
    assert tally.known("a") is None


def test_what_was_counted_while_somebody_wrote_is_not_kept() -> None:
    """Nobody knows whether it was before or after."""
    tally = Tally[str, int]()
    tally.keep("a", 1, lambda: False)
    assert tally.known("a") is None


def test_the_oldest_go_first() -> None:
    """So many fit."""
    tally = Tally[str, int](most=2)
    for number, name in enumerate("abc"):
        tally.keep(name, number, lambda: True)
    assert [tally.known(name) for name in "abc"] == [None, 1, 2]
