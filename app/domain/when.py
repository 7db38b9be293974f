"""Time expressions of a text: `last spring`, `on 7 May`, `vor zwei Wochen`. Pure; nothing here raises.

A text becomes a string of one letter a word (`almanac.py`), and expressions are patterns over it: `last
spring` is `LS`, `7 May 2023` `DMY`. Which days they mean, `span.py` tells. Why: docs/decisions/0051.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice

from app.domain.almanac import HINTS, KNOWN, SIGNS, WORD, Read, bare, hinted, plain, timeless
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
    r"(?=[RI]|[^.][^.])"  # else it is none: most words are told by this alone
    rf"(?:(?P<between>(?:Q(?:{POINT}|D)[&b]|s(?:{POINT})b)(?:{POINT})(?!k))"
    rf"|(?P<beside>(?:(?:[NDC]?U|W)[ba]|[NDC]Uv)(?:{DATE}))|(?P<date>{DATE})|(?P<season>SY)"
    rf"|(?P<range>[Ll]{COUNT})|(?P<edge>E(?:[Mmw]Y?|Y))"
    r"|(?P<turn>[LlTXx](?:[MS](?![YD])|[WU])|[LX]m(?![YD])|[MSWU][lx])"
    rf"|(?P<ago>(?<![NDCn]){COUNT}A|[Vv]{COUNT})|(?P<hence>P{COUNT}(?![Aba]))|(?P<word>R)"
    r"|(?P<bare>[Psbav](?:S(?!Y)|[Mm](?![YD])|Y(?!k))|[Osba]W(?![bav])))"
)
"""Longest first. A month or a season that nothing stands beside may be a name or a verb."""
BOUNDS = {"s": "s", "b": "b", "a": "a", "v": "B", "d": "b"}
NOTHING: Read = (".", 0)
UNKNOWN = (NOTHING,)
ALONE = {word: (read,) for word, read in KNOWN.items()}
ADJACENT = re.compile("[Nn][Nn]")
ARTICLE: Read = ("N", 1)
NUMERAL = frozenset("Nn")
SHORTEST = len("7.5.2023")
TEN = 10
DIGITS = 3
"""Of the highest number that counts days or weeks."""


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
        for letter, number in zip(self.letters, self.numbers, strict=True):
            if letter in kinds:
                return number
        return None


@once
def expressions(text: str) -> tuple[Expression, ...]:
    """The first MANY, each once, in their order."""
    text = bare(text[:MOST])[:MOST]  # accents and ligatures may be more without them
    near = excerpt(text)
    if not near:
        return ()
    read = reads(plain(near))
    letters = "".join([letter for letter, _ in read])
    every = (expression(found, read) for found in islice(FORMS.finditer(letters), MANY))
    return tuple(dict.fromkeys(every))


def excerpt(text: str) -> str:
    """Of a long text the words that stand near one of time, the first WORDS of them; "": there is none."""
    low = text.lower()
    words = low.split()
    if len(words) <= WORDS:
        return "" if timeless(text) else text
    near = places(words)
    if "Ma" in text:  # names are written with capitals
        words = text.split()
    return " ".join([f"x {' '.join(words[first:end])}" for first, end in near])


def places(words: Sequence[str]) -> list[tuple[int, int]]:
    """Where those are, as half-open stretches of which no two touch."""
    near: list[tuple[int, int]] = []
    found = end = 0
    for at in [at for at, word in enumerate(words) if word in HINTS or (not word.isalnum() and hinted(word))]:
        first, last = max(at - NEAR, end), min(at + NEAR, len(words))
        found += last - first
        if near and first == end:
            first, _ = near.pop()
        near.append((first, last))
        end = last
        if found > WORDS:
            break
    return near


def expression(found: re.Match[str], read: list[Read]) -> Expression:
    """One, and what bounds it: the word before, or its own first."""
    start, form = found.start(), str(found.lastgroup)
    at = start if form == "bare" else start - 1
    letter, number = read[at] if at >= 0 else NOTHING
    bound = "" if form == "between" else "B" if number and letter == "b" else BOUNDS.get(letter, "")
    return Expression(form, found[0], tuple(number for _, number in read[start : found.end()]), bound)


def reads(text: str) -> list[Read]:
    """Its words: kind and number. What stands between words of time without meaning one is left out."""
    every = [ALONE.get(word) or (UNKNOWN if word.isalpha() else marked(word)) for word in text.split()]
    read = [found for word in every for found in word if found[0]]
    return joined(read) if ADJACENT.search("".join([kind for kind, _ in read])) else read


def marked(word: str) -> Sequence[Read]:
    """One with digits or marks: mostly a mark at its end."""
    core = word.strip(SIGNS)
    if found := ALONE.get(core):
        return found
    if core.isalpha() or (core.isdecimal() and len(core) > DIGITS):
        return UNKNOWN
    return [KNOWN.get(each) or (written(each) if each[0] <= "9" else NOTHING) for each in WORD.findall(word)]


def joined(every: list[Read]) -> list[Read]:
    """The same, with one number for the words of one."""
    read: list[Read] = []
    before = ""
    for found in every:
        kind = found[0]
        if kind in NUMERAL and before in NUMERAL:
            read[-1] = together(read[-1], found)
            before = read[-1][0]
        else:
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
        return ("C", int(word)) if len(word) <= DIGITS else NOTHING
    if len(word) < SHORTEST:
        return "n", 0
    parts = word.split("-") if "-" in word else word.split(".")[::-1]
    try:
        year, month, day = map(int, parts)
        return ("I", date(year, month, day).toordinal()) if year in KNOWABLE else NOTHING
    except ValueError:
        return NOTHING
