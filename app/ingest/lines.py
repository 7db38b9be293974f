"""Lines of a page, and their text made readable: unreadable characters removed, broken words joined.

Coordinates are in points with y growing upwards, as in PDF; pages are physical, from 1. Lines are in the
order of the file, which for nearly all writers is the order of reading. Compatibility characters that carry
meaning are kept (m² is not m2): only letter forms are folded (ligatures, Arabic presentation forms, CJK
radicals), then NFC.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

BREAK = "\ufffe"
"""PDFium's mark where it joined a word over the end of a line: a hyphen that may or may not belong to the
word."""

UNREADABLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ud800-\uf8ff\ufeff\uffff"
    "\U000e0000-\U000e007f\U000f0000-\U0010ffff]"
)
"""Controls, soft hyphens, tags and direction marks (they hide or reverse text), lone surrogates, and the
private use area, which a font without a character map uses for glyphs that nobody can identify."""
LETTER_FORMS = re.compile("[\u2e80-\u2fdf\ufb00-\ufdff\ufe70-\ufefe]{1,200}")
SYMBOL_BULLETS = str.maketrans({"\uf0b7": "•", "\uf0a7": "•", "\uf0d8": "•", "\uf076": "•"})
"""Bullets of Symbol and Wingdings, which are in the private use area."""
NEXT_BULLET = re.compile(r" (?=[•●▪■] \S)")
"""Where PDFium read several items of a list as one line."""
NORMALIZED_CHARS = 1_000
"""Characters normalized at once: Python's time grows with the square of a run of accents."""

WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
LAST_PART, FIRST_PART = re.compile(r"[\w-]*$"), re.compile(r"[\w-]*")
"""The parts of a broken word before and after the break."""
MAX_PART = 40
"""Maximum letters of such a part."""
HYPHEN_AT_END = re.compile(r"[^\W\d_][-\u2010]$")


@dataclass(frozen=True, slots=True)
class Style:
    """The type of a line; equal for lines that look alike."""

    size: float = 10.0
    """Height in points, rounded to half points."""
    bold: bool = False
    """True if the first and the last letter are: a bold word within a sentence does not count."""
    italic: bool = False
    """Likewise."""


class PlacedWord(NamedTuple):
    text: str
    left: float
    right: float
    base: float
    """Of its base line, or of the box of its first letter: equal for words beside each other."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line. Where PDFium joined a word over the end of a line, it is two lines high."""

    text: str
    page: int
    left: float = 0.0
    right: float = 0.0
    top: float = 0.0
    bottom: float = 0.0
    style: Style = Style()
    words: tuple[PlacedWord, ...] = field(default=(), compare=False)
    """The places of its words, as read; empty for long lines, which are in no table."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    title: str
    level: int
    """From 0."""
    page: int


def body_style(lines: Sequence[Line]) -> Style:
    """The style of the text: the size of most characters, bold or italic if nearly all of them are."""
    sizes: Counter[float] = Counter()
    bold = italic = 0
    for line in lines:
        sizes[line.style.size] += len(line.text)
        bold += len(line.text) * line.style.bold
        italic += len(line.text) * line.style.italic
    most = 0.8 * sizes.total()
    return Style(sizes.most_common(1)[0][0], bold > most, italic > most) if sizes else Style()


def clean(lines: Iterable[Line]) -> list[Line]:
    readable = [
        replace(line, text=text)
        for line in lines
        for text in NEXT_BULLET.split(clean_text(line.text))
        if text
    ]
    known = {word for line in readable for word in WORD.findall(line.text.lower())}
    joined = [join_word(text, known) if BREAK in text else text for text in mark_breaks(readable)]
    return [replace(line, text=text) for line, text in zip(readable, joined, strict=True) if text]


def clean_text(text: str) -> str:
    if not text.isascii():
        text = text.translate(SYMBOL_BULLETS)
        text = LETTER_FORMS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
        starts = range(0, len(text), NORMALIZED_CHARS)
        text = "".join(unicodedata.normalize("NFC", text[n : n + NORMALIZED_CHARS]) for n in starts)
    return " ".join(UNREADABLE.sub("", text).split())


def mark_breaks(lines: Sequence[Line]) -> list[str]:
    """Their texts, with words that a hyphen breaks at the end of a line marked as PDFium marks them."""
    texts = [line.text for line in lines]
    for n, (line, following) in enumerate(pairwise(lines)):
        if line.page == following.page and HYPHEN_AT_END.search(texts[n]) and texts[n + 1][:1].islower():
            second, _, rest = texts[n + 1].partition(" ")
            texts[n], texts[n + 1] = texts[n][:-1] + BREAK + second, rest
    return texts


def join_word(text: str, known: set[str]) -> str:
    """A line without marks of broken words: a hyphen is kept if it belongs to the word."""
    first, *rest = text.split(BREAK)
    parts = [first]
    for part in rest:
        left, right = LAST_PART.search(parts[-1][-MAX_PART:]), FIRST_PART.match(part[:MAX_PART])
        if left and right and is_compound(left[0], right[0], known):
            parts.append("-")
        parts.append(part)
    return "".join(parts)


def is_compound(left: str, right: str, known: set[str]) -> bool:
    """True if the hyphen belongs to the word, as the document writes it elsewhere, else judged by its
    form."""
    joined = (left + right).lower()
    if joined in known or not (left and right):
        return False
    plain = left.isalpha() and right.isalpha() and right.islower()
    return not plain or f"{left}-{right}".lower() in known
