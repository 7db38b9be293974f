"""What is written into a form's fields and in free-text annotations: PDFium's text of a page has neither.

As lines, each at the place of its field among the page's. Only what a reader of the page sees: no hidden
fields, passwords, buttons or pop-up notes, and nothing that the page's own text shows in the same place.
JavaScript is never run: this PDFium is built without it, and nobody asks it to.
"""

import ctypes
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

import pypdfium2 as pdfium
import pypdfium2.raw as native

from app.intake.emphasis import body_style
from app.intake.line import Line

UNSEEN = native.FPDF_ANNOT_FLAG_HIDDEN | native.FPDF_ANNOT_FLAG_NOVIEW
PASSWORD = 1 << 13
"""PDF 32000-1, table 228."""
WRITTEN = {native.FPDF_FORMFIELD_TEXTFIELD, native.FPDF_FORMFIELD_COMBOBOX, native.FPDF_FORMFIELD_LISTBOX}
TICKED = {native.FPDF_FORMFIELD_CHECKBOX, native.FPDF_FORMFIELD_RADIOBUTTON}
MAX_CHARS = 100_000
"""Maximum characters of one value; a longer one is skipped."""
MAX_OPTIONS = 1_000
"""Maximum options of a field for which option labels are read; beyond it the raw value is used."""
EDGE = 2.0
"""Points by which a text may stand out of its field."""

MAX_FIELDS = 5_000
"""Maximum fields read per document, because PDFium's time grows with the square of the number of fields. If
a page has more annotations, its fields and those of the pages after it are skipped."""

Annotation: TypeAlias = native.FPDF_ANNOTATION


@contextmanager
def form_of(pdf: pdfium.PdfDocument) -> Iterator["Form"]:
    """A document's form. Not pypdfium2's, which prepares all fields of a page to be shown: for minutes, if
    there are many."""
    config = native.FPDF_FORMFILLINFO(version=2)
    handle = native.FPDFDOC_InitFormFillEnvironment(pdf, config)
    try:
        yield Form(handle or None)
    finally:
        if handle:
            native.FPDFDOC_ExitFormFillEnvironment(handle)


class Form:
    """The fields and annotations of a document."""

    def __init__(self, handle: native.FPDF_FORMHANDLE | None) -> None:
        self._handle = handle
        self._left = MAX_FIELDS if handle else 0

    def filled(
        self, page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, lines: list[Line], number: int
    ) -> list[Line]:
        """The lines of a page with what is written into its fields and annotations."""
        found: list[Line] = []
        bounds = page.get_bbox()
        count = native.FPDFPage_GetAnnotCount(page)
        if count > MAX_FIELDS:
            self._left = 0
        for n in range(count):
            annotation = native.FPDFPage_GetAnnot(page, n)
            if not annotation:
                continue
            box = seen(annotation, bounds)
            name, value = self._said(annotation) if box else ("", "")
            native.FPDFPage_CloseAnnot(annotation)
            if box and value and value not in shown(text_page, box):
                said = f"{name}: {value}" if name else value
                found.append(Line(said, number, box.left, box.right, box.top, box.bottom))
        return placed(found, lines) if found else lines

    def _said(self, annotation: Annotation) -> tuple[str, str]:
        """(name, what is written) of an annotation; "": nothing that is seen."""
        subtype = native.FPDFAnnot_GetSubtype(annotation)
        if subtype == native.FPDF_ANNOT_FREETEXT:
            return "", string(partial(native.FPDFAnnot_GetStringValue, annotation, b"Contents"))
        if subtype != native.FPDF_ANNOT_WIDGET or self._left <= 0:
            return "", ""
        self._left -= 1
        return field(self._handle, annotation)


def seen(annotation: Annotation, bounds: tuple[float, float, float, float]) -> native.FS_RECTF | None:
    """Where an annotation is; None: nobody sees it on the page."""
    box = native.FS_RECTF()
    if native.FPDFAnnot_GetFlags(annotation) & UNSEEN or not native.FPDFAnnot_GetRect(annotation, box):
        return None
    left, bottom, right, top = bounds
    across = max(box.left, left) < min(box.right, right)
    return box if across and max(box.bottom, bottom) < min(box.top, top) else None


def shown(text_page: pdfium.PdfTextPage, box: native.FS_RECTF) -> str:
    """What the page itself says there."""
    edges = (box.left - EDGE, box.bottom - EDGE, box.right + EDGE, box.top + EDGE)
    return " ".join(text_page.get_text_bounded(*edges).split())


def field(form: native.FPDF_FORMHANDLE, annotation: Annotation) -> tuple[str, str]:
    """(name, value) of a field; "": it has none that is seen."""
    kind = native.FPDFAnnot_GetFormFieldType(form, annotation)
    value = ""
    if kind in TICKED:
        # The state that is shown. PDFium knows what is checked only of a page that is ready to be shown.
        state = string(partial(native.FPDFAnnot_GetStringValue, annotation, b"AS"))
        value = "" if state == "Off" else state
    elif kind in WRITTEN and not native.FPDFAnnot_GetFormFieldFlags(form, annotation) & PASSWORD:
        value = chosen(form, annotation) if kind != native.FPDF_FORMFIELD_TEXTFIELD else ""
        value = value or string(partial(native.FPDFAnnot_GetFormFieldValue, form, annotation))
    if not value:
        return "", ""
    label = string(partial(native.FPDFAnnot_GetFormFieldAlternateName, form, annotation))
    return label or string(partial(native.FPDFAnnot_GetFormFieldName, form, annotation)), value


def chosen(form: native.FPDF_FORMHANDLE, annotation: Annotation) -> str:
    """The options that are selected, as they are shown; of too many none."""
    options = native.FPDFAnnot_GetOptionCount(form, annotation)
    return ", ".join(
        string(partial(native.FPDFAnnot_GetOptionLabel, form, annotation, n))
        for n in range(options if options <= MAX_OPTIONS else 0)
        if native.FPDFAnnot_IsOptionSelected(form, annotation, n)
    )


def string(read: Callable[..., int]) -> str:
    """A text that PDFium writes into a buffer, on one line."""
    size = min(read(None, 0), 2 * MAX_CHARS)
    if size <= 2:
        return ""
    room = ctypes.create_string_buffer(size)
    if read(ctypes.cast(room, ctypes.POINTER(native.FPDF_WCHAR)), size) > size:
        return ""
    return " ".join(room.raw[:-2].decode("utf-16-le", "replace").split())


def placed(found: Sequence[Line], lines: Sequence[Line]) -> list[Line]:
    """The lines of a page with these: each behind what is to the left of it, else behind what is above."""
    style = body_style(lines)
    after: defaultdict[int, list[Line]] = defaultdict(list)
    for line in found:
        middle = (line.top + line.bottom) / 2
        beside = [
            n for n, each in enumerate(lines) if each.bottom <= middle <= each.top and each.left <= line.left
        ]
        above = [n for n, each in enumerate(lines) if each.bottom >= middle]
        if beside:
            at = max(beside, key=lambda n: lines[n].left)
        else:
            at = min(above, key=lambda n: lines[n].bottom, default=-1)
        after[at].append(Line(line.text, line.page, line.left, line.right, line.top, line.bottom, style))
    whole = [*after[-1]]
    for n, line in enumerate(lines):
        whole += [line, *after[n]]
    return whole
