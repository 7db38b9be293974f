"""PDF parsing in a child process per document (`worker.py`), under limits.

A hostile file can use up the time and memory of its worker, nothing else: the deadline and every cancellation
kill it, and its output is checked. Raises `EmptyFile`, `NotPdf`, `PdfEncrypted`, `PdfDamaged`, `PdfTextless`,
`PdfUnreadable`, `PdfTooComplex`; `Unavailable` where no process can be started.
"""

import asyncio
import signal
from pathlib import Path
from typing import BinaryIO

from app.db.documents import Parsed
from app.errors import BadInput, EmptyFile, NotPdf, PdfDamaged, PdfTooComplex, Unavailable
from app.intake.wire import heard, refusal
from app.process import Died, Fault, NotStarted, Program, Reply, python, started
from app.settings import DocumentLimits

HEAD = 1024
"""Bytes within which `%PDF-` must stand, as readers have always taken it (PDF 32000-1, annex H.3)."""
MAX_OUTPUT = 128 << 20
"""Bytes a worker may send: more than the longest text it accepts (`reader.MAX_CHARS`)."""
AGAIN = 5
WORKER = Program("pdf", python("app.intake.worker"), close_seconds=0.0, output_bytes=MAX_OUTPUT)


class PdfParser:
    """Keeps ports.Parser. Has no state: as many at once as are called."""

    def __init__(self, limits: DocumentLimits, worker: Program = WORKER) -> None:
        self.limits = limits
        self._worker = worker

    async def parse(self, path: Path, filename: str) -> Parsed:
        """The document's chunks, cut in a worker process."""
        with await asyncio.to_thread(path.open, "rb") as file:
            await asyncio.to_thread(check, file)
            reply = await self._read(file.fileno(), filename)
        return await asyncio.to_thread(heard, reply.data)

    async def _read(self, file: int, filename: str) -> Reply:
        """A worker's reply. It inherits the file's descriptor, since it may not be able to open the path."""
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
                return await worker.call("parse", request)
        except TimeoutError:
            raise PdfTooComplex(f"Reading it takes more than {limits.timeout_seconds:g} s") from None
        except Fault as fault:
            raise refusal(fault.payload) from None
        except Died as died:
            if isinstance(died, NotStarted) and died.code is None:
                raise Unavailable(f"PDFs cannot be read: {died}", retry_after=AGAIN) from died
            raise crash(died.code, limits.memory_mb) from None


def check(file: BinaryIO) -> None:
    """Refuse what is no PDF by its first bytes."""
    head = file.read(HEAD)
    if not head:
        raise EmptyFile("The file has no bytes")
    if b"%PDF-" not in head:
        raise NotPdf(f"No %PDF- within its first {HEAD:,} bytes")


def crash(code: int | None, memory_mb: int) -> BadInput:
    """The problem for a worker's exit code; None: it broke the protocol. PDFium aborts when it gets no
    memory; other crashes come from a structure it cannot read."""
    if code in {-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL, -signal.SIGKILL}:
        return PdfTooComplex(f"Reading it takes more than {memory_mb:,} MiB of memory")
    if code in {-signal.SIGXCPU, -signal.SIGALRM}:
        return PdfTooComplex("Reading it takes more time than a worker is given")
    if code:
        return PdfDamaged("Its structure cannot be read: the reader crashed on it")
    return PdfDamaged("The worker that read it said nothing that can be understood")
