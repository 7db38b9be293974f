"""The process that shows the pages of one PDF (`-m app.ingest.pages`): a page as WebP, and where on its pages
a passage is. Its client is `viewer.py`.

It limits itself and drops privileges (`child.confine`) before it looks at the file, which stays open, so
that each page costs its drawing alone. Rectangles are fractions of the page as it is shown (crop box,
rotated), the origin at the top left.

A passage is found by its letters and digits alone, since PDFium's text has other spaces, line ends, hyphens
and ligatures than the passage. If it is not on its pages as a whole, its longest parts are looked for, from
the longest to those between them, in the order of the text. A part that is too short to be sure, or that is
there more than once, has no rectangle.
"""

import ctypes
import io
import json
import math
import os
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, partial
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import pypdfium2 as pdfium
import pypdfium2.raw as native
from PIL import Image

from app.child import Call, confine, connected

WIDTH = 1_040
"""Pixels across a page if no scale is asked for: a panel of 520 px on a screen with two pixels for each."""
MAX_PIXELS, MAX_SIDE = 8_000_000, 8_000
"""Pixels of an image and of each side: a larger page is drawn smaller, whatever the scale."""
QUALITY, METHOD = 80, 2
"""Of WebP. Method 4 takes twice the time for 5 % less."""

MAX_CHARS = 200_000
"""Characters of a page; one with more is not searched."""
MAX_PAGES = 8
"""Pages of a passage that are searched: its first, and its last ones."""
GRAM = 8
"""Letters by which parts of a passage are looked up."""
LONG, ANCHORED, SHORT = 20, 10, 4
"""Least letters of a part: anywhere; beside a part that was found; between two that are near each other."""
NEAR = 60
"""Letters between two parts, beyond twice those that are missing, up to which they are near each other."""
SMALL_GAP = 3
"""Letters that may be missing or added within a part: a ligature, a footnote's mark."""
WINDOW = 40_000
"""Letters of a passage times letters of a page that are compared with each other."""

APART = frozenset("|/\\–—")
"""Signs between words, beside white space."""
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


def main() -> None:
    parent, _ = connected()
    encode(Image.new("RGB", (1, 1)))  # loads the codec, which may be unreadable after the change of user
    fold("e\u0301")
    parent.ready()
    viewer = Viewer()
    parent.serve(partial(viewer.answer, parent.pid))


class Viewer:
    """The open file. `open` (file, memory_mb, seconds) must be the first call."""

    def __init__(self) -> None:
        self._pdf: pdfium.PdfDocument | None = None

    def answer(self, parent: int, call: Call) -> None:
        try:
            if call.name == "open":
                confine(parent, call.payload["memory_mb"], call.payload["seconds"])
                self._pdf = pdfium.PdfDocument(os.fdopen(call.payload["file"], "rb"))
                call.reply({"pages": len(self._pdf)})
            elif call.name == "draw":
                call.reply(data=drawn(self._page_of(call.payload["page"]), call.payload["scale"]))
            else:
                asked = call.payload
                found = boxes(self._opened(), asked["first"], asked["last"], asked["text"], asked["quote"])
                call.reply(data=json.dumps(found).encode())
        except pdfium.PdfiumError:
            call.fail({"fault": "pdf-damaged", "detail": "The page cannot be read"})
        except MemoryError:
            call.fail({"fault": "pdf-too-complex", "detail": "The page takes more memory than a worker has"})
        except LookupError:
            call.fail({"fault": "not-found", "detail": "there is no such page"})

    def _opened(self) -> pdfium.PdfDocument:
        if self._pdf is None:
            raise pdfium.PdfiumError("no file is open")
        return self._pdf

    def _page_of(self, number: int) -> pdfium.PdfPage:
        pdf = self._opened()
        if not 1 <= number <= len(pdf):
            raise LookupError(number)
        return pdf[number - 1]


def drawn(page: pdfium.PdfPage, scale: float | None) -> bytes:
    """The page as WebP; `scale` in pixels per point, None: WIDTH pixels across."""
    width, height = page.get_size()
    bitmap = page.render(scale=fitting(width, height, scale))
    try:
        return encode(bitmap.to_pil().convert("RGB"))
    finally:
        bitmap.close()
        page.close()


def fitting(width: float, height: float, scale: float | None) -> float:
    """The scale, or less where the image would become too large."""
    width, height = max(width, 0.1), max(height, 0.1)
    asked = scale or WIDTH / width
    return min(asked, math.sqrt(MAX_PIXELS / (width * height)), MAX_SIDE / max(width, height))


def encode(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "WEBP", quality=QUALITY, method=METHOD)
    return out.getvalue()


def boxes(pdf: pdfium.PdfDocument, first: int, last: int, text: str, quote: str) -> dict[str, object]:
    """{boxes, quote_boxes: [(page, rectangles)], found, letters}: where a passage is, and a quotation from
    it; how many of the passage's letters were found. Pages are physical, from 1."""
    numbers = [number for number in range(first, last + 1) if 1 <= number <= len(pdf)]
    if len(numbers) > MAX_PAGES:
        numbers = [numbers[0], *numbers[1 - MAX_PAGES :]]
    with opened_pages(pdf, numbers) as pages:
        letters, passage = Letters.of(pages), fold(text)
        runs = found_runs(passage, letters)
        quoted = quoted_runs(passage, fold(quote), runs) if quote else []
        return {
            "boxes": rectangles(pages, letters, runs),
            "quote_boxes": rectangles(pages, letters, quoted),
            "found": sum(run.size for run in runs),
            "letters": len(passage),
        }


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

    @classmethod
    def of(cls, pages: Sequence[OpenPage]) -> "Letters":
        found: list[str] = []
        places: list[tuple[int, int]] = []
        starts: set[int] = set()
        for at, page in enumerate(pages):
            starts.add(len(places))
            for n, char in enumerate(page.chars):
                if folded := fold_char(char):
                    found.append(folded)
                    places += [(at, n)] * len(folded)
                elif char.isspace() or char in APART:
                    starts.add(len(places))
        return cls("".join(found), places, starts | {len(places)})


def found_runs(passage: str, letters: Letters) -> list[Run]:
    """The parts of a passage that are on the pages, in its order."""
    if not passage:
        return []
    place = letters.text.find(passage)
    if place >= 0 and (len(passage) >= LONG or letters.text.find(passage, place + 1) < 0):
        return [Run(0, place, len(passage), len(passage))]
    aligned = Alignment(passage, letters.text).runs()
    return [run for each in bridged(aligned) if (run := whole_words(each, letters.starts))]


class Alignment:
    """Equal parts of a passage and of pages, in the same order in both."""

    def __init__(self, passage: str, page: str) -> None:
        self._passage = passage
        self._page = page
        self._grams: defaultdict[str, list[int]] = defaultdict(list)
        for n in range(len(page) - GRAM + 1):
            self._grams[page[n : n + GRAM]].append(n)

    def runs(self) -> list[Run]:
        found: list[Run] = []
        gaps = [(0, len(self._passage), 0, len(self._page))]
        while gaps:
            start, end, first, last = gaps.pop()
            run = self._longest(start, end, first, last)
            if run:
                found.append(run)
                gaps.append((start, run.text, first, run.page))
                gaps.append((run.text + run.size, end, run.page + run.size, last))
        return sorted(found)

    def _longest(self, start: int, end: int, first: int, last: int) -> Run | None:
        """The longest equal part within a gap, if it is long enough to be sure."""
        missing, room = end - start, last - first
        before, after = start > 0, end < len(self._passage)
        if missing < SHORT or room < SHORT:
            return None
        if before and after and room <= 2 * missing + NEAR and missing * room <= WINDOW:
            match = SequenceMatcher(None, self._passage[start:end], self._page[first:last], autojunk=False)
            found = match.find_longest_match()
            if found.size < SHORT:
                return None
            return Run(start + found.a, first + found.b, found.size, found.size)

        def shift(run: Run) -> int:
            """How much farther from a part that was found it is on the page than in the passage."""
            behind = abs(run.page - first - run.text + start) if before else MAX_CHARS
            ahead = abs(last - run.page - end + run.text) if after else MAX_CHARS
            return min(behind, ahead)

        parts = list(self._equal_parts(start, end, first, last))
        size = max((run.size for run in parts), default=0)
        longest = sorted((run for run in parts if run.size == size), key=shift)
        if not longest or (len(longest) > 1 and shift(longest[0]) == shift(longest[1])):
            return None
        return longest[0] if size >= (ANCHORED if shift(longest[0]) <= NEAR else LONG) else None

    def _equal_parts(self, start: int, end: int, first: int, last: int) -> Iterator[Run]:
        """All parts of GRAM letters or more that cannot be extended."""
        passage, page = self._passage, self._page
        for at in range(start, end - GRAM + 1):
            for place in self._grams.get(passage[at : at + GRAM], ()):
                if not first <= place <= last - GRAM:
                    continue
                if at > start and place > first and passage[at - 1] == page[place - 1]:
                    continue
                size, most = GRAM, min(end - at, last - place)
                while size < most and passage[at + size] == page[place + size]:
                    size += 1
                yield Run(at, place, size, size)


def bridged(runs: Sequence[Run]) -> list[Run]:
    """Runs with those joined between which hardly a letter differs."""
    found: list[Run] = []
    for run in runs:
        above = found[-1] if found else None
        if (
            above
            and run.text - above.text - above.size <= SMALL_GAP
            and 0 <= run.page - above.page - above.page_size <= SMALL_GAP
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
        if start < end:
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


if __name__ == "__main__":
    main()
