"""The words of retrieval: values that can key a cache."""

import dataclasses
from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from app.types import DEFAULT_TENANT, SAID_ON, Candidate, Legs, Passage, Query, Scope


def test_equal_queries_are_one_key() -> None:
    """A query is hashable, and its scope is part of it."""
    scope = Scope(session_id="s1")
    assert len({Query("text", scope), Query("text", Scope(session_id="s1"))}) == 1
    assert len({Query("text", scope), Query("text", Scope(session_id="s2"))}) == 2
    assert len({Query("text", scope), Query("text", Scope("other", session_id="s1"))}) == 2


def test_an_asker_without_keys_belongs_to_the_default_tenant() -> None:
    """And to nobody in particular."""
    assert (Scope().tenant, Scope().owner, Scope().user_id) == (DEFAULT_TENANT, "", None)


@pytest.mark.parametrize("value", [Scope(), Query("q", Scope())])
def test_who_asks_what_is_frozen(value: object) -> None:
    name = dataclasses.fields(value)[0].name  # type: ignore[arg-type] # every case is a dataclass
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "other")


def test_what_was_not_found_by_meaning_has_no_similarity() -> None:
    """None, not 0, which would be a figure."""
    assert Passage("documents", "1", "t", 1, "a#1").similarity is None
    assert Candidate(Passage("documents", "1", "t", 1, "a#1")).words is None


def test_legs_without_hits_hold_nothing() -> None:
    """An empty source: nothing stored, nothing found."""
    assert (Legs("documents").stored, Legs("documents").words, dict(Legs("documents").passages)) == (
        0,
        (),
        {},
    )


@pytest.mark.parametrize(
    ("fields", "day"),
    [
        pytest.param({}, date(2023, 5, 9), id="when it was written"),
        pytest.param({SAID_ON: "2023-04-01"}, date(2023, 4, 1), id="as the source tells"),
        pytest.param({SAID_ON: None}, None, id="nobody knows"),
        pytest.param({SAID_ON: "soon"}, None, id="no day"),
        pytest.param({SAID_ON: 7}, None, id="a number"),
    ],
)
def test_a_text_was_said_on_a_day(fields: dict[str, str | int | None], day: date | None) -> None:
    """In UTC; that of `created_at`, unless its source knows better."""
    at = datetime(2023, 5, 8, 23, tzinfo=timezone(timedelta(hours=-2)))
    assert Passage("memories", "1", "t", 1, "a#1", fields=fields, created_at=at).said_on == day
    assert Passage("memories", "1", "t", 1, "a#1", fields=fields).said_on == (day if fields else None)
    assert Passage("memories", "1", "t", 1, "a#1", created_at=at.astimezone(UTC)).said_on == date(2023, 5, 9)
