"""PDF parsing in a child process per document (`worker.py`), under limits.

A hostile file can use up the time and memory of its worker, nothing else: the worker is killed at the
deadline and at cancellation, and the service checks the types and ranges of what it sends. Raises `NotPdf`,
`PdfEncrypted`, `PdfDamaged`, `PdfTextless`, `PdfUnreadable`, `PdfTooComplex`;
`Unavailable` if no process can be started.
"""

import asyncio
import signal
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import TypeAdapter, ValidationError

from app.db.documents import Told
from app.errors import (
    BadInput,
    NotPdf,
    PdfDamaged,
    PdfEncrypted,
    PdfTextless,
    PdfTooComplex,
    PdfUnreadable,
    Unavailable,
)
from app.process import ChildReply, Died, Fault, NotStarted, Program, python, started
from app.settings import DocumentLimits
from app.types import Chunk, ParsedDocument

MAX_OUTPUT = 128 << 20
"""Bytes a worker may send: more than the longest text it accepts (`reader.MAX_CHARS`)."""
RETRY_SECONDS = 5
WORKER = Program("pdf", python("app.ingest.worker"), close_seconds=0.0, output_bytes=MAX_OUTPUT)

DETAIL_CHARS = 1_000
"""Maximum characters of a problem's detail."""
INTEGER_MAX = 2**31 - 1
"""The maximum of the database's columns."""
PARSED = TypeAdapter(ParsedDocument)
UNREADABLE = "The worker that read it said nothing that can be understood"

PROBLEMS: dict[str, type[BadInput]] = {
    problem.slug: problem
    for problem in (NotPdf, PdfDamaged, PdfEncrypted, PdfTextless, PdfTooComplex, PdfUnreadable)
}
"""What a worker may raise."""


class PdfParser:
    """Has no state: any number of files may be parsed concurrently."""

    def __init__(self, limits: DocumentLimits, worker: Program = WORKER) -> None:
        self.limits = limits
        self._worker = worker

    async def parse(self, path: Path, filename: str, told: Told | None = None) -> ParsedDocument:
        with await asyncio.to_thread(path.open, "rb") as file:
            try:
                data = await self._call_unless_killed(file, filename, told)
            except Died as died:
                raise exit_problem(died.code, self.limits.memory_mb) from None
        return await asyncio.to_thread(decode, data)

    async def _call_unless_killed(
        self, file: BinaryIO, filename: str, told: Told | None
    ) -> bytes | bytearray:
        """Calls a second worker if the first is killed: the system may have needed its memory for others."""
        try:
            return await self._call_worker(file.fileno(), filename, told)
        except Died as died:
            if died.code != -signal.SIGKILL:
                raise
        await asyncio.to_thread(file.seek, 0)
        return await self._call_worker(file.fileno(), filename, told)

    async def _call_worker(self, file: int, filename: str, told: Told | None) -> bytes | bytearray:
        """The worker inherits the file's descriptor, since it may not be allowed to open the path."""
        limits = self.limits
        request = {
            "file": file,
            "filename": filename,
            "max_pages": limits.max_pages,
            "memory_mb": limits.memory_mb,
            "seconds": limits.timeout_seconds,
        }
        try:
            async with asyncio.timeout(limits.timeout_seconds), started(self._worker, files=[file]) as worker:
                return (await worker.call("parse", request, each=partial(progress, told))).data
        except TimeoutError:
            raise PdfTooComplex(f"Reading it takes more than {limits.timeout_seconds:g} s") from None
        except Fault as fault:
            raise decode_problem(fault.payload) from None
        except Died as died:
            if isinstance(died, NotStarted) and died.code is None:
                raise Unavailable(f"PDFs cannot be read: {died}", retry_after=RETRY_SECONDS) from died
            raise


def progress(told: Told | None, item: ChildReply) -> None:
    """Pass on what a worker says about its progress. Raises `ValueError` if it makes no sense."""
    done, of = item.payload.get("done"), item.payload.get("of")
    if not (isinstance(done, int) and isinstance(of, int) and 0 <= done <= of <= INTEGER_MAX):
        raise ValueError("no progress")
    if told:
        told(done, of)


def exit_problem(code: int | None, memory_mb: int) -> BadInput:
    """The problem for a worker's exit code; None: it broke the protocol. PDFium aborts when it gets no
    memory; other crashes come from a structure it cannot read."""
    if code in {-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL, -signal.SIGKILL}:
        return PdfTooComplex(f"Reading it takes more than {memory_mb:,} MiB of memory")
    if code in {-signal.SIGXCPU, -signal.SIGALRM}:
        return PdfTooComplex("Reading it takes more time than a worker is given")
    if code:
        return PdfDamaged("Its structure cannot be read: the reader crashed on it")
    return PdfDamaged(UNREADABLE)


def decode_problem(payload: Mapping[str, Any]) -> BadInput:
    problem = PROBLEMS.get(str(payload.get("fault")))
    return problem(str(payload.get("detail"))[:DETAIL_CHARS]) if problem else PdfDamaged(UNREADABLE)


def decode(data: bytes | bytearray) -> ParsedDocument:
    """A document as the worker encodes it. Raises `PdfDamaged` if a value has another type or range."""
    try:
        parsed = PARSED.validate_json(data, strict=True)
    except ValidationError:
        raise PdfDamaged(UNREADABLE) from None
    chunks = enumerate(parsed.chunks, 1)
    if 1 <= parsed.pages <= INTEGER_MAX and all(is_valid(chunk, n, parsed.pages) for n, chunk in chunks):
        return parsed
    raise PdfDamaged(UNREADABLE)


def is_valid(chunk: Chunk, ordinal: int, pages: int) -> bool:
    in_range = 0 <= chunk.tokens <= INTEGER_MAX and 1 <= chunk.page <= chunk.page_end <= pages
    return in_range and chunk.ordinal == ordinal
