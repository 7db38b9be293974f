"""What a worker says to the service: JSON lines, first what was found, then a line a chunk, then an end.

The service trusts nothing of it: a stream without its end counts for nothing, and what is not of this
form is damage. Raises the problem that the worker names.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from app.domain.document import Chunk, Parsed
from app.domain.errors import (
    BadInput,
    IbidError,
    NotPdf,
    PdfDamaged,
    PdfEncrypted,
    PdfTextless,
    PdfTooComplex,
)

FAULTS: dict[str, type[BadInput]] = {
    fault.slug: fault for fault in (NotPdf, PdfDamaged, PdfEncrypted, PdfTextless, PdfTooComplex)
}


@dataclass(frozen=True, slots=True)
class Request:
    """What a worker is told, as one line of JSON."""

    parent: int
    """Process id of the service; without it the worker ends."""
    path: str
    filename: str
    max_pages: int
    memory_mb: int
    """MiB of address space, the 120 of Python, PDFium and the vocabulary included."""
    seconds: float


def asked(line: bytes) -> Request:
    """The request of a line."""
    return Request(**json.loads(line))


def ask(request: Request) -> bytes:
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
            raise FAULTS[head["fault"]](str(head["detail"]))
        *chunks, end = rows
        if end != {"end": len(chunks)}:
            raise ValueError
        return Parsed(int(head["pages"]), str(head["title"]), tuple(Chunk(**chunk) for chunk in chunks))
    except (ValueError, TypeError, KeyError):
        raise PdfDamaged("The worker that read it said nothing that can be understood") from None
