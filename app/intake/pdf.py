"""The service's side of reading PDFs: one worker process a document, under limits (`worker.py`).

A hostile file can take the time and memory of its worker, no more: the deadline and every cancellation
kill the worker's process group, the kernel ends it with the service, and nothing is shared with it.
Raises `EmptyFile`, `NotPdf`, `PdfEncrypted`, `PdfDamaged`, `PdfTextless`, `PdfTooComplex`.
"""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import structlog

from app.config import DocumentLimits
from app.domain.document import Parsed
from app.domain.errors import BadInput, EmptyFile, NotPdf, PdfDamaged, PdfTooComplex
from app.intake.wire import Request, ask, heard

log = structlog.get_logger(__name__)

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-P", "-s", "-m", "app.intake.worker")
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "LANG": "C.UTF-8"}
"""All of the worker's: no setting, no key."""

HEAD = 1024
"""Bytes within which `%PDF-` must stand, as readers have always taken it (PDF 32000-1, annex H.3)."""
MAX_OUTPUT = 128 << 20
"""Bytes a worker may say: more than the most text it takes comes to (`reader.MAX_CHARS`)."""
TAIL = 500
"""Bytes of the end of stderr that are logged."""


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
        async with worker(file) as process:
            try:
                async with asyncio.timeout(limits.timeout_seconds):
                    output, errors = await converse(process, ask(request))
            except TimeoutError:
                raise PdfTooComplex(f"Reading it takes more than {limits.timeout_seconds:g} s") from None
        if process.returncode:
            log.warning(
                "pdf_worker_failed", code=process.returncode, stderr=errors.decode("utf-8", "replace")
            )
            raise crash(process.returncode, limits.memory_mb)
        return output


def check(file: BinaryIO) -> None:
    """Refuse what is no PDF by its first bytes."""
    head = file.read(HEAD)
    if not head:
        raise EmptyFile("The file has no bytes")
    if b"%PDF-" not in head:
        raise NotPdf(f"No %PDF- within its first {HEAD:,} bytes")


@asynccontextmanager
async def worker(file: BinaryIO) -> AsyncIterator[Process]:
    """A worker in a session of its own that inherits `file`; at the end it is dead, its pipes closed."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=ENVIRONMENT,
        cwd="/",
        start_new_session=True,
        pass_fds=(file.fileno(),),
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        # What is left in the pipes has to be read, or their transports stay open.
        await process.communicate()


async def converse(process: Process, request: bytes) -> tuple[bytes, bytes]:
    """Ask and listen to the end: (stdout, end of stderr)."""
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if not (stdin and stdout and stderr):
        raise RuntimeError("a worker is started with pipes")
    stdin.write(request)
    with suppress(BrokenPipeError, ConnectionResetError):
        await stdin.drain()
    stdin.close()
    output, errors = await asyncio.gather(taken(stdout), tail(stderr))
    await process.wait()
    return output, errors


async def taken(stream: asyncio.StreamReader) -> bytes:
    """All that is said. What is more than a worker may say is not kept, and so has no end (`wire.py`)."""
    parts, size = [], 0
    while part := await stream.read(1 << 18):
        size += len(part)
        if size <= MAX_OUTPUT:
            parts.append(part)
    return b"".join(parts)


async def tail(stream: asyncio.StreamReader) -> bytes:
    """The end of a stream."""
    end = b""
    while part := await stream.read(1 << 16):
        end = (end + part)[-TAIL:]
    return end


def crash(code: int, memory_mb: int) -> BadInput:
    """The problem of a worker that died. PDFium aborts when it gets no memory; what else it dies of is
    a structure it cannot read."""
    if code in {-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL, -signal.SIGKILL}:
        return PdfTooComplex(f"Reading it takes more than {memory_mb:,} MiB of memory")
    if code in {-signal.SIGXCPU, -signal.SIGALRM}:
        return PdfTooComplex("Reading it takes more time than a worker is given")
    return PdfDamaged("Its structure cannot be read: the reader crashed on it")
