"""A PDF's lines, outline and title, by PDFium. Runs in the worker process only: PDFium is native code
and not thread-safe, and its files come from anyone.

Raises `PdfEncrypted`, `PdfDamaged`, `PdfUnreadable`, and `PdfTooComplex` for more pages or text than are
taken.
"""

import ctypes
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeAlias

import pypdfium2 as pdfium
import pypdfium2.raw as native

from app.errors import IbidError, PdfDamaged, PdfEncrypted, PdfTooComplex, PdfUnreadable
from app.intake.forms import Form, form_of
from app.intake.line import Bookmark, Line, Style
from app.intake.noise import is_noise

MAX_CHARS = 20_000_000
"""Characters of one document: some 6,000 full pages."""
MAX_BOOKMARKS = 10_000

BOLD = re.compile(r"bold|black|heavy|demi|medium|medi$|(?:cm|sf|ec)bx", re.IGNORECASE)
"""Names of bold faces, TeX's included. The weight in the file is derived from stems and says little."""
WORD = re.compile(r"\S+")
Word: TypeAlias = tuple[str, int]
"""A word and its place in PDFium's text of the page."""
TALL, FALL = 1.6, 0.6
"""Times the size of its type: a line so high is several, a word so much lower and to the left begins one."""
ITALIC_FLAG, BOLD_FLAG = 1 << 6, 1 << 18
"""PDF 32000-1, table 123."""


@contextmanager
def opened(source: Path | BinaryIO, max_pages: int) -> Iterator[pdfium.PdfDocument]:
    """The document, closed at the end."""
    try:
        pdf = pdfium.PdfDocument(source)
    except pdfium.PdfiumError as error:
        raise refusal(error.err_code) from None
    try:
        if len(pdf) > max_pages:
            raise PdfTooComplex(f"{len(pdf):,} pages; at most {max_pages:,} are taken")
        if pdf.get_formtype() == native.FORMTYPE_XFA_FULL and len(pdf) == 1:
            raise PdfUnreadable("It is a dynamic XFA form: its one page asks the reader to wait for another")
        yield pdf
    finally:
        pdf.close()


def refusal(code: int | None) -> IbidError:
    """Our problem for PDFium's error code."""
    if code == native.FPDF_ERR_PASSWORD:
        return PdfEncrypted("It opens only with a password")
    if code == native.FPDF_ERR_SECURITY:
        return PdfEncrypted("It is protected by a scheme that cannot be opened here")
    return PdfDamaged("Its structure cannot be read")


def lines(pdf: pdfium.PdfDocument) -> list[Line]:
    """The lines of all pages. A page that cannot be read, or whose text is noise, is passed over; a document
    of which nothing else is left is refused."""
    found: list[Line] = []
    unread = chars = noise = 0
    with form_of(pdf) as form:
        for number in range(1, len(pdf) + 1):
            try:
                page = page_lines(pdf, number, form)
            except pdfium.PdfiumError:
                unread += 1
                continue
            if page is None:
                noise += 1
                continue
            found += page
            chars += sum(len(line.text) for line in page)
            if chars > MAX_CHARS:
                raise PdfTooComplex(f"More than {MAX_CHARS:,} characters of text by page {number:,}")
    if unread == len(pdf):
        raise PdfDamaged(f"{unread:,} pages, none of which can be read")
    if noise and not any(char.isalnum() for line in found for char in line.text):
        said = "1 page" if noise == 1 else f"{noise:,} pages"
        raise PdfUnreadable(
            f"{said} with text, none of which can be read: the fonts do not say which letters they show"
        )
    return found


def page_lines(pdf: pdfium.PdfDocument, number: int, form: Form) -> list[Line] | None:
    """The lines of one page that are not blank, those of its fields among them; None: its text is noise."""
    page = pdf[number - 1]
    text_page = page.get_textpage()
    whole = text_page.get_text_range()
    noise = is_noise(whole, lambda: unmapped(text_page))
    lines = form.filled(page, text_page, [] if noise else text_lines(text_page, whole, number), number)
    text_page.close()
    page.close()
    return None if noise and not lines else lines


def unmapped(text_page: pdfium.PdfTextPage) -> int:
    """Characters of a page that its fonts map to none: PDFium says the numbers of their glyphs."""
    chars = range(text_page.count_chars())
    return sum(native.FPDFText_HasUnicodeMapError(text_page, n) == 1 for n in chars)


def text_lines(text_page: pdfium.PdfTextPage, whole: str, number: int) -> list[Line]:
    """The lines of a page's text."""
    found: list[Line] = []
    start = 0
    for text in whole.split("\r\n"):
        words = [(word[0], start + units(text[: word.start()])) for word in WORD.finditer(text)]
        if words:
            found += seen(text_page, words, number)
        start += units(text) + 2
    return found


def units(text: str) -> int:
    """Its length as PDFium's indexes count: in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def seen(text_page: pdfium.PdfTextPage, words: list[Word], page: int) -> list[Line]:
    """The lines that are seen where PDFium says one: it joins close rows of tables."""
    line = placed(text_page, words, page)
    if line.top - line.bottom < TALL * line.style.size:
        return [line]
    rows, before = [[words[0]]], origin(text_page, words[0])
    for word in words[1:]:
        here = origin(text_page, word)
        if abs(here[1] - before[1]) > FALL * line.style.size and here[0] < before[0]:
            rows.append([])
        rows[-1].append(word)
        before = here
    return [placed(text_page, row, page) for row in rows]


def origin(text_page: pdfium.PdfTextPage, word: Word) -> tuple[float, float]:
    """Where on the page a word begins: left, base line."""
    left, base = ctypes.c_double(), ctypes.c_double()
    at = native.FPDFText_GetCharIndexFromTextIndex(text_page, word[1])
    native.FPDFText_GetCharOrigin(text_page, at, left, base)
    return left.value, base.value


def placed(text_page: pdfium.PdfTextPage, words: list[Word], page: int) -> Line:
    """The line of these words, its place and type read off its outer characters."""
    first, last = words[0][1], words[-1][1] + units(words[-1][0]) - 1
    start = native.FPDFText_GetCharIndexFromTextIndex(text_page, first)
    end = native.FPDFText_GetCharIndexFromTextIndex(text_page, last)
    begins, ends = box(text_page, start), box(text_page, end)
    bold, italic = map(all, zip(face(text_page, start), face(text_page, end), strict=True))
    size = max(begins.top - begins.bottom, ends.top - ends.bottom)
    return Line(
        text=" ".join(word for word, _ in words),
        page=page,
        left=min(begins.left, ends.left),
        right=max(begins.right, ends.right),
        top=max(begins.top, ends.top),
        bottom=min(begins.bottom, ends.bottom),
        style=Style(round(size * 2) / 2, bold, italic),
    )


def box(text_page: pdfium.PdfTextPage, index: int) -> native.FS_RECTF:
    """A character's box, as high as its type; all zero for one that is not on the page."""
    found = native.FS_RECTF()
    native.FPDFText_GetLooseCharBox(text_page, index, found)
    return found


def face(text_page: pdfium.PdfTextPage, index: int) -> tuple[bool, bool]:
    """(bold, italic) of a character."""
    flags, name = ctypes.c_int(), ctypes.create_string_buffer(128)
    native.FPDFText_GetFontInfo(text_page, index, name, 128, flags)
    return weighed(name.value, flags.value)


@cache
def weighed(name: bytes, flags: int) -> tuple[bool, bool]:
    """(bold, italic) of a font."""
    bold = bool(flags & BOLD_FLAG) or bool(BOLD.search(name.decode("latin-1")))
    return bold, bool(flags & ITALIC_FLAG)


def outline(pdf: pdfium.PdfDocument) -> list[Bookmark]:
    """The bookmarks that point to a page, in their order."""
    found = []
    for entry in islice(pdf.get_toc(max_depth=6), MAX_BOOKMARKS):
        target = entry.get_dest()
        page = target.get_index() if target else None
        title = " ".join(entry.get_title().split())
        if target and page is not None and title:
            found.append(Bookmark(title, entry.level, page + 1, top(*target.get_view())))
    return found


def top(mode: int, place: list[float]) -> float | None:
    """The height on the page that a destination names (PDF 32000-1, 12.3.2.2)."""
    at = {native.PDFDEST_VIEW_XYZ: 1, native.PDFDEST_VIEW_FITH: 0, native.PDFDEST_VIEW_FITR: 3}.get(mode)
    return place[at] if at is not None and at < len(place) and place[at] else None


def title(pdf: pdfium.PdfDocument) -> str:
    """The title that the file gives itself; "" where there is none."""
    return " ".join(str(pdf.get_metadata_value("Title")).replace("\x00", " ").split())
