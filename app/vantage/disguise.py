"""Words written so that a list misses them: digits for letters, letters set apart, letters drawn out.

A word is replaced only where its plain form is a word of the tables, so that ordinary words stay as they
are. Linear: what is looked for is first looked for by plain search. Nothing here raises.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from string import ascii_letters

from app.vantage.kinds import LETTER, PART, Table
from app.vantage.lexicon import WORDS
from app.vantage.recut import recut
from app.vantage.words import Text, beyond, cut

LEET = str.maketrans("013456789@$!|+", "oieashtbgasiit")
SIGNED = re.compile(
    r"[0-9@$!|+](?:(?<=[^\W\d_].)|(?<=[@$!|+])|(?=[0-9]*+[\w@$!|+]))(?<![0-9@$!|+].)[\w@$!|+]*+"
)
"""What follows a word's letters from the first digit or sign that passes for one; but digits alone that no
letter stands before. Possessive; what begins behind a digit or sign has been looked at from there."""

SIGNS, CALLED = "0123456789@$|+", re.compile(r"!\w")
APART = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .\-_*]{1,3}[^\W\d_](?![^\W_])){2,60}+")
"""Letters alone, with one to three marks or blanks between."""

ALONE = re.compile(r"[ .\-_*][^\W\d_][ .\-_*]{1,3}[^\W\d_](?![^\W_])")
DRAWN = re.compile(r"([^\W\d_])\1\1+")
BETWEEN = str.maketrans(dict.fromkeys(" .-_*"))
"""What stands between letters set apart."""

GAP = re.compile(r"[ .\-_*]{2,3}")
LIMIT = max(map(len, WORDS))
"""Letters of the longest word known."""
FILLER = frozenset("a i do to how the is my me you can make of in on for and".split())  # noqa: SIM905
LONGEST = 14
MANY = 2_000
"""Signs in a text: with so many it pays to look at each word once."""


SHORT = (2,)


def _sizes() -> dict[str, tuple[int, ...]]:
    known: dict[str, set[int]] = {}
    for word in (*WORDS, *FILLER):
        if word.isalpha() and 2 < len(word) <= LONGEST:
            known.setdefault(word[:3], set()).add(len(word))
    return {begin: (*sorted(sizes, reverse=True), *SHORT) for begin, sizes in known.items()}


SIZES = _sizes()
"""By its first three letters, how long a known word may be, longest first."""


_LETTERS, _BETWEEN = Table(look=LETTER | PART), Table(frozenset(".-*"))
_SORTS = {"1": "0123456789", "@": "@$!|+", "a": f"?_{ascii_letters}"}
_LOOKS = bytes(
    ord(next((sort for sort, chars in _SORTS.items() if chr(code) in chars), " ")) for code in range(256)
)
"""Of a character: a digit, a sign, a letter; a question mark stands for any that is not ASCII."""
_MIXED = re.compile(rb"1(?<!11)(?:(?<=a1)|1*+a)")
"""Digits behind a letter, or before one."""


def reveal(text: str) -> str:
    """The folded text with what was disguised written plainly; the same text where nothing was."""
    return plainly(cut(text)).folded


def plainly(text: Text) -> Text:
    """A folded text's words with what was disguised written plainly; the same where nothing was."""
    shown = text.folded
    if text.drawn:
        shown = _worded(shown, _drawn)
    if (shown is not text.folded or _spelt(text)) and ALONE.search(shown):
        shown = _joined(shown)
    if any(map(shown.__contains__, SIGNS)) or ("!" in shown and CALLED.search(shown)):
        many = len(shown) > MANY and sum(map(shown.count, SIGNS)) > MANY
        shown = _worded(shown, _lettered) if many else _lettered(shown)
    return text if shown == text.folded else recut(text, shown)


def _worded(text: str, change: Callable[[str], str]) -> str:
    """A text with its words changed, each by itself, and looked at once."""
    words = text.split(" ")
    once = " ".join(dict.fromkeys(words))
    changed = change(once)
    if changed == once:
        return text
    plain = dict(zip(once.split(" "), changed.split(" "), strict=True))
    return " ".join(map(plain.__getitem__, words))


def _spelt(text: Text) -> bool:
    """Whether three letters stand alone beside one another, or with marks of BETWEEN between; two, where what
    is no letter may pass for one. Else no pattern need look at the text."""
    letters = _LETTERS.marks(_BETWEEN.without(text.kinds))
    if b"\1\1" not in letters or b"\1\1\1" in letters:
        return b"\1\1" in letters
    return any(sign.isalnum() and not sign.isalpha() for sign in set(beyond(text.folded)))


def _joined(text: str) -> str:
    """With letters set apart drawn together. A row of them begins before the blank that `ALONE` finds, or
    right behind it."""
    parts: list[str] = []
    plain: dict[str, str] = {}
    done = 0
    hit = ALONE.search(text)
    while hit:
        at, behind = hit.span()
        places = (at - 3, at - 2, at - 1, at + 1)
        row = next((row for place in places if place >= done and (row := APART.match(text, place))), None)
        if row:
            if row[0] not in plain:
                plain[row[0]] = _join(row[0])
            parts += text[done : row.start()], plain[row[0]]
            done = behind = row.end()
        hit = ALONE.search(text, behind)
    return "".join((*parts, text[done:]))


def _lettered(text: str) -> str:
    """With letters for the digits and signs in words. All are translated at once: it is most of the time."""
    spans = [*_signed(text)]
    if not spans:
        return text
    words = "\n".join([text[begin:end] for begin, end in spans])
    plain = words.lower().translate(LEET).split("\n")
    parts: list[str] = []
    done = 0
    for (begin, end), word in compress(zip(spans, plain, strict=False), map(WORDS.__contains__, plain)):
        if word.isalpha() and not (begin and _within(text[begin - 1])):
            parts += text[done:begin], word
            done = end
    return "".join((*parts, text[done:]))


def _signed(text: str) -> Iterator[tuple[int, int]]:
    """Where each word with digits or signs begins and ends that may be one of the tables. No two touch."""
    for found in SIGNED.finditer(text, _first(text)):
        at, end = found.span()
        lettered = text[at - 1 : at].isalpha()
        begin = _begun(text, max(0, at - LIMIT), at) if lettered else at
        if end - begin <= LIMIT and (lettered or not found[0].isdigit()):
            yield begin, end


def _first(text: str) -> int:
    """Where the first of them may begin: a sign, a digit behind a letter or before one. In C."""
    looks = text.encode("ascii", "replace").translate(_LOOKS)
    sign, mixed = looks.find(b"@"), _MIXED.search(looks)
    place = mixed.start() if mixed else len(text)
    return looks.rfind(b" ", 0, min(place, sign) if sign >= 0 else place) + 1 if mixed or sign >= 0 else place


def _begun(text: str, floor: int, at: int) -> int:
    """Where the letters before a place begin, from `floor` on."""
    before = text[floor:at]
    if before.isascii():
        return floor + len(before.rstrip(ascii_letters))
    while at > floor and text[at - 1].isalpha():
        at -= 1
    return at


def _within(char: str) -> bool:
    """Whether what stands behind it is within a word."""
    return char.isalnum() or char == "_"


def _drawn(text: str) -> str:
    """`kiiill` is `kill`: letters three times or more are taken twice or once, whichever is a known word."""
    parts: list[str] = []
    done = 0
    for begin, end, runs in _stretched(text):
        parts += text[done:begin], _shortest(*_taken(text, begin, end, runs))
        done = end
    return "".join((*parts, text[done:]))


def _stretched(text: str) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Where each word with such letters begins and ends, and where they do."""
    begin = end = 0
    runs: list[tuple[int, int]] = []
    for found in DRAWN.finditer(text):
        if not runs or found.start() >= end:
            if runs:
                yield begin, end, runs
            begin, runs = text.rfind(" ", end, found.start()) + 1, []
            end = text.find(" ", found.end())
            end = len(text) if end < 0 else end
        runs.append(found.span())
    if runs:
        yield begin, end, runs


def _taken(text: str, begin: int, end: int, runs: Iterable[tuple[int, int]]) -> tuple[str, str, str]:
    """A word, with its runs of letters taken twice, and once."""
    kept: list[str] = []
    letters: list[str] = []
    done = begin
    for start, behind in runs:
        kept.append(text[done:start])
        letters.append(text[start])
        done = behind
    kept.append(text[done:end])
    twice = "".join(part + 2 * letter for part, letter in zip(kept, [*letters, ""], strict=True))
    once = "".join(part + letter for part, letter in zip(kept, [*letters, ""], strict=True))
    return text[begin:end], twice, once


def _shortest(word: str, two: str, one: str) -> str:
    if word == two:
        return word
    bare = one.lower().strip(".,!?;:\"'()\n")
    return one if bare in WORDS and two.lower().strip(".,!?;:\"'()\n") not in WORDS else two


def _join(row: str) -> str:
    if GAP.search(row):
        parts = [part.translate(BETWEEN) for part in GAP.split(row)]
        if max(map(len, parts)) > 1:
            return " ".join(parts)
    return " ".join(_cut(row.translate(BETWEEN).lower()))


def _cut(letters: str) -> list[str]:
    """Its words, longest first; a letter that begins none stays alone."""
    found = []
    at, end = 0, len(letters)
    while at < end:
        behind = at + 1
        for size in SIZES.get(letters[at : at + 3], SHORT):
            part = letters[at : at + size]
            if part in FILLER or (size > 2 and part in WORDS):
                behind = at + len(part)
                break
        found.append(letters[at:behind])
        at = behind
    return found
