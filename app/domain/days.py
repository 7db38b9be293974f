"""The days that a memory is of: the one it was said on, and those it speaks of as they are seen from there.

They are read when they are needed, a tenth of a millisecond a text, and remembered with the text. Pure.
"""

from collections.abc import Iterator
from datetime import date

from app.domain.almanac import DAY
from app.domain.calendar import Span, around
from app.domain.passage import Passage
from app.domain.span import nearest, resolved
from app.domain.text import remembered
from app.domain.when import expressions


def days(passage: Passage) -> Iterator[Span]:
    """All of them, each once."""
    at = passage.said_on
    if at is None:
        return
    yield around(at, DAY)
    yield from remembered(passage.text, (days, at), lambda: spoken(passage.text, at))


def spoken(text: str, at: date) -> tuple[Span, ...]:
    """Those that a text speaks of, seen from a day."""
    every = (resolved(each, at) for each in expressions(text))
    return tuple(dict.fromkeys(nearest(span, at) for span in every if span))


def timed(text: str) -> bool:
    """Whether it has an expression of time, of whatever days."""
    return bool(expressions(text))
