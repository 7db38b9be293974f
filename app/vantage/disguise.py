"""Words written so that a list misses them: digits for letters, letters set apart, letters drawn out.

A word is replaced only where its plain form is a word of the tables, so that ordinary words stay as they
are. Linear: what is looked for is first looked for by plain search. Nothing here raises.
"""

import re
from collections.abc import Iterable, Iterator

from app.vantage.kinds import LETTER, Table
from app.vantage.lexicon import WORDS
from app.vantage.words import Text, cut

LEET = str.maketrans("013456789@$!|+", "oieashtbgasiit")
SIGNED = re.compile(r"[0-9@$!|+][\w@$!|+]*+")
"""What follows a word's letters from the first digit or sign that passes for one. Possessive."""

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


SHORT = (2,)


def _sizes() -> dict[str, tuple[int, ...]]:
    known: dict[str, set[int]] = {}
    for word in (*WORDS, *FILLER):
        if word.isalpha() and 2 < len(word) <= LONGEST:
            known.setdefault(word[:3], set()).add(len(word))
    return {begin: (*sorted(sizes, reverse=True), *SHORT) for begin, sizes in known.items()}


SIZES = _sizes()
"""By its first three letters, how long a known word may be, longest first."""


_LETTERS, _BETWEEN = Table(look=LETTER), Table(frozenset(".-*"))


def reveal(text: str) -> str:
    """The folded text with what was disguised written plainly; the same text where nothing was."""
    return plainly(cut(text)).folded


def plainly(text: Text) -> Text:
    """A folded text's words with what was disguised written plainly; the same where nothing was."""
    shown = text.folded
    if text.drawn:
        shown = _drawn(shown)
    if (shown is not text.folded or _spelt(text)) and ALONE.search(shown):
        shown = _joined(shown)
    if any(map(shown.__contains__, SIGNS)) or ("!" in shown and CALLED.search(shown)):
        shown = _lettered(shown)
    return text if shown == text.folded else cut(shown)


def _spelt(text: Text) -> bool:
    """Whether a letter stands alone beside another, or with a mark of BETWEEN between: else no pattern need
    look at the text."""
    letters = _LETTERS.marks(_BETWEEN.without(text.kinds))
    return b"\1\1" in letters


def _joined(text: str) -> str:
    """With letters set apart drawn together. A row of them begins before the blank that `ALONE` finds, or
    right behind it."""
    parts: list[str] = []
    done = 0
    hit = ALONE.search(text)
    while hit:
        at, behind = hit.span()
        places = (at - 3, at - 2, at - 1, at + 1)
        row = next((row for place in places if place >= done and (row := APART.match(text, place))), None)
        if row:
            parts += text[done : row.start()], _join(row)
            done = behind = row.end()
        hit = ALONE.search(text, behind)
    return "".join((*parts, text[done:]))


def _lettered(text: str) -> str:
    """With letters for the digits and signs in words."""
    parts: list[str] = []
    done = 0
    for found in SIGNED.finditer(text):
        begin, end = found.span()
        if found[0].isdigit() and not text[begin - 1 : begin].isalpha():
            continue
        floor = max(done, begin - LIMIT)
        while begin > floor and text[begin - 1].isalpha():
            begin -= 1
        word = text[begin:end]
        if word.isdigit() or end - begin > LIMIT:
            continue
        plain = word.lower().translate(LEET)
        inside = begin > done and (text[begin - 1].isalnum() or text[begin - 1] == "_")
        if plain in WORDS and plain.isalpha() and not inside:
            parts += text[done:begin], plain
            done = end
    return "".join((*parts, text[done:]))


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


def _join(found: re.Match[str]) -> str:
    if GAP.search(found[0]):
        parts = [part.translate(BETWEEN) for part in GAP.split(found[0])]
        if max(map(len, parts)) > 1:
            return " ".join(parts)
    return " ".join(_cut(found[0].translate(BETWEEN).lower()))


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
