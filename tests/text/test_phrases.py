"""Phrases of a table in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.phrases import Phrases

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


@given(st.text(max_size=80), st.sampled_from(["as a list", "merci", "don't go"]), st.text(max_size=80))
def test_a_phrase_is_found_wherever_it_stands(before: str, phrase: str, after: str) -> None:
    """Between any two clauses."""
    assert TABLE.names(f"{before}\n{phrase}\n{after}")
