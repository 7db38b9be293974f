"""Words written so that a list misses them: digits for letters, letters set apart, letters drawn out.

A word is replaced only where its plain form is a word of the tables, so that ordinary words stay as they
are. Linear: what is looked for is first looked for by plain search. Nothing here raises.
"""

import re
import string

from app.vantage.lexicon import WORDS

LEET = str.maketrans("013456789@$!|+", "oieashtbgasiit")
SIGNED = re.compile(r"[0-9@$!|+][\w@$!|+]*+")
"""What follows a word's letters from the first digit or sign that passes for one. Possessive."""

SIGNS, CALLED = re.compile(r"[0-9@$|+]"), re.compile(r"!\w")
APART = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .\-_*]{1,3}[^\W\d_](?![^\W_])){2,60}+")
"""Letters alone, with one to three marks or blanks between."""

ALONE = re.compile(r"[ .\-_*][^\W\d_][ .\-_*]{1,3}[^\W\d_](?![^\W_])")
DRAWN = re.compile(r"([^\W\d_])\1\1+")
TRIPLES = tuple(letter * 3 for letter in string.ascii_lowercase)
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


def reveal(text: str) -> str:
    """The folded text with what was disguised written plainly; the same text where nothing was."""
    lower = text.lower()
    if any(triple in lower for triple in TRIPLES):
        text = _drawn(text)
    if ALONE.search(text):
        text = _joined(text)
    return _lettered(text) if SIGNS.search(text) or ("!" in text and CALLED.search(text)) else text


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
    twice, once = DRAWN.sub(r"\1\1", text), DRAWN.sub(r"\1", text)
    words = zip(text.split(" "), twice.split(" "), once.split(" "), strict=True)
    return " ".join(_shortest(word, two, one) for word, two, one in words)


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
