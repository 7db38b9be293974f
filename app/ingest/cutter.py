"""Code chunking in a child process per request (`worker.py`), under limits, two at a time.

If a worker dies at a file (too much time or memory, a crash of the parser), that file is cut by lines in the
next worker; the others are cut by syntax as usual. Raises `InvalidField`, `Overloaded`. Apart from `code.py`,
so that the worker need not load what only the service uses.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from pydantic import TypeAdapter, ValidationError

from app.db.code import CodeFile, CutFile
from app.errors import InvalidField, Overloaded
from app.ingest.code import CUT_BY_LINES
from app.process import ChildReply, Died, Program, python, started

MAX_WORKERS = 2
"""Workers use a processor all the time."""
QUEUE_SECONDS = 60.0
"""How long a request waits for a worker."""
WORKER_SECONDS = 120.0
"""A request of 2 MiB takes four on an idle machine."""
MEMORY_MB = 768
"""MiB of address space of a worker. A megabyte of code takes half of it."""
MAX_OUTPUT = 128 << 20
MAX_DEATHS = 3
"""Workers that may die at a request; then all remaining files are cut by lines."""
RETRY_SECONDS = 5
REFUSED = "takes too much time or memory to cut"
CUT_FILE = TypeAdapter(CutFile)
WORKER = Program("code", python("app.ingest.worker"), close_seconds=0.0, output_bytes=MAX_OUTPUT)


class CodeCutter:
    def __init__(self, worker: Program = WORKER) -> None:
        self._slots = asyncio.Semaphore(MAX_WORKERS)
        self._worker = worker

    async def cut(self, files: Sequence[CodeFile]) -> Sequence[CutFile]:
        try:
            async with asyncio.timeout(QUEUE_SECONDS):
                await self._slots.acquire()
        except TimeoutError:
            raise Overloaded("other files are being cut", retry_after=RETRY_SECONDS) from None
        try:
            return await self._cut_all(files)
        finally:
            self._slots.release()

    async def _cut_all(self, files: Sequence[CodeFile]) -> Sequence[CutFile]:
        done: list[CutFile] = []
        plain = deaths = 0
        while len(done) < len(files):
            cut = await self._run_worker(files[len(done) :], plain)
            done += cut
            if len(done) < len(files):
                if plain and not cut:
                    raise InvalidField(f"{files[len(done)].path} {REFUSED}", field="body.files")
                deaths += 1
                plain = 1 if deaths < MAX_DEATHS else len(files)
        return done

    async def _run_worker(self, files: Sequence[CodeFile], plain: int) -> Sequence[CutFile]:
        """The files that one worker cut before it ended or died, the first `plain` of them by lines."""
        request = await asyncio.to_thread(lambda: json.dumps([asdict(file) for file in files]).encode())
        limits = {"plain": plain, "memory_mb": MEMORY_MB, "seconds": WORKER_SECONDS}
        items: list[ChildReply] = []
        try:
            async with asyncio.timeout(WORKER_SECONDS), started(self._worker) as worker:
                await worker.call("cut", limits, request, each=items.append)
        except (TimeoutError, Died):
            if (
                not items
            ):  # the first item says that the worker has started; later failures are a file's fault
                raise Overloaded(
                    "the worker that cuts code did not start", retry_after=RETRY_SECONDS
                ) from None
        cut = await asyncio.to_thread(decode_files, items[1:][: len(files)])
        return [replace(file, note=CUT_BY_LINES) if n < plain else file for n, file in enumerate(cut)]


def decode_files(items: Sequence[ChildReply]) -> list[CutFile]:
    """The files in a worker's items, up to the first malformed one."""
    files: list[CutFile] = []
    for item in items:
        try:
            files.append(CUT_FILE.validate_json(bytes(item.data), strict=True))
        except ValidationError:
            break
    return files
