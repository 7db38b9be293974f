"""What a worker says to the service: JSON lines. Of a PDF first what was found, then a line a chunk, then an
end; of source files first that it begins, then a line a file.

The service trusts nothing of it: a stream without its end counts for nothing, and what is not of this
form is damage. Raises the problem that the worker names.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.domain.code import CodeFile, Cut, CutFile
from app.domain.document import Chunk, Parsed
from app.domain.errors import (
    BadInput,
    IbidError,
    NotPdf,
    PdfDamaged,
    PdfEncrypted,
    PdfTextless,
    PdfTooComplex,
    PdfUnreadable,
)

DETAIL_CHARS = 1_000
"""Of a problem's detail: no more of it is kept."""
INTEGER_MAX = 2**31 - 1
"""The record's columns hold no larger number."""

FAULTS: dict[str, type[BadInput]] = {
    fault.slug: fault
    for fault in (NotPdf, PdfDamaged, PdfEncrypted, PdfTextless, PdfTooComplex, PdfUnreadable)
}


@dataclass(frozen=True, slots=True)
class Request:
    """What a worker is told of a PDF, as one line of JSON."""

    parent: int
    """Process id of the service; without it the worker ends."""
    file: int
    """The open PDF: a descriptor that the worker inherits, since it may not look into the folder."""
    filename: str
    max_pages: int
    memory_mb: int
    """MiB of address space, the 120 of Python, PDFium and the vocabulary included."""
    seconds: float


@dataclass(frozen=True, slots=True)
class CodeRequest:
    """What a worker is told of source files, as one line of JSON."""

    parent: int
    files: Sequence[CodeFile]
    plain: int
    """So many of the first are cut by lines, without looking at their syntax."""
    memory_mb: int
    seconds: float
    """For all of them."""


def asked(line: bytes) -> Request | CodeRequest:
    """The request of a line."""
    values = json.loads(line)
    if "files" in values:
        return CodeRequest(**values | {"files": [CodeFile(**file) for file in values["files"]]})
    return Request(**values)


def ask(request: Request | CodeRequest) -> bytes:
    """The line of a request."""
    return json.dumps(asdict(request)).encode() + b"\n"


def told(parsed: Parsed) -> Iterator[bytes]:
    """The lines of a result."""
    yield row({"pages": parsed.pages, "title": parsed.title})
    for chunk in parsed.chunks:
        yield row(asdict(chunk))
    yield row({"end": len(parsed.chunks)})


def fault(problem: IbidError) -> bytes:
    """The line of a refusal."""
    return row({"fault": problem.slug, "detail": problem.detail})


def row(value: dict[str, object]) -> bytes:
    """One line of JSON."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def heard(output: bytes) -> Parsed:
    """The result of a worker's output; raises the problem it names, `PdfDamaged` for anything unknown."""
    try:
        head, *rows = [json.loads(line) for line in output.splitlines()]
        if "fault" in head:
            raise FAULTS[head["fault"]](str(head["detail"])[:DETAIL_CHARS])
        *chunks, end = rows
        if end != {"end": len(chunks)}:
            raise ValueError
        return checked(Parsed(head["pages"], head["title"], tuple(Chunk(**chunk) for chunk in chunks)))
    except (ValueError, TypeError, KeyError, RecursionError):
        raise PdfDamaged("The worker that read it said nothing that can be understood") from None


def checked(parsed: Parsed) -> Parsed:
    """The same, if its values are of the kind and range they say. Raises `ValueError`."""
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


def begun(request: CodeRequest) -> bytes:
    """The line before the files: what goes wrong from here on is a file's fault."""
    return row({"begin": len(request.files)})


def told_file(file: CutFile) -> bytes:
    """The line of a file that was cut."""
    return row(asdict(file))


def heard_files(output: bytes) -> list[CutFile] | None:
    """The files that a worker has cut before it ended, or said what cannot be understood; None: it never
    began."""
    head, *lines = output.split(b"\n")
    if not head.startswith(b'{"begin"'):
        return None
    found: list[CutFile] = []
    for line in lines[:-1]:
        try:
            found.append(cut_file(json.loads(line)))
        except (ValueError, TypeError, KeyError, RecursionError):
            break
    return found


def cut_file(value: dict[str, Any]) -> CutFile:
    """A file, if its values are of the kind and range they say. `ValueError`, `TypeError`, `KeyError`."""
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
