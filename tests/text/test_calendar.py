"""Days, and spans of them."""

from datetime import date, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.text.dates import LEAP, ONE, YEAR, Span, Times, around, moved, united

DAYS = st.dates(date(1990, 1, 1), date(2030, 12, 31))
SPANS = st.builds(lambda day, length: Span(day, day + length * ONE), DAYS, st.integers(1, 400))
YEARLY = st.builds(
    lambda day, length: Span(day, day + length * ONE, yearly=True),
    st.dates(date(LEAP, 1, 1), date(LEAP, 12, 31)),
    st.integers(1, 92),
)


def every(span: Span) -> set[date]:
    """Its days."""
    return {span.start + n * ONE for n in range((span.end - span.start).days)}


@given(st.lists(SPANS, max_size=6), SPANS)
def test_a_share_is_what_lies_in_any_of_them(spans: list[Span], other: Span) -> None:
    """Counted day by day, each once."""
    days = every(other)
    inside = days & set().union(*map(every, spans))
    assert Times(spans).share(other) == len(inside) / len(days)


@given(YEARLY, DAYS)
def test_a_yearly_one_is_of_every_year(span: Span, day: date) -> None:
    """As it stands in that year and in the one before; the leap day aside."""
    if (day.month, day.day) == (2, 29) or date(LEAP, 2, 29) in (span.start, span.end - ONE):
        return
    inside = any(day in every(span.of(day.year - by)) for by in (0, 1))
    assert Times([span]).share(Span(day, day + ONE)) == inside


@given(st.lists(SPANS, max_size=6))
def test_united_spans_lie_apart(spans: list[Span]) -> None:
    """In their order, nothing lost and nothing twice."""
    found = united(spans)
    assert all(one[1] < other[0] for one, other in pairwise(found))
    assert sum(end - start for start, end in found) == len(set().union(*map(every, spans)))


@given(DAYS, st.integers(-900, 900))
def test_a_day_moves_by_years(day: date, years: int) -> None:
    """The 29th of February to the 28th, where there is none."""
    there = moved(day, years)
    assert there.year == day.year + years
    assert (there.month, there.day) in {(day.month, day.day), (2, 28)}


@given(DAYS, st.integers(0, YEAR))
def test_a_day_is_in_what_is_around_it(day: date, unit: int) -> None:
    """But of a weekend, which is that of its week."""
    span = around(day, unit)
    assert span.start - timedelta(days=5) <= day < span.end
