"""The service's side of the worker process (`worker.py`): start one, send a request, collect what it says.

A hostile input can take the time and memory of its worker, no more: the deadline and every cancellation kill
the worker's process group, the kernel ends it with the service, and nothing is shared with it.
"""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-P", "-s", "-m", "app.intake.worker")
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "LANG": "C.UTF-8"}
"""All of the worker's: no setting, no key."""

MAX_OUTPUT = 128 << 20
"""Bytes a worker may say: more than the most text it takes comes to (`reader.MAX_CHARS`)."""
TAIL = 500
"""Bytes of the end of stderr that are logged."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a worker ended."""

    code: int | None
    """Its exit code, negative for a signal; None: it was killed at the deadline."""
    output: bytes
    """What it had said until then."""
    errors: str = ""
    """The end of its stderr."""


async def run(request: bytes, seconds: float, files: Sequence[int] = ()) -> Ended:
    """Start a worker that inherits these open files, send it the request and listen to its end."""
    output = bytearray()
    async with worker(files) as process:
        try:
            async with asyncio.timeout(seconds):
                errors = await converse(process, request, output)
        except TimeoutError:
            return Ended(None, bytes(output))
    return Ended(process.returncode, bytes(output), errors.decode("utf-8", "replace"))


@asynccontextmanager
async def worker(files: Sequence[int]) -> AsyncIterator[Process]:
    """A worker in a session of its own; at the end it is dead, its pipes closed."""
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env=ENVIRONMENT,
        cwd="/",
        start_new_session=True,
        pass_fds=files,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        # What is left in the pipes has to be read, or their transports stay open.
        await process.communicate()


async def converse(process: Process, request: bytes, output: bytearray) -> bytes:
    """Ask, and listen to the end; the end of stderr."""
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    if not (stdin and stdout and stderr):
        raise RuntimeError("a worker is started with pipes")
    _, _, errors = await asyncio.gather(sent(stdin, request), taken(stdout, output), tail(stderr))
    await process.wait()
    return errors


async def sent(stream: asyncio.StreamWriter, request: bytes) -> None:
    """The request, and no more. A worker that died does not read it."""
    stream.write(request)
    with suppress(BrokenPipeError, ConnectionResetError):
        await stream.drain()
    stream.close()


async def taken(stream: asyncio.StreamReader, output: bytearray) -> None:
    """All that is said. What is more than a worker may say is not kept, and so has no end (`wire.py`)."""
    size = 0
    while part := await stream.read(1 << 18):
        size += len(part)
        if size <= MAX_OUTPUT:
            output += part


async def tail(stream: asyncio.StreamReader) -> bytes:
    """The end of a stream."""
    end = b""
    while part := await stream.read(1 << 16):
        end = (end + part)[-TAIL:]
    return end
