"""The days that a memory is of."""

from datetime import UTC, date, datetime

import pytest

from app.domain.days import days, spoken, timed
from app.domain.passage import Passage
from app.domain.text import Text

AT = date(2023, 5, 8)
SWAM = "I swam yesterday, and in the summer of 2021; from May to July 2020 I did not"


def passage(text: str, said: datetime | None) -> Passage:
    """A memory."""
    return Passage("memories", "m", Text(text), 1, "m", created_at=said)


def test_the_day_it_was_said_and_those_it_speaks_of() -> None:
    """Seen from that day, each once."""
    found = [*days(passage(SWAM, datetime(2023, 5, 8, 13, tzinfo=UTC)))]
    assert found[0].start == AT
    assert found[1:] == [*spoken(SWAM, AT)]
    assert [span.start.year for span in found[1:]] == [2023, 2021, 2020]


def test_yesterday_is_another_day_from_another_day() -> None:
    assert spoken("I swam yesterday", AT) != spoken("I swam yesterday", date(2023, 5, 9))


def test_without_a_day_nothing_is_known() -> None:
    assert [*days(passage(SWAM, None))] == []


@pytest.mark.parametrize(("text", "told"), [(SWAM, True), ("I swam", False)])
def test_words_of_time_are_recognised(text: str, told: bool) -> None:
    assert timed(text) is told
