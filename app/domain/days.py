"""The days that a memory is of: the one it was said on, and those it speaks of as they are seen from there.

They are noted when it is written (`noted`): to read a text for them takes a tenth of a millisecond, and who
asks about a time needs those of every memory that was found. What has no note, or none that fits, is read
then. Pure; nothing here raises.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from zlib import crc32

from app.domain.almanac import DAY
from app.domain.calendar import FIRST, LAST, Span, around
from app.domain.passage import Passage
from app.domain.span import nearest, resolved
from app.domain.text import Text, known, remembered
from app.domain.when import MANY, expressions

VERSION = 1
"""Raised with every change of `almanac`, `when`, `span` or `calendar` that reads other days."""
TEXT, SAID, TIMED, HEAD = 1, 2, 3, 4
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
    note = known(text, noted)
    if note and note[SAID] == at.toordinal():
        ends = map(date.fromordinal, note[HEAD:])
        return tuple([Span(start, end) for start, end in zip(ends, ends, strict=True)])
    every = (resolved(each, at) for each in expressions(text))
    return tuple(dict.fromkeys(nearest(span, at) for span in every if span))


def timed(text: str) -> bool:
    """Whether it has an expression of time, of whatever days."""
    note = known(text, noted)
    return bool(note[TIMED] if note else expressions(text))


def noted(text: str, at: date) -> list[int]:
    """What is read of a text that is said on a day, to be kept with it: VERSION, a checksum of the text, the
    day, whether it is `timed`, and of each span of its days the first and the one after the last. Days are
    ordinals."""
    ends = [end.toordinal() for span in spoken(text, at) for end in (span.start, span.end)]
    return [VERSION, checksum(text), at.toordinal(), int(timed(text)), *ends]


def recall(text: Text, note: object) -> None:
    """Leaves a note with its text where it is one, and of this text and VERSION: others write points, too."""
    if noted not in text.memo and isinstance(note, list) and valid(note) and note[TEXT] == checksum(text):
        text.memo[noted] = note


def valid(note: Sequence[object]) -> bool:
    """Whether it can be read."""
    numbers = [each for each in note[: HEAD + 2 * MANY] if type(each) is int]
    ends = numbers[HEAD:]
    if len(numbers) != len(note) or len(note) < HEAD or len(ends) % 2 or numbers[0] != VERSION:
        return False
    spans = zip(ends[::2], ends[1::2], strict=True)
    return all(FIRST.toordinal() <= start < end <= LAST.toordinal() for start, end in spans)


def checksum(text: str) -> int:
    """Tells another text apart."""
    return crc32(text.encode(errors="surrogatepass"))
