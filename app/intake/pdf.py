"""The service's side of reading PDFs: one worker process a document, under limits (`sandbox.py`).

Raises `EmptyFile`, `NotPdf`, `PdfEncrypted`, `PdfDamaged`, `PdfTextless`, `PdfUnreadable`,
`PdfTooComplex`.
"""

import asyncio
import os
import signal
from pathlib import Path
from typing import BinaryIO

import structlog

from app.config import DocumentLimits
from app.domain.document import Parsed
from app.domain.errors import BadInput, EmptyFile, NotPdf, PdfDamaged, PdfTooComplex
from app.intake import sandbox
from app.intake.wire import Request, ask, heard

log = structlog.get_logger(__name__)

HEAD = 1024
"""Bytes within which `%PDF-` must stand, as readers have always taken it (PDF 32000-1, annex H.3)."""


class PdfParser:
    """Keeps ports.Parser. Has no state: as many at once as are called."""

    def __init__(self, limits: DocumentLimits) -> None:
        self.limits = limits

    async def parse(self, path: Path, filename: str) -> Parsed:
        """The document's chunks, cut in a worker process."""
        with await asyncio.to_thread(path.open, "rb") as file:
            await asyncio.to_thread(check, file)
            output = await self._read(file, filename)
        return await asyncio.to_thread(heard, output)

    async def _read(self, file: BinaryIO, filename: str) -> bytes:
        """What a worker says of an open file, to the end."""
        limits = self.limits
        request = Request(
            parent=os.getpid(),
            file=file.fileno(),
            filename=filename,
            max_pages=limits.max_pages,
            memory_mb=limits.memory_mb,
            seconds=limits.timeout_seconds,
        )
        ended = await sandbox.run(ask(request), limits.timeout_seconds, [file.fileno()])
        if ended.code is None:
            raise PdfTooComplex(f"Reading it takes more than {limits.timeout_seconds:g} s")
        if ended.code:
            log.warning("pdf_worker_failed", code=ended.code, stderr=ended.errors)
            raise crash(ended.code, limits.memory_mb)
        return ended.output


def check(file: BinaryIO) -> None:
    """Refuse what is no PDF by its first bytes."""
    head = file.read(HEAD)
    if not head:
        raise EmptyFile("The file has no bytes")
    if b"%PDF-" not in head:
        raise NotPdf(f"No %PDF- within its first {HEAD:,} bytes")


def crash(code: int, memory_mb: int) -> BadInput:
    """The problem of a worker that died. PDFium aborts when it gets no memory; what else it dies of is
    a structure it cannot read."""
    if code in {-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL, -signal.SIGKILL}:
        return PdfTooComplex(f"Reading it takes more than {memory_mb:,} MiB of memory")
    if code in {-signal.SIGXCPU, -signal.SIGALRM}:
        return PdfTooComplex("Reading it takes more time than a worker is given")
    return PdfDamaged("Its structure cannot be read: the reader crashed on it")
