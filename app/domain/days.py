"""The days that a memory is of: the one it was said on, and those it speaks of as they are seen from there.

They are noted when it is written (`noted`): reading a text for them takes a tenth of a millisecond, and a
question about a time needs those of every memory that was found. Without a note they are read then. Pure.
"""

from collections.abc import Iterator, Sequence
from datetime import date

from app.domain.almanac import DAY
from app.domain.calendar import Span, around
from app.domain.passage import Passage
from app.domain.span import nearest, resolved
from app.domain.text import Text, known, remembered
from app.domain.when import expressions

VERSION = 1
"""Raised with every change of `almanac`, `when`, `span` or `calendar` that reads other days."""
TIMED, HEAD = 1, 2
"""Places in a note (`noted`); the days begin behind them."""


def days(passage: Passage) -> Iterator[Span]:
    """All of them, each once."""
    at = passage.said_on
    if at is None:
        return
    yield around(at, DAY)
    yield from remembered(passage.text, (days, at), lambda: spoken(passage.text, at))


def spoken(text: str, at: date) -> tuple[Span, ...]:
    """Those that a text speaks of, seen from a day."""
    day, note = known(text, noted) or (None, ())
    if day == at:
        ends = map(date.fromordinal, note[HEAD:])
        return tuple([Span(start, end) for start, end in zip(ends, ends, strict=True)])
    every = (resolved(each, at) for each in expressions(text))
    return tuple(dict.fromkeys(nearest(span, at) for span in every if span))


def timed(text: str) -> bool:
    """Whether it has an expression of time, of whatever days."""
    _, note = known(text, noted) or (None, ())
    return bool(note[TIMED] if note else expressions(text))


def noted(text: str, at: date) -> list[int]:
    """What is kept with a text that is said on a day: VERSION, whether it is `timed`, and of each span of its
    days the first and the one after the last, as ordinals."""
    ends = [end.toordinal() for span in spoken(text, at) for end in (span.start, span.end)]
    return [VERSION, int(timed(text)), *ends]


def recall(text: Text, at: date, note: Sequence[int] | None) -> None:
    """Make a text remember what was noted of it on that day; nothing of another VERSION."""
    if note and note[0] == VERSION:
        text.memo[noted] = (at, note)
