"""The tail: what something to come may still change is held back, all else let go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answering.citations import ESCAPES_MAX, HEAD_MAX, Tail


def written(text: str) -> Tail:
    """A tail with this text put and flushed."""
    tail = Tail()
    tail.put(text)
    tail.flush()
    return tail


@pytest.mark.parametrize(
    ("text", "gone", "held"),
    [
        pytest.param("text", "text", "", id="nothing open"),
        pytest.param("text ", "text", " ", id="a blank may go along"),
        pytest.param("text  ", "text ", " ", id="one of two"),
        pytest.param("text \\", "text", " \\", id="a backslash may escape"),
        pytest.param("text\u00a0", "text", "\u00a0", id="a hard blank"),
    ],
)
def test_what_nothing_can_change_is_let_go(text: str, gone: str, held: str) -> None:
    """All but a last blank or backslash."""
    tail = written(text)
    assert (tail.released(), tail.held) == (gone, held)
    assert tail.released() == ""


def test_an_open_bracket_holds_what_follows_and_its_blank() -> None:
    """The outermost counts; places move with what is let go."""
    tail = Tail()
    tail.put("so [a [b")
    tail.opens = [3, 6]
    tail.flush()
    assert (tail.released(), tail.held, tail.opens, tail.age) == ("so", " [a [b", [1, 4], 2)


def test_a_mark_holds_too() -> None:
    """And its age is what counts, whatever is open before it."""
    tail = Tail()
    tail.put("[a `x [")
    tail.opens, tail.mark = [0], 6
    tail.flush()
    assert (tail.released(), tail.held, tail.age) == ("", "[a `x [", 1)


def test_what_is_taken_back_was_never_in_the_line() -> None:
    """The line's head follows the output."""
    tail = Tail()
    tail.put("ab[c")
    assert tail.retract(2) == "[c"
    assert (tail.held, tail.head) == ("ab", "ab")


def test_a_long_line_keeps_its_head_only() -> None:
    """Enough to tell that it begins no fence."""
    tail = Tail()
    for _ in range(HEAD_MAX):
        tail.put("word ")
    assert len(tail.head) < HEAD_MAX + 5
    tail.newline("\n")
    assert tail.head == ""


def test_text_that_left_at_once_is_known_to_have_stood_there() -> None:
    """Its last character decides what the next one means."""
    tail = Tail()
    tail.skip("abc")
    assert (tail.before, tail.head) == ("c", "abc")


@given(st.lists(st.text("ab \\[", max_size=6)))
def test_nothing_is_lost_or_moved(pieces: list[str]) -> None:
    """What was let go and what is held are what was put."""
    tail, out = Tail(), ""
    for piece in pieces:
        tail.put(piece)
        tail.flush()
        out += tail.released()
    assert out + tail.held == "".join(pieces)


@given(st.integers(0, 5 * ESCAPES_MAX), st.sampled_from(["", "text", "text "]))
def test_of_a_run_of_backslashes_few_are_held(length: int, lead: str) -> None:
    """So that each costs the same however many came before; odd stays odd, and nothing is lost."""
    tail, out = Tail(), ""
    for sign in lead + "\\" * length:
        tail.put(sign)
        tail.flush()
        out += tail.released()
        assert len(tail.held) <= ESCAPES_MAX + len(" ")
    before = tail.before
    assert out + tail.held == lead + "\\" * length
    assert (len(before) - len(before.rstrip("\\"))) % 2 == length % 2
