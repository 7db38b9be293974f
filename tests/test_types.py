"""The shared value types: passages and queries, similarity, and the trace of an answer."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from app.types import (
    SAID_ON,
    Degraded,
    Entry,
    Passage,
    Reason,
    Trace,
    Verdict,
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


def test_the_notes_tell_what_was_taken_left_and_lost() -> None:
    """Counts by source, counts by verdict, and who did not answer."""
    assert FULL.notes() == [
        "Retrieved 2 passages from documents",
        "Retrieved 1 passage from memories",
        "Left out 1 candidate: duplicate",
        "Left out 2 candidates: over_budget",
        "code did not answer: timeout",
    ]
