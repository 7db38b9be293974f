"""From lines to blocks: running heads removed, headings found, paragraphs and tables put together.

Headings come from the PDF's outline where it has one. Besides, a heading is a short line that is larger than
the body text, bold, italic or in capitals, or that begins like one (`Item 7.`, `2.1 Methods`). Lines of the
same style are equally deep, larger ones higher. A paragraph ends at a wider gap, an indent, a bullet, another
size of type, or a short line that ends a sentence; it continues over a page or column that breaks a sentence.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, groupby, pairwise
from operator import attrgetter
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from app.ingest.columns import Columns, rows_of, table_text
from app.ingest.kinds import is_contents
from app.ingest.lines import HYPHEN_AT_END, WORD, Bookmark, Line, Style, body_style
from app.ingest.tables import FIGURE, SENTENCE_END, YEAR, is_over_figures, is_row, row_groups, tables

PAGE = attrgetter("page")

EDGE_LINES = 3
"""Lines at the top and at the bottom of a page that may be running heads."""
MIN_SHARE = 0.4
"""Minimum share of the pages that have a running head: left and right pages may have different ones."""
MIN_STRETCH = 20
"""Consecutive pages that prove a running head too: a report may have more pages of appendices."""
NEAR_PAGES = 2
"""From one left page to the next, or from one right page to the next."""
NUMBER = re.compile(r"\d+")
PRINTED = re.compile(r"(?:\b[A-Z]{1,2}-)?\d+")
"""A number with the prefix that belongs to it."""
PROOF = 3
"""Pages whose numbers count them."""
MAX_NUMBERS, MAX_DIGITS = 4, 5
"""A line with more numbers, or longer ones, does not count the pages: it is a row of figures."""

LARGER = 1.15
"""Times the size of the body text, from which a line is emphasized."""
MAX_HEADING_LINES = 3

MAX_HEADING_WORDS, MAX_HEADING_CHARS = 45, 300
"""A heading may be a whole sentence."""
MAX_TITLE_WORDS = 16
"""Of a heading that can have others below it."""
MIN_CAPITALS = 4
"""Letters of the longest word of a heading in capitals: shorter ones are codes."""
MAX_PLAIN_WORDS = 8
"""Of a heading that is neither larger than the text nor bold."""
BELOW_OUTLINE = 100
"""Added to the level of a heading that is not in the outline."""
REPEATED_PAGES, TOP_LINES = 3, 2
"""A heading within the first TOP_LINES of so many pages is a running head from its second page on."""
MAX_BOOKMARKS = 200
"""Bookmarks per page that are compared with its lines."""
LEADING_NUMBER = re.compile(r"^[\d.]+\s+")
NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*\.?|[IVXLC]+\.|[A-Z]\.)\s+\w")
NAMED = re.compile(
    r"(part|book|chapter|title|item|section|article|appendix|annex|schedule|note)\s+[\divxlc]+\b",
    re.IGNORECASE,
)
RANKS = {"part": 0, "book": 0, "chapter": 1, "title": 1, "item": 1, "section": 2, "article": 2}
FINISHED = re.compile(r"[\w.!?)\]”’»\"'®™。！？）」』]$")

BULLET = re.compile(r"[•●○▪■□◦‣⁃∙·*–—-](?:\s|$)|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]\s")
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]"
)
"""Scripts written without spaces: Thai, Lao, Burmese, Khmer, Chinese, Japanese and their punctuation."""

Side: TypeAlias = Literal["top", "bottom"]
Depth: TypeAlias = tuple[bool, float, int, int, bool, bool, bool]
"""Sort key of headings: equal keys are equally deep, smaller ones higher."""


class BlockKind(StrEnum):
    HEADING = "heading"
    PROSE = "prose"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class LayoutBlock:
    kind: BlockKind
    text: str
    """The rows of a table are lines; prose is one line."""
    pages: tuple[tuple[int, int], ...]
    """(offset in `text`, page) where each page begins; the first offset is 0."""
    path: tuple[str, ...] = ()
    """The headings above it, outermost first; for a heading, its own text is the last."""


class EdgeText(NamedTuple):
    """A reading of a line at the edge of a page. Lines with the same reading on several pages repeat."""

    side: Side
    mask: str
    """The text with `#` in place of numbers."""
    numbers: tuple[int | str, ...]
    counter: int = -1
    """Index of the number that is replaced by its difference from the page number; -1: none."""


class Occurrence(NamedTuple):
    page: int
    """From 0, counting pages with lines only."""
    rank: int
    """Lines between it and the edge."""
    line: int
    """Index in the page."""
    in_table: bool


def remove_running_heads(lines: Sequence[Line]) -> list[Line]:
    """The lines without those that repeat at the edge of many pages or count the pages. A page that would
    lose all its words keeps them: repeated text is still text."""
    pages = [list(page) for _, page in groupby(sorted(lines, key=PAGE), PAGE)]
    seen: defaultdict[EdgeText, list[Occurrence]] = defaultdict(list)
    for n, page in enumerate(pages):
        for text, occurrence in edge_texts(n, page):
            seen[text].append(occurrence)
    repeated = {text: places for text, places in seen.items() if not is_table_text(text, places)}
    removed: defaultdict[int, set[int]] = defaultdict(set)
    for place in chain(document_heads(repeated, len(pages)), section_heads(repeated)):
        removed[place.page].add(place.line)
    left: list[Line] = []
    for n, page in enumerate(pages):
        rest = [line for at, line in enumerate(page) if at not in removed[n]]
        left += rest if any(WORD.search(line.text) for line in rest) else page
    return left


def printed_numbers(lines: Sequence[Line]) -> dict[int, str]:
    """The page numbers that are printed at the edges of pages, by physical page: `12`, `F-3`. A number counts
    the pages if it differs from the physical one by the same on at least PROOF pages."""
    seen: defaultdict[tuple[str, int, int | str], dict[int, str]] = defaultdict(dict)
    for n, (number, group) in enumerate(groupby(sorted(lines, key=PAGE), PAGE)):
        page = list(group)
        for text, place in edge_texts(n, page):
            if text.counter >= 0:
                shown = list(PRINTED.finditer(page[place.line].text))[text.counter][0]
                seen[text.mask, text.counter, text.numbers[text.counter]].setdefault(number, shown)
    found: dict[int, str] = {}
    for shown_on in sorted(seen.values(), key=len):
        if len(shown_on) >= PROOF:
            found |= shown_on
    return with_numbers_between(found)


def with_numbers_between(found: Mapping[int, str]) -> dict[int, str]:
    """Printed numbers, also of pages without one between two that count in step with the physical pages."""
    between: dict[int, str] = {}
    for (first, above), (last, below) in pairwise(sorted(found.items())):
        prefix, number = split_number(above)
        if split_number(below) == (prefix, number + last - first):
            between |= {page: f"{prefix}{number + page - first}" for page in range(first + 1, last)}
    return {**found, **between}


def split_number(shown: str) -> tuple[str, int]:
    """(prefix, number) of a printed page number: ("F-", 3)."""
    digits = NUMBER.findall(shown)[-1]
    return shown.removesuffix(digits), int(digits)


def edge_texts(n: int, page: Sequence[Line]) -> Iterator[tuple[EdgeText, Occurrence]]:
    """The readings of the lines at both edges of a page."""
    order = sorted(range(len(page)), key=lambda at: -page[at].top)
    in_tables = {at for start, end in tables(page) for at in range(start, end)}
    sides: tuple[tuple[Side, list[int]], ...] = (
        ("top", order[:EDGE_LINES]),
        ("bottom", order[::-1][:EDGE_LINES]),
    )
    for side, edge in sides:
        for rank, at in enumerate(edge):
            for text in readings(side, page[at]):
                yield text, Occurrence(n, rank, at, at in in_tables)


def readings(side: Side, line: Line) -> Iterator[EdgeText]:
    """A line as it is, and with each of its numbers taken for the page number."""
    text = line.text.lower()
    mask, numbers = NUMBER.sub("#", text), NUMBER.findall(text)
    yield EdgeText(side, mask, tuple(numbers))
    for n, number in enumerate(numbers if len(numbers) <= MAX_NUMBERS else ()):
        if len(number) <= MAX_DIGITS:
            yield EdgeText(side, mask, (*numbers[:n], int(number) - line.page, *numbers[n + 1 :]), n)


def is_table_text(text: EdgeText, places: Sequence[Occurrence]) -> bool:
    """True for a row or header that is part of a table on more than half of its pages."""
    return text.counter < 0 and 2 * sum(place.in_table for place in places) > len(places)


def document_heads(seen: Mapping[EdgeText, Sequence[Occurrence]], pages: int) -> Iterator[Occurrence]:
    """Running heads of the whole document: repeated on nearby pages, and on enough of all pages."""
    masks: defaultdict[tuple[Side, str], list[Occurrence]] = defaultdict(list)
    counting: set[tuple[Side, str]] = set()
    worded: set[tuple[Side, int]] = set()
    """(side, page) with a head that is the same word for word."""
    for text, places in seen.items():
        near = [run for run in split_at_gaps(places, NEAR_PAGES) if run[0].page < run[-1].page]
        again = list(chain.from_iterable(near))
        masks[text.side, text.mask] += again
        if text.counter < 0:
            worded |= {(text.side, place.page) for place in again}
        elif again:
            counting.add((text.side, text.mask))
    for (side, mask), places in masks.items():
        on, counts = {place.page for place in places}, (side, mask) in counting
        # Page numbers need fewer pages as proof than words.
        if len(on) >= max(2 if counts else 3, MIN_SHARE * pages) and (counts or is_regular(side, on, worded)):
            yield from places


def is_regular(side: Side, on: Set[int], worded: Set[tuple[Side, int]]) -> bool:
    """True if a head is on consecutive pages, or on every other page while most pages between have one
    too."""
    between = {page + 1 for page in on} - on
    return 2 * len(between) <= len(on) + 1 or 2 * sum((side, n) in worded for n in between) >= len(between)


def section_heads(seen: Mapping[EdgeText, Sequence[Occurrence]]) -> Iterator[Occurrence]:
    """Running heads of a part of the document: at the same place on MIN_STRETCH consecutive pages. The first
    one is kept, if it is more than a number."""
    for text, places in seen.items():
        for rank in {place.rank for place in places}:
            here = [place for place in places if place.rank == rank]
            if max(map(len, split_at_gaps(here, 1))) >= MIN_STRETCH:
                yield from here if text.counter >= 0 else here[1:]


def split_at_gaps(places: Sequence[Occurrence], near: int) -> Iterator[Sequence[Occurrence]]:
    starts = [n for n, (a, b) in enumerate(pairwise(places), 1) if b.page - a.page > near]
    for start, end in pairwise([0, *starts, len(places)]):
        yield places[start:end]


def merge_headings(lines: Sequence[Line]) -> list[Line]:
    """Join headings that wrap. A longer run of emphasized lines is a paragraph in bold or large type: its
    lines get the style of the body text."""
    body = body_style(lines)
    merged: list[Line] = []
    for _, page in groupby(lines, PAGE):
        on_page = list(page)
        edge = max(line.right for line in on_page)
        for run in emphasized_runs(on_page, body, edge):
            if len(run) > MAX_HEADING_LINES:
                merged += [replace(line, style=body) for line in run]
                continue
            whole = replace(
                run[0],
                text=" ".join(line.text for line in run),
                left=min(line.left for line in run),
                right=max(line.right for line in run),
                bottom=run[-1].bottom,
                words=tuple(chain.from_iterable(line.words for line in run)),
            )
            merged.append(whole)
    return merged


def emphasized_runs(lines: Sequence[Line], body: Style, edge: float) -> Iterator[list[Line]]:
    """Lines that continue each other in the same emphasis; others alone."""
    run: list[Line] = []
    for line in lines:
        if run and not (is_emphasized(line, body) and continues_heading(run[-1], line, edge)):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def is_emphasized(line: Line, body: Style) -> bool:
    return (line.style.bold and not body.bold) or line.style.size >= LARGER * body.size


def continues_heading(above: Line, line: Line, edge: float) -> bool:
    """True if a line continues the one above: same style, no gap, and that one is full, centred like it, or
    does not end its sentence. `edge`: where the text of the page ends."""
    if above.style != line.style or is_row(above.text) or is_row(line.text):
        return False
    if not -0.5 < gap(above, line) < 0.5:
        return False
    centred = abs(above.left + above.right - line.left - line.right) < 4 < abs(above.left - line.left)
    return centred or above.right >= 0.85 * edge or line.text[0].islower()


def gap(above: Line, below: Line) -> float:
    return (above.bottom - below.top) / max(below.style.size, 1.0)


def is_heading(line: Line, body: Style) -> bool:
    """True if style or words make a line a heading, in a document whose text is set in `body`."""
    if line.style.size < 0.9 * body.size or is_row(line.text):
        return False
    return (is_emphasized(line, body) or is_plain_heading(line, body)) and is_title(line.text)


def is_plain_heading(line: Line, body: Style) -> bool:
    """True if a line in the size of the text and not bold is italic, in capitals or worded like a heading."""
    text = line.text
    if len(text.split()) > MAX_PLAIN_WORDS or text[-1] == ".":
        return False
    italic = line.style.italic and not body.italic
    capitals = text.isupper() and max(map(len, WORD.findall(text)), default=0) >= MIN_CAPITALS
    return italic or capitals or bool(NAMED.match(text))


def is_title(text: str) -> bool:
    """True if the words allow a line to be a heading, whatever its style: not too long, mostly letters, not a
    fragment, a list item or a row."""
    letters, marks = sum(map(str.isalpha, text)), len(text) - text.count(" ")
    if len(text) > MAX_HEADING_CHARS or len(text.split()) > MAX_HEADING_WORDS or letters < max(2, marks / 2):
        return False
    if text[0].islower() or text[0] in "(•*–—-[" or not FINISHED.search(text):
        return False
    last = text.rsplit(maxsplit=1)[-1]
    return bool(NAMED.fullmatch(text) or YEAR.fullmatch(last) or not FIGURE.fullmatch(last.lstrip("._…")))


def depth(line: Line) -> Depth:
    """How deep a heading is in its document. A whole sentence has no headings below."""
    named, number, style = NAMED.match(line.text), NUMBERED.match(line.text), line.style
    long = len(line.text.split()) > MAX_TITLE_WORDS
    if named:
        return long, -style.size, RANKS.get(named[1].lower(), 3), 0, False, False, False
    dots = number[0].split()[0].strip(".").count(".") if number else 0
    return long, -style.size, 4, dots, not line.text.isupper(), not style.bold, style.italic


class Headings:
    """The headings of a document. Ask about its lines in order, page by page. Levels count from 0."""

    def __init__(self, lines: Sequence[Line], outline: Sequence[Bookmark]) -> None:
        self.body = body_style(lines)
        self.first_page = lines[0].page if lines else 1
        found = [line for line in lines if is_heading(line, self.body)]
        self.levels = {each: BELOW_OUTLINE + n for n, each in enumerate(sorted(set(map(depth, found))))}
        later_styles = {line.style for line in found if line.page != self.first_page}
        self.lasting = {self.levels[depth(line)] for line in found if line.style in later_styles}
        """Levels whose style is used after the first page. Other headings are the document's title, and end
        with the first page."""
        pages = Counter(text for _, text in {(line.page, line.text) for line in found})
        self.repeated = {text for text, count in pages.items() if count >= REPEATED_PAGES}
        self.seen: set[str] = set()
        """Text at the top of the pages so far."""
        self.running_heads: set[str] = set()
        """Headings at the top of the current page that repeat an earlier page."""
        self.contents = contents_pages(lines)
        self.bookmarks = bookmarks_by_page(outline)
        self.path: list[tuple[int, str]] = []
        """(level, text) of the headings above the current line, outermost first."""

    def start_page(self, number: int, lines: Sequence[Line]) -> None:
        """Begin a page. Bookmarks whose titles are none of its lines apply from its top."""
        if number != self.first_page:
            self.path = [each for each in self.path if each[0] < BELOW_OUTLINE or each[0] in self.lasting]
        top = {line.text for line in sorted(lines, key=lambda line: -line.top)[:TOP_LINES]}
        self.running_heads = top & self.repeated & self.seen
        self.seen |= top
        bookmarks = self.bookmarks.get(number, [])
        texts = [comparable(line.text) for line in lines] if bookmarks else []
        for title, bookmark in bookmarks:
            if not any(is_bookmarked(title, text) for text in texts):
                self.enter(bookmark.level, bookmark.title)

    def level(self, line: Line) -> int | None:
        """The level of a heading; None for other lines."""
        if line.text in self.running_heads:
            return None
        bookmarks = self.bookmarks.get(line.page, [])
        text = comparable(line.text) if bookmarks else ""
        for title, bookmark in bookmarks:
            if is_bookmarked(title, text):
                return bookmark.level
        if line.page in self.contents:
            return None
        return self.levels[depth(line)] if is_heading(line, self.body) else None

    def enter(self, level: int, text: str) -> None:
        while self.path and self.path[-1][0] >= level:
            self.path.pop()
        self.path.append((level, text))


def contents_pages(lines: Sequence[Line]) -> set[int]:
    """The pages that are tables of contents: what looks like a heading there heads nothing."""
    last = max((line.page for line in lines), default=0)
    pages = ((number, "\n".join(line.text for line in page)) for number, page in groupby(lines, PAGE))
    return {number for number, text in pages if is_contents(text, last)}


def bookmarks_by_page(outline: Sequence[Bookmark]) -> dict[int, list[tuple[str, Bookmark]]]:
    """(comparable title, bookmark) by page. A single root of the outline is the document's title and is left
    out."""
    has_root = sum(bookmark.level == 0 for bookmark in outline) == 1
    found: defaultdict[int, list[tuple[str, Bookmark]]] = defaultdict(list)
    for bookmark in outline:
        if not (has_root and bookmark.level == 0) and len(found[bookmark.page]) < MAX_BOOKMARKS:
            found[bookmark.page].append((comparable(bookmark.title), bookmark))
    return found


def comparable(text: str) -> str:
    unnumbered = LEADING_NUMBER.sub("", text, count=1) or text
    return "".join(char for char in unnumbered.casefold() if char.isalnum())


def is_bookmarked(title: str, text: str) -> bool:
    return bool(title) and (text == title or (len(text) >= 20 and title.startswith(text)))


def blocks(lines: Sequence[Line], outline: Sequence[Bookmark] = ()) -> list[LayoutBlock]:
    gaps = [gap(above, below) for above, below in pairwise(lines) if above.page == below.page]
    usual = [value for value in gaps if -1 < value < 2]
    builder = BlockBuilder(Headings(lines, outline), median(usual) if usual else 0.0)
    for page, group in groupby(lines, PAGE):
        builder.add_page(page, list(group))
    builder.end_paragraph()
    return builder.blocks


class BlockBuilder:
    """Puts lines together, page by page. `line_gap`: the usual one within a paragraph, see `gap`."""

    def __init__(self, headings: Headings, line_gap: float) -> None:
        self.headings = headings
        self.line_gap = line_gap
        self.blocks: list[LayoutBlock] = []
        self.paragraph: list[Line] = []
        self.paragraph_path: tuple[str, ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.headings.path)

    def add_page(self, number: int, lines: list[Line]) -> None:
        self.headings.start_page(number, lines)
        ends = {self.below_headings(lines, start, end): end for start, end in tables(lines)}
        n = 0
        while n < len(lines):
            if n in ends:
                self.end_paragraph()
                text = "\n".join(table_text(lines[n : ends[n]]))
                self.blocks.append(LayoutBlock(BlockKind.TABLE, text, ((0, number),), self.path))
                n = ends[n]
            else:
                self.add_line(lines[n])
                n += 1

    def below_headings(self, lines: Sequence[Line], start: int, end: int) -> int:
        """Where a table begins, without the headings right above it."""
        columns: Columns | None = None
        while start < end - 1 and is_heading(lines[start], self.headings.body):
            columns = columns or Columns(rows_of(row_groups(lines[start:end])))
            if columns.are_clear:
                if columns.is_head(rows_of([[lines[start]]])[0]):
                    break
            elif is_over_figures(lines[start], lines[start:end]):
                break
            start += 1
        return start

    def add_line(self, line: Line) -> None:
        """Add a line outside tables: a heading, or a part of a paragraph."""
        level = self.headings.level(line)
        if level is not None:
            self.end_paragraph()
            self.headings.enter(level, line.text)
            self.blocks.append(LayoutBlock(BlockKind.HEADING, line.text, ((0, line.page),), self.path))
            return
        if self.paragraph and begins_paragraph(self.paragraph, line, self.line_gap):
            self.end_paragraph()
        if not self.paragraph:
            self.paragraph_path = self.path
        self.paragraph.append(line)

    def end_paragraph(self) -> None:
        if self.paragraph:
            self.blocks.append(
                LayoutBlock(BlockKind.PROSE, *join_paragraph(self.paragraph), self.paragraph_path)
            )
            self.paragraph = []


def begins_paragraph(paragraph: Sequence[Line], line: Line, line_gap: float) -> bool:
    """True if a line does not continue the paragraph above it."""
    above = paragraph[-1]
    ended = bool(SENTENCE_END.search(above.text))
    if BULLET.match(line.text):
        return True
    if line.page != above.page or line.bottom > above.top:  # another page or column
        return ended or line.text[0].isupper()
    resized = abs(line.style.size - above.style.size) > 0.15 * above.style.size
    if resized or gap(above, line) > line_gap + 0.3:
        return True
    short = above.right < 0.8 * max(line.right, paragraph[0].right)
    return ended and (short or line.left - above.left > 0.8 * above.style.size)


def join_paragraph(lines: Sequence[Line]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A paragraph as one line of text, and (offset, page) where each page begins in it."""
    parts: list[str] = []
    pages = [(0, lines[0].page)]
    length = 0
    for line in lines:
        if parts:
            unspaced = UNSPACED.match(parts[-1][-1]) and UNSPACED.match(line.text[0])
            is_broken = HYPHEN_AT_END.search(parts[-1]) and line.text[0].islower()
            parts.append("" if unspaced or is_broken else " ")
            length += len(parts[-1])
        if line.page != pages[-1][1]:
            pages.append((length, line.page))
        parts.append(line.text)
        length += len(line.text)
    return "".join(parts), tuple(pages)
