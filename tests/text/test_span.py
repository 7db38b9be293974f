"""The days that expressions of time mean."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.dates import KNOWN, ONE, Span, Times, expressions, nearest, resolved, shifted

MONDAY = date(2023, 5, 8)
DAYS = st.dates(date(1900, 1, 1), date(2100, 1, 1))


def days(text: str, at: date = MONDAY) -> Span | None:
    """Of the one expression of a text."""
    (found,) = expressions(text)
    return resolved(found, at)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        pytest.param("yesterday", "2023-05-07", "2023-05-07", id="yesterday"),
        pytest.param("the day before yesterday", "2023-05-06", "2023-05-06", id="before that"),
        pytest.param("vorgestern", "2023-05-06", "2023-05-06", id="vorgestern"),
        pytest.param("last night", "2023-05-07", "2023-05-07", id="last night"),
        pytest.param("this evening", "2023-05-08", "2023-05-08", id="this evening"),
        pytest.param("last Tuesday", "2023-05-02", "2023-05-02", id="last Tuesday"),
        pytest.param("last Monday", "2023-05-01", "2023-05-01", id="not today"),
        pytest.param("next Monday", "2023-05-15", "2023-05-15", id="next Monday"),
        pytest.param("this Friday", "2023-05-12", "2023-05-12", id="this Friday"),
        pytest.param("last week", "2023-05-01", "2023-05-07", id="last week"),
        pytest.param("el fin de semana pasado", "2023-05-06", "2023-05-07", id="weekend"),
        pytest.param("next month", "2023-06-01", "2023-06-30", id="next month"),
        pytest.param("l'année dernière", "2022-01-01", "2022-12-31", id="last year"),
        pytest.param("last spring", "2022-03-01", "2022-05-31", id="over, not on"),
        pytest.param("this spring", "2023-03-01", "2023-05-31", id="on"),
        pytest.param("im letzten Winter", "2022-12-01", "2023-02-28", id="two years"),
        pytest.param("next winter", "2023-12-01", "2024-02-29", id="a leap year"),
        pytest.param("last May", "2022-05-01", "2022-05-31", id="last May"),
        pytest.param("two weeks ago", "2023-04-21", "2023-04-27", id="weeks are wide"),
        pytest.param("hace 3 días", "2023-05-05", "2023-05-05", id="days are not"),
        pytest.param("vor zwei Jahren", "2021-01-01", "2021-12-31", id="years"),
        pytest.param("the last two months", "2023-03-08", "2023-05-08", id="until today"),
        pytest.param("7.5.2021", "2021-05-07", "2021-05-07", id="digits"),
        pytest.param("summer of 2021", "2021-06-01", "2021-08-31", id="a season's year"),
        pytest.param("in 1999", "1999-01-01", "1999-12-31", id="a year"),
        pytest.param("the week before 3 June 2023", "2023-05-27", "2023-06-03", id="before a day"),
        pytest.param("two months after 3 June 2023", "2023-06-03", "2023-08-03", id="after a day"),
        pytest.param("the Sunday before 3 June", "2023-05-27", "2023-06-03", id="before any year's"),
        pytest.param("zwei Wochen vor dem 3. Juni 2023", "2023-05-20", "2023-06-03", id="vor a day"),
        pytest.param("this Monday", "2023-05-08", "2023-05-08", id="this Monday"),
        pytest.param("this April", "2023-04-01", "2023-04-30", id="this April, over"),
        pytest.param("this summer", "2023-06-01", "2023-08-31", id="this summer, to come"),
        pytest.param("this winter", "2022-12-01", "2023-02-28", id="this winter, the nearest"),
        pytest.param("twenty two days ago", "2023-04-16", "2023-04-16", id="twenty two"),
        pytest.param("half a year ago", "2022-11-01", "2022-11-30", id="half a year"),
        pytest.param("a couple of weeks ago", "2023-04-21", "2023-04-27", id="a couple"),
        pytest.param("a few days ago", "2023-05-05", "2023-05-05", id="a few"),
        pytest.param("45 days ago", "2023-03-24", "2023-03-24", id="45 days"),
        pytest.param("the past month", "2023-04-08", "2023-05-08", id="the past month"),
        pytest.param("the past year", "2022-05-08", "2023-05-08", id="the past year"),
        pytest.param("last 90 days", "2023-02-07", "2023-05-08", id="90 days"),
        pytest.param("the last day of May 2022", "2022-05-31", "2022-05-31", id="the last day"),
        pytest.param("the last week of May 2022", "2022-05-25", "2022-05-31", id="the last week"),
        pytest.param("the last weekend of May 2022", "2022-05-28", "2022-05-29", id="the last weekend"),
        pytest.param("the last month of 2022", "2022-12-01", "2022-12-31", id="the last month"),
        pytest.param("the day after tomorrow", "2023-05-10", "2023-05-10", id="after tomorrow"),
        pytest.param("day before yesterday", "2023-05-06", "2023-05-06", id="before yesterday"),
        pytest.param("between May and July 2022", "2022-05-01", "2022-07-31", id="between"),
        pytest.param("from November to February 2022", "2021-11-01", "2022-02-28", id="over a new year"),
        pytest.param("von 2020 bis 2022", "2020-01-01", "2022-12-31", id="years"),
        pytest.param("from 5 to 10 May 2022", "2022-05-05", "2022-05-10", id="days of a month"),
        pytest.param("on Monday", "2023-05-08", "2023-05-08", id="on Monday"),
        pytest.param("on Tuesday", "2023-05-02", "2023-05-02", id="on Tuesday"),
        pytest.param("in two weeks", "2023-05-19", "2023-05-25", id="to come"),
        pytest.param("this morning", "2023-05-08", "2023-05-08", id="this morning"),
        pytest.param("il y a sept jours", "2023-05-01", "2023-05-01", id="sept jours"),
        pytest.param("last march", "2023-03-01", "2023-03-31", id="last march"),
    ],
)
def test_an_expression_means_days(text: str, first: str, last: str) -> None:
    """Seen from Monday, 8 May 2023."""
    assert days(text) == Span(date.fromisoformat(first), date.fromisoformat(last) + ONE)


def test_without_a_year_it_is_any_years() -> None:
    """A memory of any May is of May, one of June is not; a winter begins in one year and ends in the next."""
    may, winter = days("in May"), days("in winter")
    assert may is not None
    assert winter is not None
    for year in (1987, 2023):
        assert Times([may]).share(Span(date(year, 5, 31), date(year, 6, 1))) == 1
        assert Times([may]).share(Span(date(year, 6, 1), date(year, 6, 2))) == 0
        assert Times([winter]).share(Span(date(year, 1, 31), date(year, 2, 1))) == 1
        assert Times([winter]).share(Span(date(year, 12, 31), date(year + 1, 1, 1))) == 1


def test_a_share_is_the_part_that_lies_inside() -> None:
    """Of a week of which two days are in May, two sevenths."""
    may = Span(date(2023, 5, 1), date(2023, 6, 1))
    assert Times([may]).share(Span(date(2023, 4, 26), date(2023, 5, 3))) == pytest.approx(2 / 7)


@pytest.mark.parametrize(
    "text", ["on 30 February", "in a year", "from 2023 to 2021", "from 2022 to 2021", "from 5 to 2023"]
)
def test_days_that_are_not_are_none(text: str) -> None:
    """30 February, a measure, years that run backwards, and what is no day."""
    assert days(text) is None


@pytest.mark.parametrize("year", [2023, 2024])
def test_the_last_days_of_february_are_days_in_any_year(year: int) -> None:
    """The 28th is one where no 29th follows; and the month ends with either."""
    day, month = days("on 28 February"), days("in February")
    assert day is not None
    assert month is not None
    assert day.of(year) == Span(date(year, 2, 28), date(year, 2, 28) + ONE)
    assert month.of(year).end == date(year, 3, 1)
    assert Times([day]).share(day.of(year)) == Times([month]).share(month.of(year)) == 1


@pytest.mark.parametrize(
    ("at", "year"),
    [
        pytest.param(date(2023, 1, 20), 2022, id="over"),
        pytest.param(date(2023, 11, 2), 2023, id="to come"),
        pytest.param(date(2023, 12, 24), 2023, id="today"),
    ],
)
def test_the_nearest_year_is_chosen(at: date, year: int) -> None:
    """Of a day without one, as a memory tells it."""
    span = days("on 24 December", at)
    assert span is not None
    assert nearest(span, at).start == date(year, 12, 24)


@given(DAYS, st.integers(-600, 600))
def test_months_are_counted_as_calendars_do(day: date, months: int) -> None:
    """The same day, or the last one of a shorter month; a year is twelve of them."""
    moved = shifted(day, months)
    assert (moved.year * 12 + moved.month) - (day.year * 12 + day.month) == months
    assert moved.day == day.day or (moved + ONE).day == 1
    assert moved.day <= day.day


@given(st.lists(st.sampled_from(sorted(KNOWN)), max_size=8).map(" ".join), DAYS)
def test_what_is_found_has_days(text: str, at: date) -> None:
    """At least one, and no more than some years: whatever the words, from whatever day."""
    for found in expressions(text):
        span = resolved(found, at)
        assert span is None or timedelta() < span.end - span.start < timedelta(days=366 * 1000)
