"""Phrases of a table in a text, and texts that remember what was worked out from them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.memo import Text, kept, once, remembered
from app.text.phrases import LONGEST, Found, Phrases, words

TABLE = Phrases(
    {
        "list": "as a list|bullet point*",
        "prose": "no bullet points",
        "warm": "merci|谢谢|don't go",
        "": "list price",
    }
)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("please, AS A LIST", {"list"}, id="whatever the case"),
        pytest.param("as a  list", {"list"}, id="any white space"),
        pytest.param("as, a list", set(), id="not across a mark"),
        pytest.param("was a list", set(), id="whole words only"),
        pytest.param("as a listing", set(), id="whole words only, at the end too"),
        pytest.param("bullet pointers", {"list"}, id="a star stands for any ending"),
        pytest.param("no bullet points", {"prose"}, id="the longest phrase alone"),
        pytest.param("don’t go", {"warm"}, id="curly apostrophes"),
        pytest.param("我谢谢你", {"warm"}, id="scripts without spaces"),
        pytest.param("ＭＥＲＣＩ", {"warm"}, id="full-width letters"),
        pytest.param("as a list price", {"list"}, id="the first of two that overlap"),
        pytest.param("the list price", set(), id="a phrase that means nothing"),
        pytest.param("", set(), id="nothing"),
    ],
)
def test_phrases_are_found(text: str, names: set[str]) -> None:
    """Whole words, whatever their case and marks, longest first."""
    assert TABLE.names(text) == names


def test_a_phrase_is_told_with_its_place() -> None:
    """As the words from `start` up to `end`."""
    assert list(TABLE.found("give it as a list")) == [Found(("list",), 2, 5)]


@given(st.text(max_size=200))
def test_words_are_folded_already(text: str) -> None:
    """Reading the words of a text again changes nothing."""
    once = words(text)
    assert words(" ".join(once)) == once


@given(st.text(max_size=80), st.sampled_from(["as a list", "merci", "don't go"]), st.text(max_size=80))
def test_a_phrase_is_found_wherever_it_stands(before: str, phrase: str, after: str) -> None:
    """Between any two clauses."""
    assert TABLE.names(f"{before}\n{phrase}\n{after}")


def test_what_is_too_long_is_cut() -> None:
    """Only the length of the longest message is looked at."""
    assert TABLE.names("x " * LONGEST + " merci") == set()


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
