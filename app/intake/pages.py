"""Lines cleaned: no characters that nobody can read, words whole again, no running heads.

Kept on purpose: superscripts and other compatibility characters that carry meaning (m² is not m2).
Only letter forms are folded (ligatures, Arabic presentation forms, CJK radicals), then NFC.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

from app.intake.line import BREAK, Line

UNREADABLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ud800-\uf8ff\ufeff\uffff"
    "\U000e0000-\U000e007f\U000f0000-\U0010ffff]"
)
"""Controls, soft hyphens, tags and marks of direction (they hide or turn a text), lone surrogates, and
the private use area: what a font without a character map shows is known to nobody."""

FORMS = re.compile("[\u2e80-\u2fdf\ufb00-\ufdff\ufe70-\ufefe]{1,200}")
BULLETS = str.maketrans({"\uf0b7": "•", "\uf0a7": "•", "\uf0d8": "•", "\uf076": "•"})
"""Bullets of Symbol and Wingdings, which stand in the private use area."""

INSIDE = re.compile(r" (?=[•●▪■] \S)")
"""Where PDFium took the items of a list for one line."""

BLOCK = 1_000
"""Characters composed at once: Python's time grows with the square of a run of accents."""

WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
HALVES = re.compile(r"[\w-]*$"), re.compile(r"[\w-]*")
"""Of a broken word, before and behind the break."""
LONGEST = 40
"""Letters of half a word."""
SPLIT = re.compile(r"[^\W\d_][-\u2010]$")

EDGE = 3
"""Lines at the top and at the bottom of a page among which running heads are looked for."""
MANY = 0.4
"""Share of the pages that a running head stands on: left and right pages may have their own, but heads of
columns that are the same from table to table are text."""
LONG, NEAR = 20, 2
"""Pages of a stretch that prove it too, none more than so many behind the one before: a report may have as
many pages of appendices."""
NUMBER = re.compile(r"\d+")

Key: TypeAlias = tuple[str, str | int]
"""Which edge, and what a line says there without its numbers; or how far its number is from the page's."""


def clean(lines: Iterable[Line]) -> list[Line]:
    """All of it, in order."""
    readable = [replace(line, text=text) for line in lines for text in INSIDE.split(legible(line.text))]
    return without_heads(whole([line for line in readable if line.text]))


def legible(text: str) -> str:
    """Characters that can be read, single spaces."""
    if not text.isascii():
        text = text.translate(BULLETS)
        text = FORMS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
        text = "".join(unicodedata.normalize("NFC", text[n : n + BLOCK]) for n in range(0, len(text), BLOCK))
    return " ".join(UNREADABLE.sub("", text).split())


def whole(lines: list[Line]) -> list[Line]:
    """Words broken at a line's end joined, where PDFium marked it and where it did not."""
    known = {word for line in lines for word in WORD.findall(line.text.lower())}
    texts = [line.text for line in lines]
    for n, (line, after) in enumerate(pairwise(lines)):
        if line.page == after.page and SPLIT.search(texts[n]) and texts[n + 1][:1].islower():
            begun, _, rest = texts[n + 1].partition(" ")
            texts[n], texts[n + 1] = texts[n][:-1] + BREAK + begun, rest
    joined = [unbroken(text, known) if BREAK in text else text for text in texts]
    return [replace(line, text=text) for line, text in zip(lines, joined, strict=True) if text]


def unbroken(text: str, known: set[str]) -> str:
    """A line without marks of broken words."""
    first, *parts = text.split(BREAK)
    pieces = [first]
    for part in parts:
        left, right = HALVES[0].search(pieces[-1][-LONGEST:]), HALVES[1].match(part[:LONGEST])
        if left and right and is_compound(left[0], right[0], known):
            pieces.append("-")
        pieces.append(part)
    return "".join(pieces)


def is_compound(left: str, right: str, known: set[str]) -> bool:
    """Whether the hyphen belongs to the word: as the document writes it elsewhere, else by its looks."""
    joined = (left + right).lower()
    if joined in known or not (left and right):
        return False
    plain = left.isalpha() and right.isalpha() and right.islower()
    return not plain or f"{left}-{right}".lower() in known


def without_heads(lines: list[Line]) -> list[Line]:
    """Lines that stand at the edge of many pages, but for their numbers, dropped. A page whose lines
    would all go keeps them: a text that repeats is still a text."""
    pages: defaultdict[int, list[Line]] = defaultdict(list)
    for line in lines:
        pages[line.page].append(line)
    seen: defaultdict[Key, list[int]] = defaultdict(list)
    for n, page in enumerate(pages.values()):
        for key in {key for _, key in edges(page)}:
            seen[key].append(n)
    running = {key for key, where in seen.items() if is_running(key, where, len(pages))}
    return [line for page in pages.values() for line in kept(page, running)]


def is_running(key: Key, where: Sequence[int], pages: int) -> bool:
    """Whether what stands on these of so many pages, in order, is a running head."""
    return len(where) >= max(least(key), MANY * pages) or longest(where) >= LONG


def longest(where: Sequence[int]) -> int:
    """Pages of the longest stretch."""
    most = stretch = 1
    for before, here in pairwise(where):
        stretch = stretch + 1 if here - before <= NEAR else 1
        most = max(most, stretch)
    return most


def least(key: Key) -> int:
    """Pages it takes to prove a running head; numbers that count the pages prove it sooner."""
    return 2 if isinstance(key[1], int) else 3


def kept(page: list[Line], running: set[Key]) -> list[Line]:
    """A page without its running heads."""
    dropped = {n for n, key in edges(page) if key in running}
    rest = [line for n, line in enumerate(page) if n not in dropped]
    return rest if any(WORD.search(line.text) for line in rest) else page


def edges(page: list[Line]) -> Iterator[tuple[int, Key]]:
    """(index, key) of the lines at the edges."""
    order = sorted(range(len(page)), key=lambda n: -page[n].top)
    for side, part in (("top", order[:EDGE]), ("bottom", order[-EDGE:])):
        for n in part:
            text = page[n].text
            yield n, (side, NUMBER.sub("#", text.lower()))
            if text.isdecimal() and len(text) < 6:
                yield n, (side, int(text) - page[n].page)
