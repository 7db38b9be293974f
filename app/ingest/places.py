"""Where a passage, and a quotation from it, are on the pages of a PDF: rectangles, a line each, in fractions
of the page as it is shown (crop box, rotated), the origin at the top left.

A passage is found by its letters and digits alone, since PDFium's text has other spaces, line ends, hyphens
and ligatures than the passage. If it is not on its pages as a whole, the longest chain of
its parts is looked for, and rows of tables whose cells are in another order. A part that is too short to be
sure, or that fits at several places, has no rectangle.
"""

import ctypes
import math
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from heapq import nlargest
from itertools import groupby, pairwise, takewhile
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import pypdfium2 as pdfium
import pypdfium2.raw as native

MAX_CHARS = 200_000
"""Characters of a page; one with more is not searched."""
MAX_PAGES = 8
"""Pages of a passage that are searched: its first, and its last ones."""
GRAM = 8
"""Letters by which parts of a passage are looked up."""
LONG, SHORT = 20, 4
"""Least letters of parts near each other, together, and of one between two that were found."""
NEAR = 60
"""Letters by which parts are nearer or farther from each other on the page, up to which they are near."""
COMMON, MAX_PARTS = 50, 250
"""Places of GRAM letters on the pages, beyond which they say nothing, and parts that are chained."""
LEAP, MAX_LEAP, MARGIN = 20, 200, 4.0
"""Letters of a leap that count as one letter less, most of them, and letters by which a chain is better."""
SMALL_GAP = 3
"""Letters that may be missing or added within a part: a ligature, a footnote's mark."""
WINDOW = 40_000
"""Letters of a gap in a passage times those of one on the page that are compared with each other."""

APART = frozenset("|/\\–—")
"""Signs between words, beside white space."""
RULE = "---"
"""The line below the head of a table in a passage (`columns.py`)."""
WORDS = re.compile(r"[^\s|/\\–—]+")
LINE_ENDS = frozenset("\r\n")
ROW_LINES, MAX_ROW, MAX_LINES = 3, 400, 5_000
"""Lines of a page that a row of a table may be, most letters of a row, and lines that are tried."""
SAME_LINE = 0.6
"""Heights of a line by which the base lines of its letters differ at most."""
PADDING = 0.12
"""Heights of a line that are added to its rectangle above and below."""
DEVICE = 1_000_000
"""Units across and down a page in which PDFium is asked for places on it."""

Rect: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""


class Run(NamedTuple):
    """Letters of a passage and those of the pages that are the same."""

    text: int
    page: int
    size: int
    page_size: int
    ordered: bool = True
    """False: a row of a table, whose cells are in another order on the page."""


class Located(NamedTuple):
    """Where a passage is, and a quotation from it; `Places` (`viewer.py`) checks what this process sends."""

    boxes: list[tuple[int, list[Rect]]]
    """(page, a rectangle for each line), pages physical, from 1."""
    quote_boxes: list[tuple[int, list[Rect]]]
    found: int
    """Letters of the passage that were found, of `letters`."""
    letters: int


def boxes(pdf: pdfium.PdfDocument, first: int, last: int, text: str, quote: str) -> Located:
    """The places of a passage of these pages, the last one included."""
    numbers = [number for number in range(first, last + 1) if 1 <= number <= len(pdf)]
    if len(numbers) > MAX_PAGES:
        numbers = [numbers[0], *numbers[1 - MAX_PAGES :]]
    with opened_pages(pdf, numbers) as pages:
        letters, passage = Letters.of(pages), fold(text)
        runs = found_runs(text, letters)
        quoted = quoted_runs(passage, fold(quote), runs) if quote else []
        return Located(
            rectangles(pages, letters, runs),
            rectangles(pages, letters, quoted),
            sum(run.size for run in runs),
            len(passage),
        )


def fold(text: str) -> str:
    """The letters and digits of a text, without accents, case and forms of ligatures."""
    return "".join(map(fold_char, text))


@cache
def fold_char(char: str) -> str:
    plain = unicodedata.normalize("NFKD", char).casefold()
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", plain)))


@dataclass(frozen=True, slots=True)
class OpenPage:
    number: int
    page: pdfium.PdfPage
    text: pdfium.PdfTextPage
    chars: Sequence[str]
    """Of PDFium's text; "" where it is half a character."""


@contextmanager
def opened_pages(pdf: pdfium.PdfDocument, numbers: Sequence[int]) -> Iterator[list[OpenPage]]:
    """The pages that can be read."""
    found: list[OpenPage] = []
    try:
        for number in numbers:
            with suppress(pdfium.PdfiumError):
                page = pdf[number - 1]
                text = page.get_textpage()
                found.append(OpenPage(number, page, text, chars_of(text)))
        yield found
    finally:
        for each in found:
            each.text.close()
            each.page.close()


def chars_of(text: pdfium.PdfTextPage) -> list[str]:
    count = text.count_chars()
    codes = [native.FPDFText_GetUnicode(text, n) for n in range(count if count <= MAX_CHARS else 0)]
    chars = [chr(code) if code <= 0x10FFFF else "" for code in codes]
    for n, (high, low) in enumerate(pairwise(codes)):
        if 0xD800 <= high < 0xDC00 <= low < 0xE000:
            chars[n : n + 2] = chr(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00), ""
    return chars


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters of pages, one after the other."""

    text: str
    places: Sequence[tuple[int, int]]
    """(index of the page, of the character) of each letter."""
    starts: Set[int]
    """Letters that begin a word, and the end of the text."""
    lines: Sequence[int]
    """Letters that begin a line, and the end of the text."""

    @classmethod
    def of(cls, pages: Sequence[OpenPage]) -> "Letters":
        found: list[str] = []
        places: list[tuple[int, int]] = []
        starts: set[int] = set()
        lines: list[int] = []
        for at, page in enumerate(pages):
            lines.append(len(places))
            for n, char in enumerate(page.chars):
                if folded := fold_char(char):
                    found.append(folded)
                    places += [(at, n)] * len(folded)
                elif char in LINE_ENDS:
                    lines.append(len(places))
                elif char.isspace() or char in APART:
                    starts.add(len(places))
        lines.append(len(places))
        return cls("".join(found), places, starts.union(lines), sorted({*lines}))


def found_runs(text: str, letters: Letters) -> list[Run]:
    """The parts of a passage that are on the pages, in its order."""
    passage = fold(text)
    if not passage:
        return []
    place = letters.text.find(passage)
    if place >= 0 and (len(passage) >= LONG or letters.text.find(passage, place + 1) < 0):
        return [Run(0, place, len(passage), len(passage))]
    lines = text.split("\n")
    rows, heads, at = list[str](), list[tuple[int, str]](), 0
    for line, below in pairwise([*lines, ""]):
        row = fold(line)
        if below.startswith(RULE):
            heads.append((at, line))
            row = "\0" * len(row)  # keeps the places of the others
        rows.append(row)
        at += len(row)
    found = body_runs(rows, letters)
    for at, head in heads:
        found += head_runs(at, head, found, letters)
    return sorted(found)


def head_runs(at: int, head: str, runs: Sequence[Run], letters: Letters) -> list[Run]:
    """The lines of a table's head: those right above its first row on the page that consist of words of the
    head. In a passage it repeats what is above several columns, and a later part of a table has it too."""
    row = at + len(fold(head))
    below = min((run for run in runs if run.text <= row < run.text + run.size), default=None)
    if below is None:
        return []
    end = below.page + (row - below.text if below.ordered else 0)
    above = max((run.page + run.page_size for run in runs if run.page + run.page_size <= end), default=0)
    words = {word for each in WORDS.findall(head) if (word := fold(each))}
    starts = sorted(letters.starts)
    found: list[Run] = []
    for line, after in pairwise(reversed([n for n in letters.lines if above <= n <= end])):
        known = known_words(words, letters.text, starts[bisect_left(starts, after) :], line)
        if 10 * sum(last - first for first, last in known) < 6 * (line - after):
            break
        found.append(Run(at, known[0][0], 0, known[-1][1] - known[0][0], ordered=False))
    if found:
        found[0] = found[0]._replace(size=len(fold(head)))
    return found


def known_words(words: Set[str], text: str, starts: Sequence[int], end: int) -> list[tuple[int, int]]:
    """The places of these words, up to `end`, in a text whose words start there."""
    places = pairwise(takewhile(lambda start: start <= end, starts))
    return [(first, last) for first, last in places if text[first:last] in words]


def body_runs(rows: Sequence[str], letters: Letters) -> list[Run]:
    """The parts of a passage, of which these are the lines, without the heads of tables."""
    passage = "".join(rows)
    aligned = Alignment(passage, letters.text).runs()
    found = [run for each in bridged(aligned, {*letters.lines}) if (run := whole_words(each, letters.starts))]
    return with_mixed_rows(found, rows, letters)


def with_mixed_rows(runs: Sequence[Run], rows: Sequence[str], letters: Letters) -> list[Run]:
    """Runs with rows of tables whose cells are in another order on the page: all letters of a row are those
    of one to three lines, of no others between the parts that were found before and after."""
    places = mixed_places(letters)
    found, at = list(runs), 0
    for row in rows:
        start, at = at, at + len(row)
        known = sum(max(0, min(run.text + run.size, at) - max(run.text, start)) for run in found)
        if len(row) < GRAM or known == len(row):
            continue
        others = [part for run in found for part in outside(run, start, at)]
        after = max((run.page + run.page_size for run in others if run.text < start), default=0)
        before = min((run.page for run in others if run.text >= at), default=len(letters.text))
        same = places.get("".join(sorted(row)), ())
        within = [(first, last) for first, last in same if after <= first and last <= before]
        if len(within) == 1:
            first, last = within[0]
            found = sorted([*others, Run(start, first, len(row), last - first, ordered=False)])
    return found


def mixed_places(letters: Letters) -> Mapping[str, Sequence[tuple[int, int]]]:
    """Where one to three lines are, by their letters in alphabetical order."""
    places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for n, start in enumerate(letters.lines[:MAX_LINES]):
        for end in letters.lines[n + 1 : n + 1 + ROW_LINES]:
            if end - start <= MAX_ROW:
                places["".join(sorted(letters.text[start:end]))].append((start, end))
    return places


def outside(run: Run, start: int, end: int) -> Iterator[Run]:
    """The parts of a run before and after these letters of the passage."""
    if run.text >= end or run.text + run.size <= start:
        yield run
        return
    if run.ordered and run.text < start:
        size = start - run.text
        yield Run(run.text, run.page, size, size)
    if run.ordered and run.text + run.size > end:
        size = run.text + run.size - end
        yield Run(end, run.page + run.page_size - size, size, size)


class Alignment:
    """Equal parts of a passage and of pages, in the same order in both: of all such chains the one with most
    letters, without the parts that fit as well at another place."""

    def __init__(self, passage: str, page: str) -> None:
        self._passage = passage
        self._page = page
        self._grams: defaultdict[str, list[int]] = defaultdict(list)
        for n in range(len(page) - GRAM + 1):
            self._grams[page[n : n + GRAM]].append(n)

    def runs(self) -> list[Run]:
        chain = sure(best_chain(sorted(nlargest(MAX_PARTS, {*self._equal_parts()}, key=itemgetter(2)))))
        found = list(chain)
        for above, below in pairwise(chain):
            found += self._between(above.text + above.size, below.text, above.page + above.size, below.page)
        return sorted(found)

    def _equal_parts(self) -> Iterator[Run]:
        """All parts of GRAM letters or more that cannot be extended; some more than once."""
        passage, page = self._passage, self._page
        common = True
        for n in range(len(passage) - GRAM + 1):
            places = self._grams.get(passage[n : n + GRAM], ())
            known, common = not common, len(places) > COMMON
            for place in () if common else places:
                at, start = n, place
                while at and start and passage[at - 1] == page[start - 1]:
                    at, start = at - 1, start - 1
                    if known:
                        break  # the place before was looked at
                if known and at < n:
                    continue
                size, most = n - at + GRAM, min(len(passage) - at, len(page) - start)
                while size < most and passage[at + size] == page[start + size]:
                    size += 1
                yield Run(at, start, size, size)

    def _between(self, start: int, end: int, first: int, last: int) -> list[Run]:
        """The equal parts within a small gap, from the longest on."""
        missing, room = end - start, last - first
        if min(missing, room) < SHORT or room > 2 * missing + NEAR or missing * room > WINDOW:
            return []
        match = SequenceMatcher(None, self._passage[start:end], self._page[first:last], autojunk=False)
        return [
            Run(start + found.a, first + found.b, found.size, found.size)
            for found in match.get_matching_blocks()
            if found.size >= SHORT
        ]


def best_chain(parts: Sequence[Run]) -> list[Run]:
    """The chain of most letters, and of the smallest leaps between its parts. Overlapping parts are cut.
    Those that another chain, as good as this, has at another place are left out."""
    behind, source = chains_up_to(parts)
    totals = [a + b for a, b in zip(behind, chains_from(parts), strict=True)]
    at = max(range(len(parts)), key=behind.__getitem__, default=-1)
    found: list[Run] = []
    while at >= 0:
        run, cut = parts[at], overlap(parts[source[at]], parts[at]) if source[at] >= 0 else 0
        others = (n for n, total in enumerate(totals) if n != at and total > totals[at] - MARGIN)
        if not any(10 * shared(parts[n], run) >= 9 * run.size for n in others):
            found.append(Run(run.text + cut, run.page + cut, run.size - cut, run.size - cut))
        at = source[at]
    return found[::-1]


def chains_up_to(parts: Sequence[Run]) -> tuple[list[float], list[int]]:
    """Of each part the letters of the best chain that ends with it, and the part before it there, or -1."""
    letters, source = [float(run.size) for run in parts], [-1] * len(parts)
    for n, run in enumerate(parts):
        for m in range(n):
            more = letters[m] + gain(parts[m], run)
            if more > letters[n]:
                letters[n], source[n] = more, m
    return letters, source


def chains_from(parts: Sequence[Run]) -> list[float]:
    """Of each part the letters that the best chain after it adds."""
    letters = [0.0] * len(parts)
    for n in range(len(parts) - 1, -1, -1):
        for m in range(n):
            letters[m] = max(letters[m], letters[n] + gain(parts[m], parts[n]))
    return letters


def gain(above: Run, run: Run) -> float:
    """Letters that a chain gains by a part after another, less a little for the leap between them; minus
    infinity if it cannot follow."""
    if not (above.text < run.text and above.page < run.page):
        return -math.inf
    more = run.size - overlap(above, run)
    return more - min(leap(above, run), MAX_LEAP) / LEAP if more > 0 else -math.inf


def overlap(above: Run, run: Run) -> int:
    """Letters of a part that the one before has too, in the passage or on the page."""
    return max(0, above.text + above.size - run.text, above.page + above.size - run.page)


def shared(run: Run, other: Run) -> int:
    """Letters of the passage that both have."""
    return min(run.text + run.size, other.text + other.size) - max(run.text, other.text)


def leap(above: Run, run: Run) -> int:
    """How much nearer or farther from each other two parts are on the page than in the passage."""
    return abs((run.page - above.page) - (run.text - above.text))


def sure(chain: Sequence[Run]) -> list[Run]:
    """The parts of a chain that have, with those near them, LONG letters."""
    groups: list[list[Run]] = []
    for run in chain:
        if groups and leap(groups[-1][-1], run) <= min(NEAR, 2 * groups[-1][-1].size, 2 * run.size):
            groups[-1].append(run)
        else:
            groups.append([run])
    return [run for group in groups if sum(run.size for run in group) >= LONG for run in group]


def bridged(runs: Sequence[Run], lines: Set[int]) -> list[Run]:
    """Runs with those joined between which hardly a letter differs, but not over a line of the page that the
    passage lacks, such as a page number."""
    found: list[Run] = []
    for run in runs:
        above = found[-1] if found else None
        end = above.page + above.page_size if above else 0
        has_line = end < run.page and {end, run.page} <= lines
        if (
            above
            and not has_line
            and run.text - above.text - above.size <= SMALL_GAP
            and 0 <= run.page - end <= SMALL_GAP
        ):
            size, page_size = run.text + run.size - above.text, run.page + run.page_size - above.page
            found[-1] = Run(above.text, above.page, size, page_size)
        else:
            found.append(run)
    return found


def whole_words(run: Run, starts: Set[int]) -> Run | None:
    """A run without parts of words at its ends; None: nothing is left."""
    first, last = run.page, run.page + run.page_size
    while first < last and first not in starts:
        first += 1
    while last > first and last not in starts:
        last -= 1
    size = run.size - (first - run.page) - (run.page + run.page_size - last)
    return Run(run.text + first - run.page, first, size, last - first) if size > 0 and last > first else None


def quoted_runs(passage: str, quote: str, runs: Sequence[Run]) -> list[Run]:
    """The parts of the runs that are a quotation from the passage, or the longest part of it."""
    at, size = passage.find(quote), len(quote)
    if at < 0:
        found = SequenceMatcher(None, passage, quote, autojunk=False).find_longest_match()
        at, size = found.a, found.size if found.size >= LONG else 0
    parts: list[Run] = []
    for run in runs:
        start, end = max(run.text, at), min(run.text + run.size, at + size)
        if not run.ordered:
            if 2 * (end - start) > run.size:
                parts.append(run)
        elif start < end:
            # A run with letters missing is shifted by as many from there on: at most SMALL_GAP for each.
            first = run.page + min(start - run.text, run.page_size)
            last = run.page + run.page_size - min(run.text + run.size - end, run.page_size)
            if first < last:
                parts.append(Run(start, first, end - start, last - first))
    return parts


@dataclass(slots=True)
class LineBox:
    """The box of letters on one base line, in points; x and y are exchanged where the text runs upwards."""

    page: int
    upwards: bool
    base: float
    left: float
    bottom: float
    right: float
    top: float

    def takes(self, other: "LineBox") -> bool:
        """True if a letter continues this line."""
        height = max(self.top - self.bottom, other.top - other.bottom)
        same = (self.page, self.upwards) == (other.page, other.upwards)
        return same and abs(self.base - other.base) <= SAME_LINE * height and other.right > self.left

    def add(self, other: "LineBox") -> None:
        self.left, self.bottom = min(self.left, other.left), min(self.bottom, other.bottom)
        self.right, self.top = max(self.right, other.right), max(self.top, other.top)


def rectangles(
    pages: Sequence[OpenPage], letters: Letters, runs: Sequence[Run]
) -> list[tuple[int, list[Rect]]]:
    """(page, a rectangle for each line) of runs."""
    lines: list[LineBox] = []
    for run in runs:
        fresh = True
        for at, n in marked_chars(pages, letters.places[run.page : run.page + run.page_size]):
            box = char_line(pages[at], at, n)
            if box is None:
                continue
            if lines and not fresh and lines[-1].takes(box):
                lines[-1].add(box)
            else:
                lines.append(box)
            fresh = False
    found: defaultdict[int, list[Rect]] = defaultdict(list)
    for line in joined_lines(lines):
        found[line.page].append(shown(pages[line.page].page, line))
    return [(pages[at].number, rects) for at, rects in sorted(found.items())]


def marked_chars(pages: Sequence[OpenPage], places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The characters from the first letter to the last, with the signs right before and after them."""
    for at, on_page in groupby(dict.fromkeys(places), itemgetter(0)):
        chars = pages[at].chars
        found = [n for _, n in on_page]
        first, last = found[0], found[-1]
        while first > 0 and is_sign(chars[first - 1]):
            first -= 1
        while last + 1 < len(chars) and is_sign(chars[last + 1]):
            last += 1
        yield from ((at, n) for n in range(first, last + 1) if chars[n] and not chars[n].isspace())


def is_sign(char: str) -> bool:
    return bool(char) and not char.isspace() and not fold_char(char) and unicodedata.category(char)[0] in "PS"


def char_line(page: OpenPage, at: int, n: int) -> LineBox | None:
    """A character as a line of its own; None: it is not visible."""
    left, right, bottom, top, x, y = (ctypes.c_double() for _ in range(6))
    if not native.FPDFText_GetCharBox(page.text, n, left, right, bottom, top):
        return None
    if not native.FPDFText_GetCharOrigin(page.text, n, x, y):
        return None
    box = left.value, bottom.value, right.value, top.value
    if box[0] >= box[2] or box[1] >= box[3]:
        return None
    upwards = abs(math.sin(native.FPDFText_GetCharAngle(page.text, n))) > 0.7
    if upwards:
        return LineBox(at, upwards, x.value, box[1], box[0], box[3], box[2])
    return LineBox(at, upwards, y.value, *box)


def joined_lines(lines: Sequence[LineBox]) -> list[LineBox]:
    """Lines with small ones, such as raised marks, joined to the line that they are part of."""
    found: list[LineBox] = []
    for line in lines:
        above = found[-1] if found else None
        if above and is_beside(above, line):
            above.add(line)
        else:
            found.append(line)
    return found


def is_beside(line: LineBox, other: LineBox) -> bool:
    """True if two boxes have half of the lower one's height in common and nearly touch."""
    if (line.page, line.upwards) != (other.page, other.upwards):
        return False
    heights = line.top - line.bottom, other.top - other.bottom
    common = min(line.top, other.top) - max(line.bottom, other.bottom)
    apart = max(line.left, other.left) - min(line.right, other.right)
    return common >= min(heights) / 2 and apart <= max(heights)


def shown(page: pdfium.PdfPage, line: LineBox) -> Rect:
    """The rectangle of a line on the page as it is shown."""
    pad = PADDING * (line.top - line.bottom)
    bottom, top = line.bottom - pad, line.top + pad
    left, right = line.left, line.right
    if line.upwards:
        left, bottom, right, top = bottom, left, top, right
    (ax, ay), (bx, by) = device(page, left, bottom), device(page, right, top)
    return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)


def device(page: pdfium.PdfPage, x: float, y: float) -> tuple[float, float]:
    across, down = ctypes.c_int(), ctypes.c_int()
    native.FPDF_PageToDevice(page, 0, 0, DEVICE, DEVICE, 0, x, y, across, down)
    return clamped(across.value), clamped(down.value)


def clamped(units: int) -> float:
    return round(min(max(units, 0), DEVICE) / DEVICE, 5)
