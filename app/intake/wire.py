"""Encoding of the worker's results (`worker.py`) as JSON lines, and validation on the service's side.

The service does not trust a worker: a value of another type or out of range makes the PDF damaged.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from app.db.code import Cut, CutFile
from app.db.documents import Chunk, Parsed
from app.errors import BadInput, NotPdf, PdfDamaged, PdfEncrypted, PdfTextless, PdfTooComplex, PdfUnreadable

DETAIL_CHARS = 1_000
"""Of a problem's detail: no more of it is kept."""
INTEGER_MAX = 2**31 - 1
"""The record's columns hold no larger number."""
UNREADABLE = "The worker that read it said nothing that can be understood"
BROKEN = (ValueError, TypeError, KeyError, RecursionError)
"""What malformed data raise."""

FAULTS: dict[str, type[BadInput]] = {
    fault.slug: fault
    for fault in (NotPdf, PdfDamaged, PdfEncrypted, PdfTextless, PdfTooComplex, PdfUnreadable)
}


def told(parsed: Parsed) -> bytes:
    """A PDF: pages and title, then a line a chunk."""
    rows = [{"pages": parsed.pages, "title": parsed.title}, *map(asdict, parsed.chunks)]
    return b"\n".join(map(line, rows))


def told_file(file: CutFile) -> bytes:
    """A source file."""
    return line(asdict(file))


def line(value: object) -> bytes:
    """JSON without a line's end."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def heard(data: bytes | bytearray) -> Parsed:
    """A PDF. Raises `PdfDamaged`."""
    try:
        head, *rows = [json.loads(each) for each in data.split(b"\n")]
        return checked(Parsed(head["pages"], head["title"], tuple(Chunk(**row) for row in rows)))
    except BROKEN:
        raise PdfDamaged(UNREADABLE) from None


def refusal(payload: Mapping[str, Any]) -> BadInput:
    """The problem that a FAULT payload names."""
    kind = FAULTS.get(str(payload.get("fault")))
    return kind(str(payload.get("detail"))[:DETAIL_CHARS]) if kind else PdfDamaged(UNREADABLE)


def checked(parsed: Parsed) -> Parsed:
    """Check types and ranges. Raises `ValueError`."""
    fits = is_number(parsed.pages, 1, INTEGER_MAX) and isinstance(parsed.title, str)
    for n, chunk in enumerate(parsed.chunks, 1):
        fits = fits and is_number(chunk.ordinal, n, n) and is_sound(chunk, parsed.pages)
    if not fits:
        raise ValueError
    return parsed


def is_sound(chunk: Chunk, pages: int) -> bool:
    """Whether a chunk has texts, a count of tokens, and pages of its document, in their order."""
    return (
        isinstance(chunk.text, str)
        and isinstance(chunk.heading, str)
        and is_number(chunk.tokens, 0, INTEGER_MAX)
        and is_number(chunk.page, 1, pages)
        and is_number(chunk.page_end, chunk.page, pages)
    )


def is_number(value: object, least: int, most: int) -> bool:
    """Whether it is a whole number within these; `true` is none."""
    return type(value) is int and least <= value <= most


def heard_files(files: Iterator[bytes | bytearray]) -> Iterator[CutFile]:
    """Source files, up to the first malformed one."""
    for data in files:
        try:
            yield cut_file(json.loads(data))
        except BROKEN:
            return


def cut_file(value: dict[str, Any]) -> CutFile:
    """A file, its types and ranges checked. Raises `BROKEN`."""
    cuts = tuple(Cut(**cut) for cut in value["cuts"])
    fits = isinstance(value["language"], str) and isinstance(value["note"], str)
    for cut in cuts:
        texts = (cut.function_name, cut.class_name, cut.signature, cut.heading)
        fits = fits and isinstance(cut.text, str) and all(isinstance(text, str | None) for text in texts)
        fits = fits and is_number(cut.start_line, 1, INTEGER_MAX)
        fits = fits and is_number(cut.end_line, cut.start_line, INTEGER_MAX)
    if not fits:
        raise ValueError
    return CutFile(value["language"], cuts, value["note"])
