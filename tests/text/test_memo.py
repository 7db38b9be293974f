"""Texts that remember what was worked out from them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from app.text.memo import Text, kept, once, remembered


@given(st.text())
def test_to_others_it_is_a_plain_string(text: str) -> None:
    """Equal, hashed alike, and the same in JSON and joined."""
    assert Text(text) == text
    assert {Text(text)} == {text}
    assert json.dumps([Text(text)]) == json.dumps([text])
    assert "".join([Text(text), "!"]) == text + "!"


def test_one_that_remembers_already_stays_the_same() -> None:
    """What was worked out is not lost; a plain string begins to remember."""
    text = Text("a")
    assert kept(text) is text
    assert isinstance(kept("a"), Text)


def test_work_is_done_once_for_each_text() -> None:
    """However often it is asked for; a plain string has no memory."""
    done: list[str] = []

    @once
    def length(text: str) -> int:
        """Of a text."""
        done.append(text)
        return len(text)

    kept = Text("abc")
    assert [length(kept), length(kept), length(Text("abc"))] == [3, 3, 3]
    assert len(done) == 2
    assert [length("abc"), length("abc")] == [3, 3]
    assert len(done) == 4


def test_what_is_remembered_has_a_name() -> None:
    """Two names are two things."""
    text = Text("abc")
    assert remembered(text, "a", lambda: 1) == 1
    assert remembered(text, "b", lambda: 2) == 2
    assert remembered(text, "a", lambda: 3) == 1
