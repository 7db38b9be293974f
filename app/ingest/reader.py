"""What PDFium reads of a PDF: lines, form fields, outline, title and page labels. Runs in the worker
process only: PDFium is native code and not thread-safe, and the files come from anyone.

Also decides which pages have text that cannot be read, because their fonts lack a usable character map.
Raises `PdfEncrypted`, `PdfDamaged`, `PdfUnreadable`, and `PdfTooComplex` for more pages or text than the
limits allow.
"""

import ctypes
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from itertools import accumulate, islice, pairwise
from math import inf
from pathlib import Path
from typing import BinaryIO, TypeAlias

import pypdfium2 as pdfium
import pypdfium2.raw as native

from app.errors import IbidError, PdfDamaged, PdfEncrypted, PdfTooComplex, PdfUnreadable
from app.ingest.lines import BREAK, Bookmark, Line, PlacedWord, Style, body_style
from app.ingest.tables import LONG_LABEL_WORDS
from app.text.vocabulary import count

MAX_CHARS = 20_000_000
"""Characters per document: some 6,000 full pages."""
MAX_BOOKMARKS = 10_000

BOLD_NAME = re.compile(r"bold|black|heavy|demi|medium|medi$|(?:cm|sf|ec)bx", re.IGNORECASE)
"""Names of bold fonts, TeX's included. The font weight in the file is derived from stems and unreliable."""
ITALIC_FLAG, BOLD_FLAG = 1 << 6, 1 << 18
"""PDF 32000-1, table 123."""
WORD = re.compile(r"\S+")
TALL = 1.6
"""A line higher than so many times its font size is several lines."""
LOWER = 0.6
"""A word so many font sizes lower than the one before, and to the left of it, begins another line."""
FAR = 2.0
"""A word so many font sizes lower or higher begins another line wherever it is."""

MARK_CHARS, MAX_MARKS = 5, 8
"""Maximum characters of each word of a line of marks, and of two beside each other."""
MARK_SIZE = 0.85
"""A mark is at most so large, compared with the line that it belongs to."""
MARK_GAP, MARK_SPACE = 0.35, 1.2
"""Heights of the line between a word and the mark after it, and a mark and the line that it begins."""
MAX_MARK_PAIRS, MAX_MARKED_WORDS = 1_000_000, 500
"""Marks times lines of a page, and words of a line, up to which marks are put to their places."""

GAP = re.compile(r"f (?=[^\W\d_])")
"""An f before a space. It is the letter that overlaps the next one most."""
SPACE = 0.15
"""A space is at least so wide, in heights of its line."""
BESIDE = 0.2
"""An object that begins so many widths beside another is no copy of it."""
ALIKE = 0.1
"""Widths of the same letter differ by less; a space has none."""

JOINER = "\u2060"
TORN = re.compile(r"(?<!\S)(?:[^\W_][ \r\n]{1,2}){5,}[^\W_](?!\S)")
"""Six letters or more, each alone."""
SPACES = re.compile(r"(?<=\S)[ \r\n]{1,2}(?=\S)")
MIN_WORDS, LETTERS_SHARE = 40, 0.4
"""Words of a page, and the share of single letters from which its words count as torn."""

LETTERS = re.compile(r"[^\W\d_]{2,}")
LOWERCASE_WORD = re.compile(r"(?<!\w)[A-Z]?[a-z]{2,24}(?!\w)")
"""A lower-case ASCII word; its first letter may be a capital. Codes and abbreviations do not match."""
SYMBOL_BULLETS = frozenset("\uf0b7\uf0a7\uf0d8\uf076")
UNMAPPED_SHARE = 0.5
"""Share of unmapped characters above which a page may be unreadable."""
UNMAPPED_BYTES_PER_TOKEN, UNMAPPED_MIN_BYTES = 2.4, 20
"""Threshold for letters that the font does not map, and the minimum number of bytes to judge."""
MAPPED_BYTES_PER_TOKEN, MAPPED_MIN_BYTES, MIN_ALPHABET = 1.95, 200, 12
"""The same for letters that the font maps, and how many different ones: a DNA sequence has four."""
SAMPLE_CHARS = 4_000
"""Characters of a page whose tokens are counted."""

UNSEEN = native.FPDF_ANNOT_FLAG_HIDDEN | native.FPDF_ANNOT_FLAG_NOVIEW
PASSWORD = 1 << 13
"""PDF 32000-1, table 228."""
TEXT_FIELDS = {native.FPDF_FORMFIELD_TEXTFIELD, native.FPDF_FORMFIELD_COMBOBOX, native.FPDF_FORMFIELD_LISTBOX}
CHECK_FIELDS = {native.FPDF_FORMFIELD_CHECKBOX, native.FPDF_FORMFIELD_RADIOBUTTON}
MAX_VALUE_CHARS = 100_000
"""Maximum characters of a field's value; a longer one is skipped."""
MAX_OPTIONS = 1_000
"""Maximum options of a field for which option labels are read; beyond it the raw value is used."""
MARGIN = 2.0
"""Points by which text may exceed its field."""
MAX_FIELDS = 5_000
"""Maximum fields read per document, because PDFium's time grows with the square of the number of fields. If
a page has more annotations, its fields and those of the pages after it are skipped."""

FEW_WORDS, IMAGE_SHARE, MAX_OBJECTS = 20, 0.1, 1_000
"""A page of fewer words is looked at, up to so many objects: images of such a share of it are its content."""

LABEL_CHARS = 40
"""Maximum characters of a page's label."""

Annotation: TypeAlias = native.FPDF_ANNOTATION
PageObject: TypeAlias = native.FPDF_PAGEOBJECT
Word: TypeAlias = tuple[str, int]
"""A word and its index in PDFium's text of the page."""


@contextmanager
def opened(source: Path | BinaryIO, max_pages: int) -> Iterator[pdfium.PdfDocument]:
    try:
        pdf = pdfium.PdfDocument(source)
    except pdfium.PdfiumError as error:
        raise open_problem(error.err_code) from None
    try:
        if len(pdf) > max_pages:
            raise PdfTooComplex(f"{len(pdf):,} pages; at most {max_pages:,} are taken")
        if pdf.get_formtype() == native.FORMTYPE_XFA_FULL and len(pdf) == 1:
            raise PdfUnreadable("It is a dynamic XFA form: its one page asks the reader to wait for another")
        yield pdf
    finally:
        pdf.close()


def open_problem(code: int | None) -> IbidError:
    if code == native.FPDF_ERR_PASSWORD:
        return PdfEncrypted("It opens only with a password")
    if code == native.FPDF_ERR_SECURITY:
        return PdfEncrypted("It is protected by a scheme that cannot be opened here")
    return PdfDamaged("Its structure cannot be read")


def lines(pdf: pdfium.PdfDocument, told: Callable[[int, int], None] = lambda _done, _of: None) -> list[Line]:
    """The lines of all pages; `told` is called with pages read, of how many. Damaged and unreadable pages are
    skipped; raises if nothing else is left."""
    found: list[Line] = []
    damaged = chars = unreadable = 0
    with form_of(pdf) as form:
        for number in range(1, len(pdf) + 1):
            told(number - 1, len(pdf))
            try:
                page = page_lines(pdf, number, form)
            except pdfium.PdfiumError:
                damaged += 1
                continue
            if page is None:
                unreadable += 1
                continue
            found += page
            chars += sum(len(line.text) for line in page)
            if chars > MAX_CHARS:
                raise PdfTooComplex(f"More than {MAX_CHARS:,} characters of text by page {number:,}")
    if damaged == len(pdf):
        raise PdfDamaged(f"{damaged:,} pages, none of which can be read")
    if unreadable and not any(char.isalnum() for line in found for char in line.text):
        pages = "1 page" if unreadable == 1 else f"{unreadable:,} pages"
        raise PdfUnreadable(
            f"{pages} with text, none of which can be read: the fonts do not say which letters they show"
        )
    return found


def page_lines(pdf: pdfium.PdfDocument, number: int, form: "FormReader") -> list[Line] | None:
    """The lines of one page, with those of its form fields; None: its text is unreadable."""
    page = pdf[number - 1]
    text_page = page.get_textpage()
    text = with_double_letters(page, text_page, with_whole_words(text_page, text_page.get_text_range()))
    readable = is_readable(text.replace(JOINER, ""), lambda: unmapped_chars(text_page))
    lines = form.add_fields(page, text_page, text_lines(text_page, text, number) if readable else [], number)
    text_page.close()
    page.close()
    return lines if readable or lines else None


def with_whole_words(text_page: pdfium.PdfTextPage, text: str) -> str:
    """The page's text without the spaces and line ends that PDFium puts between the letters of words in some
    files that draw each letter alone. The text stays as long, as places in it are asked for: a letter and the
    next are joined by JOINER."""
    found, spaces = list(text), spaces_between_letters(text)
    places = utf16_places(text, [place for space in spaces for place in space.span()])
    for space, start, end in zip(spaces, places[::2], places[1::2], strict=True):
        index = native.FPDFText_GetCharIndexFromTextIndex(text_page, start - 1)
        after = native.FPDFText_GetCharIndexFromTextIndex(text_page, end)
        left, right = char_box(text_page, index), char_box(text_page, after)
        height = left.top - left.bottom
        if abs(left.bottom - right.bottom) < LOWER / 2 * height and right.left > left.left:
            char = JOINER if right.left - left.right < SPACE * height else " "
            found[space.start() : space.end()] = char * len(space[0])
    return "".join(found)


def spaces_between_letters(text: str) -> list[re.Match[str]]:
    """The spaces of runs of single letters; of the whole page if most of it is such."""
    words = text.split()
    torn = len(words) >= MIN_WORDS and sum(len(word) == 1 for word in words) >= LETTERS_SHARE * len(words)
    parts = [(0, len(text))] if torn else [part.span() for part in TORN.finditer(text)]
    return [space for part in parts for space in SPACES.finditer(text, *part)]


def with_double_letters(page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, text: str) -> str:
    """The page's text with letters that PDFium took for copies: it drops a text object that covers half of an
    equal one before it, as where a letter is drawn twice to look bold. In files that draw each letter alone,
    that is the second f of a slanted `affected`, and PDFium puts a space in the gap."""
    count = native.FPDFPage_CountObjects(page)
    if 2 * count < len(text):
        return text
    gaps: dict[int, int] = {}
    starts = [gap.start() for gap in GAP.finditer(text)]
    for start, place in zip(starts, utf16_places(text, starts), strict=True):
        index = native.FPDFText_GetCharIndexFromTextIndex(text_page, place)
        if is_narrow(text_page, index):
            gaps[start] = index
    objects = [native.FPDFPage_GetObject(page, n) for n in range(count if gaps else 0)]
    places = {address(each): n for n, each in enumerate(objects)}
    letters = list(text)
    for at, index in gaps.items():
        place = places.get(address(native.FPDFText_GetTextObject(text_page, index)), count)
        if place + 1 < count and is_dropped(text_page, objects[place], objects[place + 1]):
            letters[at + 1] = letters[at]
    return "".join(letters)


def is_narrow(text_page: pdfium.PdfTextPage, index: int) -> bool:
    """True if the gap behind a letter is narrower than a space."""
    letter, after = char_box(text_page, index), char_box(text_page, index + 2)
    return bool(after.left - letter.right < SPACE * (letter.top - letter.bottom))


def is_dropped(text_page: pdfium.PdfTextPage, first: PageObject, second: PageObject) -> bool:
    """True if the second object has no text and is beside the first, not on it."""
    if native.FPDFPageObj_GetType(second) != native.FPDF_PAGEOBJ_TEXT:
        return False
    if native.FPDFTextObj_GetText(second, text_page, None, 0) > 2:
        return False
    (left, base, width), (right, other, wide) = place_of(first), place_of(second)
    return base == other and right - left > BESIDE * width and abs(wide - width) < ALIKE * width


def place_of(item: PageObject) -> tuple[float, float, float]:
    """Where a text object begins, and its width: (left, base line, width)."""
    matrix, box = native.FS_MATRIX(), [ctypes.c_float() for _ in range(4)]
    native.FPDFPageObj_GetMatrix(item, matrix)
    native.FPDFPageObj_GetBounds(item, *box)
    return matrix.e, matrix.f, box[2].value - box[0].value


def address(item: PageObject) -> int | None:
    return ctypes.cast(item, ctypes.c_void_p).value


def text_lines(text_page: pdfium.PdfTextPage, text: str, number: int) -> list[Line]:
    """The lines of a page's text that are not blank."""
    found: list[tuple[Line, list[Word]]] = []
    start = 0
    for row in text.split("\r\n"):
        words = [(word[0], start + utf16_length(row[: word.start()])) for word in WORD.finditer(row)]
        if words:
            found += split_rows(text_page, words, number)
        start += utf16_length(row) + 2
    return with_marks(text_page, found)


def utf16_length(text: str) -> int:
    """The length as PDFium counts it."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf16_places(text: str, places: Sequence[int]) -> list[int]:
    """Places of a text, in ascending order, as PDFium counts them."""
    lengths = (utf16_length(text[start:end]) for start, end in pairwise([0, *places]))
    return list(accumulate(lengths))


def split_rows(text_page: pdfium.PdfTextPage, words: list[Word], page: int) -> list[tuple[Line, list[Word]]]:
    """The visible lines, with their words, of what PDFium reads as one line: it joins close rows of tables,
    and what the file draws next, which may be the foot of the page."""
    line = line_of(text_page, words, page)
    size = line.style.size
    if line.top - line.bottom < TALL * size:
        return [(line, words)]
    words = [part for word in words for part in unbroken(text_page, word, FAR * size)]
    rows, previous = [[words[0]]], origin(text_page, words[0])
    for word in words[1:]:
        here = origin(text_page, word)
        distance = abs(here[1] - previous[1])
        if distance > FAR * size or (distance > LOWER * size and here[0] < previous[0]):
            rows.append([])
        rows[-1].append(word)
        previous = here
    return [(line_of(text_page, row, page), row) for row in rows]


def unbroken(text_page: pdfium.PdfTextPage, word: Word, far: float) -> list[Word]:
    """A word that PDFium joined over the end of a line; as two if the second part is not in the next line."""
    first, broken, rest = word[0].partition(BREAK)
    if not (first and rest):
        return [word]
    second = rest, word[1] + utf16_length(first + broken)
    near = abs(origin(text_page, word)[1] - origin(text_page, second)[1]) <= far
    return [word] if near else [(f"{first}-", word[1]), second]


def with_marks(text_page: pdfium.PdfTextPage, rows: Sequence[tuple[Line, list[Word]]]) -> list[Line]:
    """The lines of a page with small words that the file draws after the text, such as footnote marks, put
    beside the words to which they belong."""
    lines = [line for line, _ in rows]
    targets = [n for n, (_, words) in enumerate(rows) if len(words) <= MAX_MARKED_WORDS]
    words_of = cache(lambda n: lines[n].words or [word_of(text_page, word) for word in rows[n][1]])
    added, taken = placed_marks(lines, targets, words_of)
    if not taken:
        return lines
    merged = [
        merge_words(line, words_of(n), added[n], taken)
        if n in added or taken.intersection(line.words)
        else line
        for n, line in enumerate(lines)
    ]
    return [line for line in merged if line.text]


def placed_marks(
    lines: Sequence[Line], targets: Sequence[int], words_of: Callable[[int], Sequence[PlacedWord]]
) -> tuple[dict[int, defaultdict[int, list[PlacedWord]]], set[PlacedWord]]:
    """The marks by line and by the index before which they are put; and all of these, as they were."""
    marks = [(line, mark) for line in lines if is_of_marks(line) for mark in line.words]
    added: dict[int, defaultdict[int, list[PlacedWord]]] = defaultdict(lambda: defaultdict(list))
    taken: set[PlacedWord] = set()
    if len(marks) * len(targets) > MAX_MARK_PAIRS:
        return added, taken
    for line, mark in marks:
        near = [n for n in targets if is_beside(lines[n], line, mark)]
        places = [(*place, n) for n in near if (place := place_of_mark(words_of(n), lines[n], line, mark))]
        if places:
            _, at, n = min(places)
            added[n][at].append(mark._replace(base=words_of(n)[max(at - 1, 0)].base))
            taken.add(mark)
    return added, taken


def is_of_marks(line: Line) -> bool:
    """True if a line is short words that are not a phrase."""
    if not line.words or any(len(word.text) > MARK_CHARS for word in line.words):
        return False
    near = MARK_GAP * line.style.size
    phrases = (a.text + b.text for a, b in pairwise(line.words) if 0 <= b.left - a.right < near)
    return all(len(text) <= MAX_MARKS for text in phrases)


def is_beside(line: Line, of_marks: Line, mark: PlacedWord) -> bool:
    """True if a line of larger type is at the height of a mark and not far from it."""
    middle, size = mark.base + of_marks.style.size / 2, line.style.size
    if of_marks.style.size > MARK_SIZE * size or not line.bottom <= middle <= line.top + MARK_GAP * size:
        return False
    return line.left - MARK_SPACE * size <= mark.right and mark.left <= line.right + MARK_GAP * size


def place_of_mark(
    words: Sequence[PlacedWord], line: Line, of_marks: Line, mark: PlacedWord
) -> tuple[float, int] | None:
    """(distance, index before which it is put) of a mark in a line: right after a word, else before the
    first one."""
    size, middle = line.style.size, mark.base + of_marks.style.size / 2
    gaps = [
        (abs(mark.left - word.right), n)
        for n, word in enumerate(words, 1)
        if word.base <= middle <= word.base + (1 + MARK_GAP) * size
    ]
    best = min(gaps, default=(inf, 0))
    if best[0] <= MARK_GAP * size:
        return best
    space = words[0].left - mark.right
    return (space, 0) if -MARK_GAP * size <= space <= MARK_SPACE * size else None


def merge_words(
    line: Line, words: Sequence[PlacedWord], added: Mapping[int, list[PlacedWord]], taken: Set[PlacedWord]
) -> Line:
    """A line with the words that are added before those of an index, and without those that are taken."""
    merged: list[PlacedWord] = []
    for n, word in enumerate(words):
        merged += [*added.get(n, []), *([] if word in taken else [word])]
    merged += added.get(len(words), [])
    text = " ".join(word.text for word in merged)
    return replace(line, text=text, words=tuple(merged) if line.words else ())


def origin(text_page: pdfium.PdfTextPage, word: Word) -> tuple[float, float]:
    left, base = ctypes.c_double(), ctypes.c_double()
    index = native.FPDFText_GetCharIndexFromTextIndex(text_page, word[1])
    native.FPDFText_GetCharOrigin(text_page, index, left, base)
    return left.value, base.value


def line_of(text_page: pdfium.PdfTextPage, words: list[Word], page: int) -> Line:
    """The line of these words; coordinates and style are those of its first and last character."""
    first, last = words[0][1], words[-1][1] + utf16_length(words[-1][0]) - 1
    start = native.FPDFText_GetCharIndexFromTextIndex(text_page, first)
    end = native.FPDFText_GetCharIndexFromTextIndex(text_page, last)
    left, right = char_box(text_page, start), char_box(text_page, end)
    bold, italic = map(all, zip(font_style(text_page, start), font_style(text_page, end), strict=True))
    size = max(left.top - left.bottom, right.top - right.bottom)
    return Line(
        text=" ".join(word for word, _ in words),
        page=page,
        left=min(left.left, right.left),
        right=max(left.right, right.right),
        top=max(left.top, right.top),
        bottom=min(left.bottom, right.bottom),
        style=Style(round(size * 2) / 2, bold, italic),
        words=tuple(word_of(text_page, word) for word in words if len(words) <= LONG_LABEL_WORDS),
    )


def word_of(text_page: pdfium.PdfTextPage, word: Word) -> PlacedWord:
    text, first = word
    start = native.FPDFText_GetCharIndexFromTextIndex(text_page, first)
    end = native.FPDFText_GetCharIndexFromTextIndex(text_page, first + utf16_length(text) - 1)
    left, right = char_box(text_page, start), char_box(text_page, end)
    return PlacedWord(text, min(left.left, right.left), max(left.right, right.right), left.bottom)


def char_box(text_page: pdfium.PdfTextPage, index: int) -> native.FS_RECTF:
    """A character's box, as high as its font; all zero for one that is not on the page."""
    box = native.FS_RECTF()
    native.FPDFText_GetLooseCharBox(text_page, index, box)
    return box


def font_style(text_page: pdfium.PdfTextPage, index: int) -> tuple[bool, bool]:
    flags, name = ctypes.c_int(), ctypes.create_string_buffer(128)
    native.FPDFText_GetFontInfo(text_page, index, name, 128, flags)
    return style_of_font(name.value, flags.value)


@cache  # a few fonts, two calls per line: parsing an annual report takes 10 % longer without it
def style_of_font(name: bytes, flags: int) -> tuple[bool, bool]:
    bold = bool(flags & BOLD_FLAG) or bool(BOLD_NAME.search(name.decode("latin-1")))
    return bold, bool(flags & ITALIC_FLAG)


def unmapped_chars(text_page: pdfium.PdfTextPage) -> int:
    """The number of characters that the fonts do not map to Unicode: PDFium returns their glyph numbers."""
    chars = range(text_page.count_chars())
    return sum(native.FPDFText_HasUnicodeMapError(text_page, n) == 1 for n in chars)


def is_readable(text: str, unmapped: Callable[[], int]) -> bool:
    """False if a page's text is not what a reader sees. Three cases, independent of language:

    - More than half of the characters have no meaning: controls, private use, unassigned, U+FFFD.
    - Glyph numbers stand for characters, where the font has no character map, and the text resembles no
      language. (In some old fonts the glyph numbers are ASCII.)
    - The character map gives other letters than those that are seen.

    Whether text resembles a language is measured in UTF-8 bytes of letters per o200k token, which has long
    tokens for the words of languages only. Texts in 40 languages and code: from 2.3; shifted alphabets: up to
    2.1; arbitrary ideographs: 1.6. `unmapped` counts the characters without a map; it is slow, so it is
    called last.
    """
    chars = Counter("".join(text.replace(BREAK, "").split()))
    if 2 * sum(times for char, times in chars.items() if is_meaningless(char)) > chars.total():
        return False
    text = text[:SAMPLE_CHARS]
    if (
        is_no_language(LETTERS.findall(text), UNMAPPED_BYTES_PER_TOKEN, UNMAPPED_MIN_BYTES)
        and unmapped() > UNMAPPED_SHARE * chars.total()
    ):
        return False
    words = LOWERCASE_WORD.findall(text)
    alphabet = len(set("".join(words)))
    return alphabet < MIN_ALPHABET or not is_no_language(words, MAPPED_BYTES_PER_TOKEN, MAPPED_MIN_BYTES)


def is_meaningless(char: str) -> bool:
    if char.isascii():
        return not char.isprintable()
    return char == "\ufffd" or (
        unicodedata.category(char) in {"Cc", "Cn", "Co", "Cs"} and char not in SYMBOL_BULLETS
    )


def is_no_language(words: list[str], threshold: float, min_bytes: int) -> bool:
    """True if words have fewer than `threshold` bytes per token; False if there are fewer than
    `min_bytes`."""
    size = sum(len(word.encode("utf-8", "replace")) for word in words)
    return size >= min_bytes and size < threshold * count(" ".join(words))


@contextmanager
def form_of(pdf: pdfium.PdfDocument) -> Iterator["FormReader"]:
    """The form of a document. pypdfium2's own would prepare all fields of a page for display, which takes
    minutes if there are many."""
    config = native.FPDF_FORMFILLINFO(version=2)
    handle = native.FPDFDOC_InitFormFillEnvironment(pdf, config)
    try:
        yield FormReader(handle or None)
    finally:
        if handle:
            native.FPDFDOC_ExitFormFillEnvironment(handle)


class FormReader:
    """Values of form fields and free-text annotations, which PDFium's text of a page lacks.

    Only what a reader of the page sees: no hidden fields, passwords, buttons or pop-up notes, and nothing
    that the page itself shows at the same place. JavaScript is never run: this PDFium is built without it.
    """

    def __init__(self, handle: native.FPDF_FORMHANDLE | None) -> None:
        self._handle = handle
        self._fields_left = MAX_FIELDS if handle else 0

    def add_fields(
        self, page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, lines: list[Line], number: int
    ) -> list[Line]:
        """The lines of a page with those of its fields, each at its place."""
        found: list[Line] = []
        bounds = page.get_bbox()
        annotations = native.FPDFPage_GetAnnotCount(page)
        if annotations > MAX_FIELDS:
            self._fields_left = 0
        for n in range(annotations):
            annotation = native.FPDFPage_GetAnnot(page, n)
            if not annotation:
                continue
            box = visible_box(annotation, bounds)
            name, value = self._value(annotation) if box else ("", "")
            native.FPDFPage_CloseAnnot(annotation)
            if box and value and value not in text_within(text_page, box):
                text = f"{name}: {value}" if name else value
                found.append(Line(text, number, box.left, box.right, box.top, box.bottom))
        return insert_fields(found, lines) if found else lines

    def _value(self, annotation: Annotation) -> tuple[str, str]:
        subtype = native.FPDFAnnot_GetSubtype(annotation)
        if subtype == native.FPDF_ANNOT_FREETEXT:
            return "", read_string(partial(native.FPDFAnnot_GetStringValue, annotation, b"Contents"))
        if subtype != native.FPDF_ANNOT_WIDGET or self._fields_left <= 0:
            return "", ""
        self._fields_left -= 1
        return field_value(self._handle, annotation)


def visible_box(annotation: Annotation, bounds: tuple[float, float, float, float]) -> native.FS_RECTF | None:
    """The rectangle of an annotation; None if it is not visible on the page."""
    box = native.FS_RECTF()
    if native.FPDFAnnot_GetFlags(annotation) & UNSEEN or not native.FPDFAnnot_GetRect(annotation, box):
        return None
    left, bottom, right, top = bounds
    across = max(box.left, left) < min(box.right, right)
    return box if across and max(box.bottom, bottom) < min(box.top, top) else None


def text_within(text_page: pdfium.PdfTextPage, box: native.FS_RECTF) -> str:
    edges = (box.left - MARGIN, box.bottom - MARGIN, box.right + MARGIN, box.top + MARGIN)
    return " ".join(text_page.get_text_bounded(*edges).split())


def field_value(form: native.FPDF_FORMHANDLE, annotation: Annotation) -> tuple[str, str]:
    """(name, value) of a form field; empty if it shows none."""
    kind = native.FPDFAnnot_GetFormFieldType(form, annotation)
    value = ""
    if kind in CHECK_FIELDS:
        # The appearance that is shown: PDFium knows what is checked only on a page prepared for display.
        state = read_string(partial(native.FPDFAnnot_GetStringValue, annotation, b"AS"))
        value = "" if state == "Off" else state
    elif kind in TEXT_FIELDS and not native.FPDFAnnot_GetFormFieldFlags(form, annotation) & PASSWORD:
        value = selected_options(form, annotation) if kind != native.FPDF_FORMFIELD_TEXTFIELD else ""
        value = value or read_string(partial(native.FPDFAnnot_GetFormFieldValue, form, annotation))
    if not value:
        return "", ""
    label = read_string(partial(native.FPDFAnnot_GetFormFieldAlternateName, form, annotation))
    return label or read_string(partial(native.FPDFAnnot_GetFormFieldName, form, annotation)), value


def selected_options(form: native.FPDF_FORMHANDLE, annotation: Annotation) -> str:
    options = native.FPDFAnnot_GetOptionCount(form, annotation)
    return ", ".join(
        read_string(partial(native.FPDFAnnot_GetOptionLabel, form, annotation, n))
        for n in range(options if options <= MAX_OPTIONS else 0)
        if native.FPDFAnnot_IsOptionSelected(form, annotation, n)
    )


def read_string(read: Callable[..., int]) -> str:
    """A string that a PDFium function writes into a buffer, on one line."""
    size = min(read(None, 0), 2 * MAX_VALUE_CHARS)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    if read(ctypes.cast(buffer, ctypes.POINTER(native.FPDF_WCHAR)), size) > size:
        return ""
    return " ".join(buffer.raw[:-2].decode("utf-16-le", "replace").split())


def insert_fields(fields: Sequence[Line], lines: Sequence[Line]) -> list[Line]:
    """The lines of a page with those of fields, each after what is to the left of it, else after what is
    above."""
    style = body_style(lines)
    after: defaultdict[int, list[Line]] = defaultdict(list)
    for field in fields:
        middle = (field.top + field.bottom) / 2
        beside = [
            n for n, line in enumerate(lines) if line.bottom <= middle <= line.top and line.left <= field.left
        ]
        above = [n for n, line in enumerate(lines) if line.bottom >= middle]
        if beside:
            at = max(beside, key=lambda n: lines[n].left)
        else:
            at = min(above, key=lambda n: lines[n].bottom, default=-1)
        after[at].append(replace(field, style=style))
    merged = [*after[-1]]
    for n, line in enumerate(lines):
        merged += [line, *after[n]]
    return merged


def outline(pdf: pdfium.PdfDocument) -> list[Bookmark]:
    found = []
    for entry in islice(pdf.get_toc(max_depth=6), MAX_BOOKMARKS):
        target = entry.get_dest()
        page = target.get_index() if target else None
        title = " ".join(entry.get_title().split())
        if page is not None and title:
            found.append(Bookmark(title, entry.level, page + 1))
    return found


def page_labels(pdf: pdfium.PdfDocument) -> dict[int, str]:
    """The labels that the file gives its pages, by physical page."""
    found = {n: " ".join(pdf.get_page_label(n - 1).split())[:LABEL_CHARS] for n in range(1, len(pdf) + 1)}
    return {n: text for n, text in found.items() if text}


def picture_pages(pdf: pdfium.PdfDocument, lines: Sequence[Line]) -> tuple[int, int]:
    """(pages that show something but have no text, pages that are images with a few words)."""
    words: Counter[int] = Counter()
    for line in lines:
        words[line.page] += len(line.text.split())
    textless = few = 0
    for number in range(1, len(pdf) + 1):
        if words[number] < FEW_WORDS:
            with suppress(pdfium.PdfiumError):
                page = pdf[number - 1]
                if words[number]:
                    few += image_share(page) >= IMAGE_SHARE
                else:
                    textless += native.FPDFPage_CountObjects(page) > 0
                page.close()
    return textless, few


def image_share(page: pdfium.PdfPage) -> float:
    """The share of a page that its images cover; those that overlap count twice."""
    images = page.get_objects([native.FPDF_PAGEOBJ_IMAGE], max_depth=1)
    boxes = (image.get_bounds() for image in islice(images, MAX_OBJECTS))
    area = sum(abs((right - left) * (top - bottom)) for left, bottom, right, top in boxes)
    width, height = page.get_size()
    return float(area / max(1.0, width * height))


def metadata_title(pdf: pdfium.PdfDocument) -> str:
    return " ".join(str(pdf.get_metadata_value("Title")).replace("\x00", " ").split())
