"""What is noted of a memory's days is what would be read of it."""

from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from inspect import getsource
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain import almanac, calendar, span, when
from app.domain.almanac import KNOWN
from app.domain.days import HEAD, SAID, TEXT, TIMED, VERSION, checksum, days, noted, recall, spoken, timed
from app.domain.passage import KNOWABLE, Passage
from app.domain.text import Text

AT = date(2023, 5, 8)
SWAM = "I swam yesterday, and in the summer of 2021; from May to July 2020 I did not"
texts = st.lists(st.sampled_from([*sorted(KNOWN), "7.5.2023", "2021-02-03", "swam"]), max_size=20).map(
    " ".join
)
dates = st.dates(date(1000, 1, 1), date(2999, 12, 31))


def recalled(text: str, note: object) -> Text:
    """A text with its note."""
    made = Text(text)
    recall(made, note)
    return made


@given(texts, dates)
def test_a_note_says_what_would_be_read(text: str, at: date) -> None:
    """Its days, and whether there is any word of time."""
    found = recalled(text, noted(text, at))
    assert spoken(found, at) == spoken(text, at)
    assert timed(found) == timed(text)


def test_a_note_is_read_instead_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what it is for."""
    note = noted(SWAM, AT)
    assert len(note) == HEAD + 2 * 3
    before = spoken(SWAM, AT)
    monkeypatch.setattr("app.domain.days.expressions", lambda text: pytest.fail("read again"))
    found = recalled(SWAM, note)
    at = datetime(2023, 5, 8, 13, tzinfo=UTC)
    assert [*days(Passage("memories", "m", found, 1, "m", created_at=at))][1:] == [*before]
    assert timed(found)


def test_of_another_day_it_is_read_anew() -> None:
    """`yesterday` is another."""
    found = recalled(SWAM, noted(SWAM, AT))
    assert spoken(found, AT + timedelta(days=1)) == spoken(SWAM, AT + timedelta(days=1)) != spoken(SWAM, AT)


def other(place: int, value: object) -> list[object]:
    """A note of SWAM, and one number another."""
    note: list[object] = [*noted(SWAM, AT)]
    note[place] = value
    return note


@pytest.mark.parametrize(
    "note",
    [
        pytest.param(None, id="none"),
        pytest.param([], id="empty"),
        pytest.param({"days": 1}, id="a mapping"),
        pytest.param("1", id="a string"),
        pytest.param(noted(SWAM, AT)[:3], id="without a head"),
        pytest.param(noted(SWAM, AT)[:-1], id="half a span"),
        pytest.param(noted(SWAM, AT) * 50, id="long"),
        pytest.param(other(0, VERSION + 1), id="another version"),
        pytest.param(other(TEXT, 0), id="another text"),
        pytest.param(other(TIMED, True), id="a boolean"),
        pytest.param(other(HEAD, 0), id="no day"),
        pytest.param(other(HEAD, 1 << 70), id="far away"),
        pytest.param(other(HEAD, "738000"), id="a string for a number"),
        pytest.param(other(HEAD, 1.5), id="half a day"),
        pytest.param(other(HEAD + 1, noted(SWAM, AT)[HEAD]), id="a span of no days"),
    ],
)
def test_what_is_no_note_is_not_believed(note: Any) -> None:
    """Other tools write points, too."""
    found = recalled(SWAM, note)
    assert not found.memo
    assert spoken(found, AT) == spoken(SWAM, AT)


def test_a_note_that_fits_is_believed() -> None:
    """Else the cases above could not fail."""
    assert recalled(SWAM, other(SAID, AT.toordinal() + 1)).memo


def test_any_text_has_a_checksum() -> None:
    """A lone surrogate too."""
    assert checksum("\ud800") != checksum("a")


def test_whoever_changes_the_reading_raises_the_version() -> None:
    """Notes of before would be believed: compare what is read of many texts, and raise VERSION if it differs;
    then set the digest."""
    modules: tuple[ModuleType, ...] = (almanac, calendar, span, when)
    read = "".join([*map(getsource, modules), getsource(spoken), getsource(timed), repr(KNOWABLE)])
    read = sha256(read.encode()).hexdigest()[:16]
    assert (VERSION, read) == (1, "09c5f7b458d03509")
