"""Cursors of lists ordered by time."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.rows import closed, opened
from app.errors import InvalidField

times = st.datetimes(datetime(1900, 1, 1), datetime(3000, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
keys = st.text("abcXYZ019._:-", max_size=200)


@given(times, keys)
def test_law_what_is_closed_opens(at: datetime, key: str) -> None:
    """To the microsecond; and it travels in a query as it is."""
    cursor = closed(at, key)
    assert opened(cursor) == (at, key)
    assert set(cursor) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize(
    "text", ["x", "%%%", "MTIz", "eHx4", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OXxh", "MXwA", "é"]
)
def test_what_is_not_ours_is_told(text: str) -> None:
    """As the field that it came in."""
    with pytest.raises(InvalidField) as caught:
        opened(text)
    assert caught.value.field == "query.cursor"


@given(st.text(max_size=80))
def test_law_any_text_opens_or_is_told(text: str) -> None:
    """Nothing else is raised."""
    with suppress(InvalidField):
        assert closed(*opened(text)) == text
