"""Code chunking in a child process per request (`worker.py`), under limits, two at a time.

If a worker dies at a file (too much time or memory, a crash of the parser), that file is cut by lines in the
next worker; the others are cut by syntax as usual. Raises `InvalidField`, `Overloaded`.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from app.db.code import CodeFile, CutFile
from app.errors import InvalidField, Overloaded
from app.intake.code import PLAIN
from app.intake.wire import heard_files
from app.process import Died, Program, Reply, python, started

AT_ONCE = 2
"""Workers: they compute all the time."""
TURN_SECONDS = 60.0
"""For which a request waits for its turn."""
RUN_SECONDS = 120.0
"""Of a worker. A request of 2 MiB takes four on an idle machine."""
MEMORY_MB = 768
"""MiB of address space of a worker. A megabyte of code takes half of it."""
MAX_OUTPUT = 128 << 20
DEATHS = 3
"""Workers lost to one request; then all that is left is cut by lines."""
AGAIN = 5
REFUSED = "takes too much time or memory to cut"
WORKER = Program("code", python("app.intake.worker"), close_seconds=0.0, output_bytes=MAX_OUTPUT)


class CodeCutter:
    """Keeps `domain/code.Cutter`: one worker process a call, two at once."""

    def __init__(self, worker: Program = WORKER) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._worker = worker

    async def cut(self, files: Sequence[CodeFile]) -> Sequence[CutFile]:
        """See the protocol."""
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await self._turns.acquire()
        except TimeoutError:
            raise Overloaded("other files are being cut", retry_after=AGAIN) from None
        try:
            return await self._cut(files)
        finally:
            self._turns.release()

    async def _cut(self, files: Sequence[CodeFile]) -> Sequence[CutFile]:
        """As many workers as it takes."""
        found: list[CutFile] = []
        plain = deaths = 0
        while len(found) < len(files):
            made = await self._attempt(files[len(found) :], plain)
            found += made
            if len(found) < len(files):
                if plain and not made:
                    raise InvalidField(f"{files[len(found)].path} {REFUSED}", field="body.files")
                deaths += 1
                plain = 1 if deaths < DEATHS else len(files)
        return found

    async def _attempt(self, files: Sequence[CodeFile], plain: int) -> Sequence[CutFile]:
        """The files, the first `plain` of them by lines; only so many as a worker had cut when it died."""
        request = await asyncio.to_thread(lambda: json.dumps([asdict(file) for file in files]).encode())
        limits = {"plain": plain, "memory_mb": MEMORY_MB, "seconds": RUN_SECONDS}
        told: list[Reply] = []
        try:
            async with asyncio.timeout(RUN_SECONDS), started(self._worker) as worker:
                await worker.call("cut", limits, request, each=told.append)
        except (TimeoutError, Died):
            if not told:  # the first item says that it begins; a later failure is the fault of a file
                raise Overloaded("the worker that cuts code did not start", retry_after=AGAIN) from None
        made = await asyncio.to_thread(lambda: list(heard_files(each.data for each in told[1:])))
        return [replace(file, note=PLAIN) if n < plain else file for n, file in enumerate(made[: len(files)])]
