"""app/vantage/needles.py: texts of which each match holds one."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.vantage import alarm
from app.vantage.distress import NEEDED, TOLD
from app.vantage.emergencies import EMERGENCIES
from app.vantage.needles import needles


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("fire", {"fire"}),
        ("a|bc", {"a", "bc"}),
        ("on (?:fire|a roof)s?", {"fire", "a roof"}),
        ("(?:very )?wrists?", {"wrist"}),
        ("x{0,3}yy", {"yy"}),
        ("(?:ab){2}c", {"ab"}),
        ("cold(?! feet in the morning)", {"cold"}),
        ("[a-z]+ foo(?: bar){0,2}", {" foo"}),
        ("[a-z]+|fire", set()),
        (r"\d\d pills", {" pills"}),
    ],
)
def test_the_longest_that_must_stand_is_taken(pattern: str, found: set[str]) -> None:
    """Of branches all; nothing of what may be left out, repeated never, or only looked at."""
    assert needles(pattern) == found


@pytest.mark.parametrize("name", EMERGENCIES)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_each_match_holds_one(name: str, data: st.DataObject) -> None:
    """Of the tables' own patterns, whatever they match."""
    pattern, needed = alarm.pattern(name), alarm.needed(name)
    said = data.draw(st.from_regex(re.compile(pattern.pattern, re.ASCII)))
    assert needed
    assert any(needle in said for needle in needed)


@settings(max_examples=10, deadline=None)
@given(st.from_regex(re.compile(TOLD.pattern, re.ASCII)))
def test_who_tells_says_a_word_that_is_looked_for(said: str) -> None:
    """Sentences without one are not read (app/vantage/distress.py)."""
    found = TOLD.search(said)
    assert found
    assert not NEEDED.isdisjoint(found[0].split())
