"""Which days an expression of time means, seen from a day. Pure; days are UTC's, spans half open.

A day, a month or a season without a year is any year's (`yearly`), unless a year is to be chosen: the nearest
one (`nearest`), as in a memory that was said on that day. Seasons are the meteorological ones of the north.
What people mean by `a week ago` is not a day: spans are as wide as the unit. Nothing here raises.
"""

from collections.abc import Callable
from datetime import date, timedelta

from app.domain.almanac import DAY, MONTH, WEEK, WEEKEND, YEAR
from app.domain.calendar import LEAP, MONTHS, ONE, WEEK_DAYS, Span, around, later, shifted
from app.domain.when import Expression

WINTER = 0
"""The season that two years share."""


def months(first: int, count: int) -> Span:
    """Of any year."""
    start = date(LEAP, first, 1)
    return Span(start, shifted(start, count), yearly=True)


def season(number: int) -> Span:
    """Of any year; winter begins in December."""
    return months(MONTHS if number == WINTER else 3 * number, 3)


def in_year(span: Span, year: int | None) -> Span:
    """Of that year; None: of any."""
    return span if year is None else span.of(year)


def nearest(span: Span, at: date) -> Span:
    """Of the year in which it lies nearest to a day."""
    here = span.of(at.year)
    if not span.yearly or here.start <= at < here.end:
        return here
    return min(here, span.of(at.year + (1 if at >= here.end else -1)), key=lambda each: gap(each, at))


def gap(span: Span, at: date) -> int:
    """Days between it and a day."""
    return max((span.start - at).days, (at - span.end).days + 1, 0)


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
    month, day = found.number("Mmw") or 1, found.number("D")
    if day is None:
        return in_year(months(month, 1), year)
    start = date(LEAP if year is None else year, month, day)
    return Span(start, start + ONE, yearly=year is None)


def bare(found: Expression, _: date) -> Span:
    """`in May`, `in summer 2021`, `in 2021`."""
    year, month, number = found.number("Y"), found.number("Mmw"), found.number("S")
    if month is None and number is None:
        return around(date(year or LEAP, 1, 1), YEAR)
    return in_year(season(number) if number is not None else months(month or 1, 1), year)


def weekly(found: Expression, at: date) -> Span:
    """`on Monday`: the last one, today included; what is told is mostly over."""
    return around(at - timedelta(days=(at.weekday() - (found.number("W") or 0)) % WEEK_DAYS), DAY)


def between(found: Expression, at: date) -> Span | None:
    """`from May to July 2023`: both included; the year of the second is that of the first, too."""
    cut = next(n for n, letter in enumerate(found.letters) if n and letter in "&b")
    first = Expression("", found.letters[1:cut], found.numbers[1:cut])
    last = Expression("", found.letters[cut + 1 :], found.numbers[cut + 1 :])
    if first.letters == "D":
        first = lent(first, "M", last.number("Mmw"))
    if set(first.letters) & set("IY"):
        return stretch(point(first, at), point(last, at), 0)
    whole = lent(first, "Y", last.number("Y"))
    return stretch(point(whole, at), point(last, at), int(whole != first))


def lent(found: Expression, letter: str, number: int | None) -> Expression:
    """With a word of another's, if that has one."""
    return found if number is None else Expression("", found.letters + letter, (*found.numbers, number))


def stretch(first: Span | None, last: Span | None, lent: int) -> Span | None:
    """From the one to the other; over the turn of the year where the year is not told, or told (`lent`) of
    the last alone."""
    if first is None or last is None or first.yearly != last.yearly:
        return None
    start, end = first.start, last.end
    if end <= start and first.yearly:
        end = shifted(end, MONTHS)
    elif end <= start:
        start = shifted(start, -MONTHS * lent)
    return Span(start, end, first.yearly) if start < end else None


def point(found: Expression, at: date) -> Span | None:
    """One end of it."""
    if set(found.letters) in ({"D"}, {"D", "Y"}):
        return None
    return bare(found, at) if set(found.letters) <= set("SY") else named(found, at)


def edge(found: Expression, at: date) -> Span | None:
    """`the last week of May`, `the last day of 2023`."""
    whole = point(Expression("", found.letters[1:], found.numbers[1:]), at)
    unit = found.numbers[0]
    if whole is None or (whole.yearly and unit == WEEKEND):
        return None
    if unit == MONTH:
        return Span(shifted(whole.end, -1), whole.end, whole.yearly)
    if unit == WEEKEND:
        return around(whole.end - (whole.end.weekday() + 1) * ONE, WEEKEND)
    return Span(whole.end - (1 if unit == DAY else WEEK_DAYS) * ONE, whole.end, whole.yearly)


def hence(found: Expression, at: date) -> Span | None:
    """`in two weeks`; `in a week` is more often a measure."""
    count = found.numbers[1]
    return ahead(found, at, count) if found.numbers[0] and count > 1 else None


def counted(found: Expression, at: date) -> Span:
    """`two weeks ago`."""
    return ahead(found, at, -(found.number("NDC") or 1))


def ahead(found: Expression, at: date, count: int) -> Span:
    """So many units later: as wide as a unit is."""
    unit = found.number("U") or DAY
    then = later(at, count, unit)
    if unit == WEEK:
        return Span(then - 3 * ONE, then + 4 * ONE)
    return around(then, unit)


def lately(found: Expression, at: date) -> Span:
    """`the last two weeks`."""
    return Span(later(at, -(found.number("NDC") or 1), found.number("U") or DAY), at + ONE)


def beside(found: Expression, at: date) -> Span | None:
    """`the week before 3 June`: up to that day, on which it is told."""
    cut = 1 + next(n for n, letter in enumerate(found.letters) if letter in "bav")
    day = named(Expression("date", found.letters[cut:], found.numbers[cut:]), at)
    span = nearest(day, at)
    count = found.numbers[0] if found.letters[0] in "NDC" else 1
    unit = WEEK if found.letters[0] == "W" else found.number("U") or DAY
    if found.letters[cut - 1] != "a":
        return Span(later(span.start, -count, unit), span.end)
    return Span(span.start, later(span.end, count, unit))


def turned(found: Expression, at: date) -> Span:
    """`last spring`, `next Tuesday`, `this year`: seen from the day, the nearest that is over or to come, or
    that of this week or year."""
    step = next(step for kinds, step in (("Ll", -1), ("T", 0), ("Xx", 1)) if set(kinds) & set(found.letters))
    unit, weekday = found.number("U"), found.number("W")
    if unit is not None:
        past = found.number("L") == 1 and unit not in (DAY, WEEKEND)
        then = later(at if unit == DAY else around(at, unit).start, step, unit)
        return lately(found, at) if past else around(then, unit)
    return the_weekday(weekday, at, step) if weekday is not None else part(found, at, step)


def part(found: Expression, at: date, step: int) -> Span:
    """`last spring`, `this May`."""
    number = found.number("S")
    span = season(number) if number is not None else months(found.number("Mmw") or 1, 1)
    if step:
        return chosen(span, at, step)
    return nearest(span, at) if number == WINTER else span.of(at.year)


def the_weekday(weekday: int, at: date, step: int) -> Span:
    """The last one before a day, that of its week, or the first after it."""
    days = weekday - at.weekday()
    if step > 0:
        days = days % WEEK_DAYS or WEEK_DAYS
    if step < 0:
        days = days % WEEK_DAYS - WEEK_DAYS
    return around(at + timedelta(days=days), DAY)


def chosen(span: Span, at: date, step: int) -> Span:
    """The last that is over, or the first that begins later."""
    every = [span.of(at.year + by) for by in (-2, -1, 0, 1)]
    if step < 0:
        return max((each for each in every if each.end <= at), key=lambda each: each.end)
    return min((each for each in every if each.start > at), key=lambda each: each.start)


RESOLVE: dict[str, Callable[[Expression, date], Span | None]] = {
    "beside": beside,
    "date": named,
    "season": bare,
    "range": lately,
    "turn": turned,
    "ago": counted,
    "hence": hence,
    "between": between,
    "edge": edge,
    "word": lambda found, at: around(at + timedelta(days=found.numbers[0]), DAY),
    "bare": lambda found, at: weekly(found, at) if "W" in found.letters else bare(found, at),
}
