"""Time expressions of a text: `last spring`, `on 7 May`, `vor zwei Wochen`. Pure; nothing here raises.

A text becomes a string of one letter a word (`almanac.py`), and expressions are patterns over it: `last
spring` is `LS`, `7 May 2023` `DMY`. Which days they mean, `span.py` tells. Why: docs/decisions/0051.
"""

import re
from dataclasses import dataclass
from datetime import date
from itertools import islice

from app.domain.almanac import HINTS, KNOWN, WORD, Read, bare, plain, timeless
from app.domain.passage import KNOWABLE
from app.domain.text import once

MOST = 1_000
"""Characters that are read of a text: a tenth of a millisecond."""
MANY = 8
"""Expressions of one text: more are a list, or an attack."""
WORDS, NEAR = 48, 6
"""Words that are read of a text, and how far from a word of time."""
DATE = "I|D[Mw]Y?|[Mw]DY?|MY|DmY|mDY|[mw]Y|(?<=[POQsbavd&])(?:Dm|mD)"
COUNT = "[NDC]U"
POINT = "I|D[Mmw]Y?|[Mmw]D?Y?|SY?|Y"
FORMS = re.compile(
    rf"(?P<between>(?:Q(?:{POINT}|D)[&b]|s(?:{POINT})b)(?:{POINT})(?!k))"
    rf"|(?P<beside>(?:(?:[NDC]?U|W)[ba]|[NDC]Uv)(?:{DATE}))|(?P<date>{DATE})|(?P<season>SY)"
    rf"|(?P<range>[Ll]{COUNT})|(?P<edge>E(?:[Mmw]Y?|Y))"
    r"|(?P<turn>[LlTXx](?:[MS](?![YD])|[WU])|[LX]m(?![YD])|[MSWU][lx])"
    rf"|(?P<ago>(?<![NDCn]){COUNT}A|[Vv]{COUNT})|(?P<hence>P{COUNT}(?![Aba]))|(?P<word>R)"
    r"|(?P<bare>[Psbav](?:S(?!Y)|[Mm](?![YD])|Y(?!k))|[Osba]W(?![bav]))"
)
"""Longest first. A month or a season that nothing stands beside may be a name or a verb."""
BOUNDS = {"s": "s", "b": "b", "a": "a", "v": "B", "d": "b"}
NOTHING: Read = (".", 0)
ARTICLE: Read = ("N", 1)
NUMERAL = frozenset("Nn")
SHORTEST = len("7.5.2023")
TEN = 10
LARGEST = 999
"""The highest number that counts days or weeks."""


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
    """`s` since, `b` until, `B` before (as `v`), `a` after; "": the very time."""

    def number(self, kinds: str) -> int | None:
        """That of its first word of one of these kinds."""
        found = zip(self.letters, self.numbers, strict=True)
        return next((number for letter, number in found if letter in kinds), None)


@once
def expressions(text: str) -> tuple[Expression, ...]:
    """The first MANY, each once, in their order."""
    text = bare(text[:MOST])[:MOST]  # accents and ligatures may be more without them
    if timeless(text):
        return ()
    read = reads(plain(excerpt(text)))
    letters = "".join(letter for letter, _ in read)
    every = (expression(found, read) for found in islice(FORMS.finditer(letters), MANY))
    return tuple(dict.fromkeys(every))


def excerpt(text: str) -> str:
    """Of a long text the words that stand near one of time, the first WORDS of them."""
    words = text.split()
    if len(words) <= WORDS:
        return text
    near: dict[int, str] = {}
    for at, word in enumerate(text.lower().split()):
        if word in HINTS or not (word.isalnum() or timeless(word)):
            first = max(0, at - NEAR, next(reversed(near), -1) + 1)
            near |= {n: words[n] for n in range(first, min(len(words), at + NEAR))}
            if len(near) > WORDS:
                break
    return " ".join(word if at - 1 in near else f"x {word}" for at, word in near.items())


def expression(found: re.Match[str], read: list[Read]) -> Expression:
    """One, and what bounds it: the word before, or its own first."""
    start, form = found.start(), str(found.lastgroup)
    at = start if form == "bare" else start - 1
    letter, number = read[at] if at >= 0 else NOTHING
    bound = "" if form == "between" else "B" if number and letter == "b" else BOUNDS.get(letter, "")
    return Expression(form, found[0], tuple(number for _, number in read[start : found.end()]), bound)


def reads(text: str) -> list[Read]:
    """Its words: kind and number. What stands between words of time without meaning one is left out."""
    every = [KNOWN.get(word) or (written(word) if word[0] <= "9" else NOTHING) for word in WORD.findall(text)]
    read: list[Read] = []
    before = ""
    for found in every:
        kind = found[0]
        if kind in NUMERAL and before in NUMERAL:
            read[-1] = together(read[-1], found)
            before = read[-1][0]
        elif kind:
            read.append(found)
            before = kind
    return read


def together(one: Read, other: Read) -> Read:
    """Two words of one number: `a few`, `twenty two`; any other is not read."""
    if one == ARTICLE:
        return other
    tens = one[0] == other[0] == "N" and one[1] >= 2 * TEN and not one[1] % TEN and other[1] < TEN
    return ("N", one[1] + other[1]) if tens else ("n", 0)


def written(word: str) -> Read:
    """`2023-05-07` or `7.5.2023`, as the ordinal of the day, and `45`; any other word is nothing of time."""
    if word.isdecimal():
        return ("C", int(word)) if len(word) <= len(str(LARGEST)) else NOTHING
    if len(word) < SHORTEST:
        return "n", 0
    parts = word.split("-") if "-" in word else word.split(".")[::-1]
    try:
        year, month, day = map(int, parts)
        return ("I", date(year, month, day).toordinal()) if year in KNOWABLE else NOTHING
    except ValueError:
        return NOTHING
