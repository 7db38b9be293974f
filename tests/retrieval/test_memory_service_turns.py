"""What the outside memory service says, read."""

import json
import math
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.memories import Moment, Tally
from app.db.memory_service import MOST_VOTES, moment, tallies
from app.errors import RetrievalError

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["m1", "positive", "bucket", "x"]), inner)
    ),
)


def test_votes_on_what_was_asked_for() -> None:
    """What else it says is passed over, and what nobody voted on left out."""
    votes = {"positive": 2, "negative": 1, "tag": "x"}
    said = {"m1": votes, "m2": {"positive": 0, "negative": 0}, "m3": votes}
    assert tallies(said, ["m1", "m2", "m4"]) == {"m1": Tally(2, 1)}


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        "m1",
        {"m1": None},
        {"m1": 3},
        {"m1": {"positive": 1}},
        {"m1": {"positive": -1, "negative": 0}},
        {"m1": {"positive": True, "negative": 0}},
        {"m1": {"positive": 1.5, "negative": 0}},
        {"m1": {"positive": "1", "negative": 0}},
        {"m1": {"positive": MOST_VOTES + 1, "negative": 0}},
    ],
    ids=json.dumps,
)
def test_votes_of_another_shape_are_no_answer(said: object) -> None:
    """Not even in part."""
    with pytest.raises(RetrievalError):
        tallies(said, ["m1"])


def test_a_moment() -> None:
    """In UTC, whatever zone it is told in; what is not known is left out."""
    said = {"bucket": "weeks", "last_message_at": "2026-11-01T10:00:00+01:00", "seconds_since": 864_000}
    assert moment(said) == Moment("weeks", datetime(2026, 11, 1, 9, tzinfo=UTC), 864_000.0)
    assert moment({"bucket": "new"}) == Moment("new")


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        {"bucket": "yesterday"},
        {"bucket": ["new"]},
        {"bucket": "days", "last_message_at": "yesterday"},
        {"bucket": "days", "last_message_at": "2026-11-01T10:00:00"},
        {"bucket": "days", "last_message_at": "0001-01-01T00:00:00+14:00"},
        {"bucket": "days", "last_message_at": 5},
        {"bucket": "days", "seconds_since": -1},
        {"bucket": "days", "seconds_since": True},
        {"bucket": "days", "seconds_since": math.nan},
        {"bucket": "days", "seconds_since": "5"},
        {"bucket": "days", "seconds_since": 10**40},
    ],
    ids=str,
)
def test_a_moment_of_another_shape_is_no_answer(said: object) -> None:
    """A prompt must not be told of it."""
    with pytest.raises(RetrievalError):
        moment(said)


@given(ANY)
def test_law_anything_is_read_or_no_answer(said: object) -> None:
    """Nothing else is raised, whatever comes."""
    for read in (lambda: tallies(said, ["m1"]), lambda: moment(said)):
        with suppress(RetrievalError):
            read()
