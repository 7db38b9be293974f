"""Lines cleaned: no characters that nobody can read, words whole again, no running heads.

Kept on purpose: superscripts and other compatibility characters that carry meaning (m² is not m2).
Only letter forms are folded (ligatures, Arabic presentation forms, CJK radicals), then NFC.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, groupby, pairwise
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

from app.intake.line import BREAK, Line
from app.intake.table import tables

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
"""Share of the pages that a running head stands on: left and right pages may have their own."""
STRETCH = 20
"""Pages one behind the other that prove it too: a report may have as many pages of appendices."""
NEAR = 2
"""Pages from one to the next of the same side, left or right."""
NUMBER = re.compile(r"\d+")
COUNTERS, DIGITS = 4, 5
"""Numbers of a line that can count pages, and their digits: more is a row of figures."""

PAGE = attrgetter("page")

Side: TypeAlias = Literal["top", "bottom"]


class Said(NamedTuple):
    """What a line at an edge says; it says the same on another page where all of this is the same."""

    side: Side
    mask: str
    """Without its numbers."""
    numbers: tuple[int | str, ...]
    counter: int = -1
    """Which of the numbers is told as its distance from the page's; -1: none."""


class Place(NamedTuple):
    """Where a line stands."""

    page: int
    """From 0, among those with lines."""
    rank: int
    """Lines between it and the edge."""
    line: int
    """Index in the page."""
    in_table: bool


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
    joined = [unbroken(text, known) if BREAK in text else text for text in marked(lines)]
    return [replace(line, text=text) for line, text in zip(lines, joined, strict=True) if text]


def marked(lines: Sequence[Line]) -> list[str]:
    """Their texts, words that a hyphen breaks at a line's end marked as PDFium marks them."""
    texts = [line.text for line in lines]
    for n, (line, after) in enumerate(pairwise(lines)):
        if line.page == after.page and SPLIT.search(texts[n]) and texts[n + 1][:1].islower():
            begun, _, rest = texts[n + 1].partition(" ")
            texts[n], texts[n + 1] = texts[n][:-1] + BREAK + begun, rest
    return texts


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
    """Lines dropped that say the same at the edge of many pages, or count them. A page whose lines would all
    go keeps them: a text that repeats is still a text."""
    pages = [list(page) for _, page in groupby(sorted(lines, key=PAGE), PAGE)]
    seen: defaultdict[Said, list[Place]] = defaultdict(list)
    for n, page in enumerate(pages):
        for said, place in edges(n, page):
            seen[said].append(place)
    dropped: defaultdict[int, set[int]] = defaultdict(set)
    for place in chain(everywhere(seen, len(pages)), stretches(seen)):
        dropped[place.page].add(place.line)
    return [line for n, page in enumerate(pages) for line in kept(page, dropped[n])]


def edges(n: int, page: Sequence[Line]) -> Iterator[tuple[Said, Place]]:
    """What the lines at the edges of a page say."""
    order = sorted(range(len(page)), key=lambda line: -page[line].top)
    rows = {line for start, end in tables(page) for line in range(start, end)}
    sides: tuple[tuple[Side, list[int]], ...] = (("top", order[:EDGE]), ("bottom", order[::-1][:EDGE]))
    for side, part in sides:
        for rank, line in enumerate(part):
            for said in told(side, page[line]):
                yield said, Place(n, rank, line, line in rows)


def told(side: Side, line: Line) -> Iterator[Said]:
    """What a line says: as it stands, and with each of its numbers taken for the page's."""
    text = line.text.lower()
    mask, numbers = NUMBER.sub("#", text), NUMBER.findall(text)
    yield Said(side, mask, tuple(numbers))
    for n, number in enumerate(numbers if len(numbers) <= COUNTERS else ()):
        if len(number) <= DIGITS:
            yield Said(side, mask, (*numbers[:n], int(number) - line.page, *numbers[n + 1 :]), n)


def everywhere(seen: Mapping[Said, Sequence[Place]], pages: int) -> Iterator[Place]:
    """Of the running heads of the whole document: what is said again near by, on enough of its pages."""
    again = {said: said_again(places) for said, places in seen.items() if not is_of_tables(said, places)}
    numbered, worded = counting(again), wording(again)
    for (side, mask), found in alike(again).items():
        where, counts = {place.page for place in found}, (side, mask) in numbered
        # Page numbers prove themselves sooner than words do.
        if len(where) >= max(2 if counts else 3, MANY * pages) and (counts or is_shared(side, where, worded)):
            yield from found


def counting(again: Mapping[Said, Sequence[Place]]) -> Set[tuple[Side, str]]:
    """(side, mask) of those that count the pages."""
    return {(said.side, said.mask) for said, places in again.items() if places and said.counter >= 0}


def wording(again: Mapping[Said, Sequence[Place]]) -> Set[tuple[Side, int]]:
    """(side, page) of those that say the same as they stand."""
    return {(said.side, place.page) for said in again if said.counter < 0 for place in again[said]}


def alike(again: Mapping[Said, Sequence[Place]]) -> Mapping[tuple[Side, str], Sequence[Place]]:
    """Places together that say the same but for their numbers."""
    found: defaultdict[tuple[Side, str], list[Place]] = defaultdict(list)
    for said, places in again.items():
        found[said.side, said.mask] += places
    return found


def said_again(places: Sequence[Place]) -> list[Place]:
    """Those of which another is on a page near by."""
    near = [stretch for stretch in stretches_of(places, NEAR) if stretch[0].page < stretch[-1].page]
    return list(chain.from_iterable(near))


def is_shared(side: Side, where: Set[int], worded: Set[tuple[Side, int]]) -> bool:
    """Whether a head stands on pages in a row; if on every other page, whether those between have one too."""
    between = {page + 1 for page in where} - where
    return 2 * len(between) <= len(where) + 1 or 2 * sum((side, n) in worded for n in between) >= len(between)


def stretches(seen: Mapping[Said, Sequence[Place]]) -> Iterator[Place]:
    """Of the running heads of a part of the document: in one place on each of its pages. The first stays, if
    it is more than a number."""
    for said, places in seen.items():
        if is_of_tables(said, places):
            continue
        for rank in {place.rank for place in places}:
            here = [place for place in places if place.rank == rank]
            if max(map(len, stretches_of(here, 1))) >= STRETCH:
                yield from here if said.counter >= 0 else here[1:]


def stretches_of(places: Sequence[Place], near: int) -> Iterator[list[Place]]:
    """Parted where the next is on a page further on."""
    begins = [n for n, (a, b) in enumerate(pairwise(places), 1) if b.page - a.page > near]
    for start, end in pairwise([0, *begins, len(places)]):
        yield list(places[start:end])


def is_of_tables(said: Said, places: Sequence[Place]) -> bool:
    """Whether it is a row or the heads of columns, on more than half of its pages."""
    return said.counter < 0 and 2 * sum(place.in_table for place in places) > len(places)


def kept(page: list[Line], dropped: Set[int]) -> list[Line]:
    """A page without these lines."""
    rest = [line for n, line in enumerate(page) if n not in dropped]
    return rest if any(WORD.search(line.text) for line in rest) else page
