"""Which days an expression of time means, seen from a day. Pure; days are UTC's, spans half open.

A day, a month or a season without a year is any year's (`yearly`), unless a year is to be chosen: the nearest
one (`nearest`), as in a memory that was said on that day. Seasons are the meteorological ones of the north.
What people mean by `a week ago` is not a day: spans are as wide as the unit. Nothing here raises.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta

from app.domain.almanac import DAY, MONTH, WEEK, WEEKEND
from app.domain.when import Expression

LEAP = 2000
"""The year in which days without a year are written."""
FIRST, LAST = date(1800, 1, 1), date(2200, 1, 1)
"""Before and after everything."""
ONE = timedelta(days=1)
WEEK_DAYS, MONTHS, SATURDAY, WINTER = 7, 12, 5, 0


@dataclass(frozen=True, slots=True)
class Span:
    """Days from `start` to before `end`; `yearly`: those of any year, written in the year LEAP."""

    start: date
    end: date
    yearly: bool = False

    def share(self, other: "Span") -> float:
        """Which part of another, that has its year, lies in this one: in [0, 1]."""
        inside = sum(overlap(each, other) for each in self.of(other.start.year))
        return min(1.0, inside / max(1, (other.end - other.start).days))

    def of(self, year: int) -> "list[Span]":
        """Itself, or those of a year and of its neighbours."""
        if not self.yearly:
            return [self]
        return [
            Span(shifted(self.start, by), shifted(self.end, by))
            for by in range((year - 1 - LEAP) * MONTHS, (year + 2 - LEAP) * MONTHS, MONTHS)
        ]


def overlap(one: Span, other: Span) -> int:
    """Days that both have."""
    return max(0, (min(one.end, other.end) - max(one.start, other.start)).days)


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


def months(first: int, count: int) -> Span:
    """Of any year."""
    start = date(LEAP, first, 1)
    return Span(start, shifted(start, count), yearly=True)


def season(number: int) -> Span:
    """Of any year; winter begins in December."""
    return months(MONTHS if number == WINTER else 3 * number, 3)


def in_year(span: Span, year: int | None) -> Span:
    """Of that year; None: of any."""
    return span if year is None else span.of(year)[1]


def nearest(span: Span, at: date) -> Span:
    """Of the year in which it lies nearest to a day."""
    return min(span.of(at.year), key=lambda each: max((each.start - at).days, (at - each.end).days + 1, 0))


def resolved(found: Expression, at: date) -> Span | None:
    """Its days as they are seen from a day, whatever bounds them; None: there are no such days."""
    try:
        return RESOLVE[found.form](found, at)
    except (ValueError, OverflowError):  # 30 February, a thousand years ago
        return None


def named(found: Expression, _: date) -> Span:
    """`7 May 2023`, `May 2023`, `7 May`."""
    ordinal, year = found.number("I"), found.number("Y")
    if ordinal is not None:
        return around(date.fromordinal(ordinal), DAY)
    month, day = found.number("Mm") or 1, found.number("D")
    if day is None:
        return in_year(months(month, 1), year)
    start = date(LEAP if year is None else year, month, day)
    return Span(start, start + ONE, yearly=year is None)


def bare(found: Expression, _: date) -> Span:
    """`in May`, `in summer 2021`, `in 2021`."""
    year, month, number = found.number("Y"), found.number("Mm"), found.number("S")
    if month is None and number is None:
        return around(date(year or LEAP, 1, 1), 4)
    return in_year(season(number) if number is not None else months(month or 1, 1), year)


def counted(found: Expression, at: date) -> Span:
    """`two weeks ago`: as wide as its unit is."""
    unit = found.number("U") or DAY
    then = later(at, -(found.number("ND") or 1), unit)
    if unit == WEEK:
        return Span(then - 3 * ONE, then + 4 * ONE)
    return around(then, unit)


def lately(found: Expression, at: date) -> Span:
    """`the last two weeks`."""
    return Span(later(at, -(found.number("ND") or 1), found.number("U") or DAY), at + ONE)


def beside(found: Expression, at: date) -> Span | None:
    """`the week before 3 June`: up to that day, on which it is told."""
    cut = 1 + max(found.letters.find("b"), found.letters.find("a"))
    day = named(Expression("date", found.letters[cut:], found.numbers[cut:]), at)
    span = nearest(day, at) if day.yearly else day
    count = found.number("N") or found.numbers[0] if found.letters[0] in "ND" else 1
    unit = WEEK if found.letters[0] == "W" else found.number("U") or DAY
    if "b" in found.letters:
        return Span(later(span.start, -count, unit), span.end)
    return Span(span.start, later(span.end, count, unit))


def turned(found: Expression, at: date) -> Span:
    """`last spring`, `next Tuesday`, `this year`: seen from the day, the nearest that is over or to come."""
    step = next(step for kind, step in (("L", -1), ("T", 0), ("X", 1)) if kind in found.letters)
    unit, weekday = found.number("U"), found.number("W")
    if unit is not None:
        return around(later(at if unit == DAY else around(at, unit).start, step, unit), unit)
    if weekday is not None:
        back = (at.weekday() - weekday) % WEEK_DAYS or WEEK_DAYS
        return around(at + timedelta(days=-back if step < 0 else -back % WEEK_DAYS or WEEK_DAYS), DAY)
    number = found.number("S")
    span = season(number) if number is not None else months(found.number("Mm") or 1, 1)
    return chosen(span.of(at.year - 1) + span.of(at.year + 1), at, step)


def chosen(spans: Iterable[Span], at: date, step: int) -> Span:
    """The last that is over, the one that is on or next to come, or the first that begins later."""
    if step < 0:
        return max((each for each in spans if each.end <= at), key=lambda each: each.end)
    return min(
        (each for each in spans if (each.start if step else each.end) > at), key=lambda each: each.start
    )


RESOLVE: dict[str, Callable[[Expression, date], Span | None]] = {
    "beside": beside,
    "date": named,
    "season": bare,
    "range": lately,
    "turn": turned,
    "ago": counted,
    "word": lambda found, at: around(at + timedelta(days=found.numbers[0]), DAY),
    "bare": bare,
}
