"""Days and spans of days: a year is LEAP where none is told. Pure; days are UTC's, spans half open.

`Span` is what an expression of time means (`span.py`), `Times` many of them, made ready to be compared with
the days of many memories. Of days in `KNOWABLE` years nothing here raises; others may be `ValueError` or
`OverflowError`.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from app.domain.almanac import DAY, MONTH, WEEK, WEEKEND

LEAP = 2000
"""The year in which days without a year are written."""
FIRST, LAST = date(1000, 1, 1), date(3000, 1, 1)
"""Before and after everything."""
ONE = timedelta(days=1)
WEEK_DAYS, MONTHS, SATURDAY = 7, 12, 5
FEBRUARY, LEAP_DAY = 2, 29


@dataclass(frozen=True, slots=True)
class Span:
    """Days from `start` to before `end`; `yearly`: those of any year, written in the year LEAP."""

    start: date
    end: date
    yearly: bool = False

    def of(self, year: int) -> "Span":
        """Itself, or that of a year; the last day of February is the last of one that has no 29th."""
        if not self.yearly:
            return self
        by = year - LEAP
        end = moved(self.end, by) if self.end.day == 1 else moved(self.end - ONE, by) + ONE
        return Span(moved(self.start, by), end)


def moved(day: date, years: int) -> date:
    """The same day so many years later; 28 February for the 29th where there is none."""
    if day.month == FEBRUARY and day.day == LEAP_DAY:
        return shifted(day, years * MONTHS)
    return day.replace(year=day.year + years)


class Times:
    """Spans as ordinals, sorted and without overlaps, to be compared with many. Yearly ones stand in LEAP
    and in the years beside it, and what is compared with them is seen there."""

    def __init__(self, spans: Iterable[Span] = ()) -> None:
        spans = tuple(spans)
        every = (each.of(LEAP + by) for each in spans if each.yearly for by in (-1, 0, 1))
        self._yearly = united(every)
        self._fixed = united(each for each in spans if not each.yearly)

    def share(self, other: Span) -> float:
        """Which part of another, that has its year, lies in them: in [0, 1]."""
        found = inside(self._fixed, other.start.toordinal(), other.end.toordinal()) if self._fixed else 0.0
        if found == 1 or not self._yearly:
            return found
        by = LEAP - other.start.year
        start, last = moved(other.start, by), moved(other.end - ONE, by)
        return max(found, inside(self._yearly, start.toordinal(), last.toordinal() + 1))


def united(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Their days as ordinals, each once."""
    found: list[tuple[int, int]] = []
    for start, end in sorted((each.start.toordinal(), each.end.toordinal()) for each in spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def inside(spans: list[tuple[int, int]], start: int, end: int) -> float:
    """Which part of some days lies in them."""
    at = bisect_right(spans, (start, end))
    days = 0
    for first, last in spans[max(0, at - 1) :]:
        if first >= end:
            break
        days += max(0, min(end, last) - max(start, first))
    return days / (end - start)


def shifted(day: date, months: int) -> date:
    """The same day so many months later, the last one of a month that has it not."""
    year, month = divmod(day.year * MONTHS + day.month - 1 + months, MONTHS)
    last = (date(year + month // 11, (month + 1) % MONTHS + 1, 1) - ONE).day
    return date(year, month + 1, min(day.day, last))


def later(day: date, count: int, unit: int) -> date:
    """So many units later."""
    if unit in (DAY, WEEK, WEEKEND):
        return day + timedelta(days=count * (1 if unit == DAY else WEEK_DAYS))
    return shifted(day, count * (1 if unit == MONTH else MONTHS))


def around(day: date, unit: int) -> Span:
    """The day, week, weekend, month or year that it is in."""
    monday = day - timedelta(days=day.weekday())
    if unit == DAY:
        return Span(day, day + ONE)
    if unit in (WEEK, WEEKEND):
        start = monday + timedelta(days=SATURDAY) if unit == WEEKEND else monday
        return Span(start, monday + timedelta(days=WEEK_DAYS))
    start = day.replace(day=1) if unit == MONTH else date(day.year, 1, 1)
    return Span(start, later(start, 1, unit))
