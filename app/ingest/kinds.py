"""The kinds of chunks: text, a table, a listing, or part of a cover page.

Listings name what is elsewhere: tables of contents and indexes of exhibits. They are found by their numbers,
not their words: page numbers at the ends of lines that never fall, or hierarchical numbers (`10.1`, `10.2`)
before names in capitals that never fall either. A cover is a first page of form fields, whose captions are in
brackets below the values.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from app.ingest.lines import Line
from app.ingest.tables import cells
from app.types import Chunk, ChunkKind

PAGE_AT_END = re.compile(r"[^\W\d_].*?[\s.…_|]+(\d{1,4})$")
"""A line with words that ends in a page number."""
NUMBERED_NAME = re.compile(
    r"^[*†‡+^#(]{0,3}(\d{1,3}(?:(?:\.\d{1,3}){1,2}|[a-z]?\([a-z]{1,4}\)|[a-z])?)[*†‡+^#)]{0,4}[ |]+"
    r"(?:[*†‡+^#]+ )?([“\"(]?(?:[A-Z]|(?:19|20)\d\d ).*)$",
    re.MULTILINE,
)
"""A line with a number such as `10.1`, `10d`, `4(a)` or `21` before a name."""
NUMBER_PART = re.compile(r"\d+|[a-z]")
YEAR = re.compile(r"(?:19|20)\d\d")
LONG_WORD = re.compile(r"[^\W\d_]{4,}")

MIN_ENTRIES, MIN_NAMES = 4, 3
"""Minimum entries of a table of contents, and of an index."""
ENTRY_SHARE = 0.6
"""Share of the lines that are entries."""
CAPITALS = 0.5
"""Share of words of four and more letters that begin with a capital in an index: in prose fewer do."""
CHARS_PER_ENTRY = 400
"""Maximum characters for each entry of an index: sections of a contract have numbers too, but more text."""
LINE_CHARS = 100
"""A paragraph counts as so many lines."""
CAPTION = re.compile(r"(?:\([^\W\d_][^()]*\)\s?){1,4}")
MIN_CAPTIONS = 3
CAPTION_CHARS = 90


def with_kinds(chunks: Iterable[Chunk], lines: Sequence[Line], pages: int) -> list[Chunk]:
    """The chunks of a document with their kinds. `lines`: of all pages."""
    first = lines[0].page
    cover = pages > 1 and is_cover(line for line in lines if line.page == first)
    return [
        replace(chunk, kind=ChunkKind.COVER if cover and chunk.page_end == first else kind_of(chunk, pages))
        for chunk in chunks
    ]


def kind_of(chunk: Chunk, pages: int) -> str:
    return listing_kind(chunk.text, pages) or chunk.kind


def listing_kind(text: str, pages: int) -> ChunkKind:
    """`listing` if a text mostly refers to other pages of a document of so many, or to exhibits."""
    return ChunkKind.LISTING if is_contents(text, pages) or is_index(text) else ChunkKind.TEXT


def is_contents(text: str, pages: int) -> bool:
    """True for a table of contents: page numbers at the ends of most lines, none smaller than the one before
    by much, and not all the same."""
    lines = text.split("\n")
    found = [
        PAGE_AT_END.match(line) for line in lines if len(line) <= 2 * LINE_CHARS and len(cells(line)) < 2
    ]
    numbers = [(int(match[1]),) for match in found if match]
    if len(numbers) < MIN_ENTRIES or max(numbers)[0] > pages or len(set(numbers)) < MIN_ENTRIES - 1:
        return False
    size = sum(max(1, round(len(line) / LINE_CHARS)) for line in lines)
    return rises(numbers) and len(numbers) >= ENTRY_SHARE * size - 2


def is_index(text: str) -> bool:
    """True for an index of exhibits: numbered names that follow each other, short or with a year."""
    names = NUMBERED_NAME.findall(text)
    numbers = [number_key(number) for number, _ in names]
    if len(names) < MIN_NAMES or len(text) > CHARS_PER_ENTRY * len(names) or not rises(numbers):
        return False
    if any(len(name) > LINE_CHARS and not YEAR.search(name) for _, name in names):
        return False
    words = LONG_WORD.findall(text)
    return len(set(numbers)) == len(numbers) and sum(word[0].isupper() for word in words) >= CAPITALS * len(
        words
    )


def number_key(number: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else ord(part) for part in NUMBER_PART.findall(number))


def rises(numbers: Sequence[tuple[int, ...]]) -> bool:
    """True if at most one number in ten is smaller than the one before."""
    falls = sum(second < first for first, second in pairwise(numbers))
    return 10 * falls <= len(numbers)


def is_cover(first_page: Iterable[Line]) -> bool:
    """True if a page is a form: several lines are captions in brackets."""
    captions = (CAPTION.fullmatch(line.text) for line in first_page if len(line.text) <= CAPTION_CHARS)
    return sum(caption is not None for caption in captions) >= MIN_CAPTIONS
