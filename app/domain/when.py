"""Time expressions of a text: `last spring`, `on 7 May`, `vor zwei Wochen`. Pure; nothing here raises.

A text becomes a string of one letter a word (`almanac.py`), and expressions are patterns over it: `last
spring` is `LS`, `7 May 2023` `DMY`. Which days they mean, `span.py` tells. Why: docs/decisions/0051.
"""

import re
from dataclasses import dataclass
from datetime import date

from app.domain.almanac import KNOWN, WORD, Read, bare, plain, timeless
from app.domain.text import once

MOST = 1_000
"""Characters that are read of a text: a tenth of a millisecond."""
DATE = "I|D[Mm]Y?|[Mm]DY?|[Mm]Y"
FORMS = re.compile(
    rf"(?P<beside>(?:[ND]?U|W)[ba](?:{DATE}))|(?P<date>{DATE})|(?P<season>SY)|(?P<range>L[ND]U)"
    r"|(?P<turn>[LTX](?:[MS](?![YD])|[WU])|[MSWU][LX])|(?P<ago>[ND]UA|V[ND]U)|(?P<word>R)"
    r"|(?P<bare>[Psba](?:S(?!Y)|[Mm](?![YD])|Y))"
)
"""Longest first. A month or a season that nothing stands beside may be a name or a verb."""
BOUNDS = "sba"
NOTHING: Read = (".", 0)
SHORTEST = len("7.5.2023")


@dataclass(frozen=True, slots=True)
class Expression:
    """Words of time that belong together."""

    form: str
    """A name of FORMS."""
    letters: str
    """Kinds of its words."""
    numbers: tuple[int, ...]
    """And their numbers."""
    bound: str = ""
    """`s` since, `b` until, `B` before, `a` after; "": the very time."""

    def number(self, kinds: str) -> int | None:
        """That of its first word of one of these kinds."""
        found = zip(self.letters, self.numbers, strict=True)
        return next((number for letter, number in found if letter in kinds), None)


@once
def expressions(text: str) -> tuple[Expression, ...]:
    """All of them, in their order."""
    text = bare(text[:MOST])
    if timeless(text):
        return ()
    read = reads(plain(text))
    letters = "".join(letter for letter, _ in read)
    return tuple(expression(found, read) for found in FORMS.finditer(letters))


def expression(found: re.Match[str], read: list[Read]) -> Expression:
    """One, and what bounds it: the word before, or its own first."""
    start, form = found.start(), str(found.lastgroup)
    at = start if form == "bare" else start - 1
    letter, number = read[at] if at >= 0 else NOTHING
    bound = (letter.upper() if number else letter) if letter in BOUNDS else ""
    return Expression(form, found[0], tuple(number for _, number in read[start : found.end()]), bound)


def reads(text: str) -> list[Read]:
    """Its words: kind and number. What stands between words of time without meaning one is left out."""
    every = [KNOWN.get(word) or written(word) for word in WORD.findall(text)]
    return [read for read in every if read[0]]


def written(word: str) -> Read:
    """`2023-05-07` or `7.5.2023`, as the ordinal of the day; any other word is nothing of time."""
    if len(word) < SHORTEST or not word[0].isdecimal():
        return NOTHING
    parts = word.split("-") if "-" in word else word.split(".")[::-1]
    try:
        year, month, day = map(int, parts)
        return "I", date(year, month, day).toordinal()
    except ValueError:
        return NOTHING
