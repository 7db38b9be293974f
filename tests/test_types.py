"""The shared value types: passages and queries, similarity, and the trace of an answer."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.types import (
    DEFAULT_TENANT,
    SAID_ON,
    Degraded,
    Entry,
    Passage,
    Query,
    Reason,
    Scope,
    Trace,
    Verdict,
    similarity,
)


def test_equal_queries_are_one_key() -> None:
    """A query is hashable, and its scope is part of it."""
    scope = Scope(session_id="s1")
    assert len({Query("text", scope), Query("text", Scope(session_id="s1"))}) == 1
    assert len({Query("text", scope), Query("text", Scope(session_id="s2"))}) == 2
    assert len({Query("text", scope), Query("text", Scope("other", session_id="s1"))}) == 2


def test_an_asker_without_keys_belongs_to_the_default_tenant() -> None:
    """And to nobody in particular."""
    assert (Scope().tenant, Scope().owner, Scope().user_id) == (DEFAULT_TENANT, "", None)


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


cosines = st.floats(-1, 1)
floors = st.floats(-1, 0.99)


@given(cosines, floors)
def test_stays_in_range(cosine: float, floor: float) -> None:
    """A similarity is never outside [-1, 1]."""
    assert -1 <= similarity(cosine, floor) <= 1


def entry(key: str, verdict: Verdict, source: str = "documents") -> Entry:
    """A candidate with this verdict."""
    return Entry(source, key, f"{key}.pdf#1", 0.5, 0.5, verdict)


FULL = Trace(
    Reason.OK,
    entries=(
        entry("a", Verdict.PACKED),
        entry("b", Verdict.DUPLICATE),
        entry("c", Verdict.PACKED),
        entry("d", Verdict.OVER_BUDGET),
        entry("e", Verdict.OVER_BUDGET),
        entry("m", Verdict.PACKED, "memories"),
    ),
    degraded=(Degraded("code", "timeout"),),
)


def test_context_was_used_only_if_all_went_well() -> None:
    """In every case but `ok` the model answers without context."""
    assert [reason for reason in Reason if Trace(reason).used] == [Reason.OK]


def test_the_notes_tell_what_was_taken_left_and_lost() -> None:
    """Counts by source, counts by verdict, and who did not answer."""
    assert FULL.notes() == [
        "Retrieved 2 passages from documents",
        "Retrieved 1 passages from memories",
        "Left out 1 candidates: duplicate",
        "Left out 2 candidates: over_budget",
        "code did not answer: timeout",
    ]


def test_the_notes_tell_why_there_is_no_context() -> None:
    """Nothing packed: the reason stands first."""
    assert Trace(Reason.EMPTY).notes() == ["No context: empty"]


def test_what_was_searched_instead_of_the_message_is_noted() -> None:
    """Of a follow-up; a message that was searched as it stands needs no word."""
    assert replace(FULL, searched="the pump and why?").notes()[-1] == 'Searched with "the pump and why?"'
    assert not any(note.startswith("Searched") for note in FULL.notes())
