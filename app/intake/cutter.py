"""The service's side of cutting source files: one worker process a request, under limits (`sandbox.py`).

Raises `InvalidField`, `Overloaded`.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace

import structlog

from app.domain.code import CodeFile, CutFile
from app.domain.errors import InvalidField, Overloaded
from app.intake import sandbox
from app.intake.code import PLAIN
from app.intake.wire import CodeRequest, ask, heard_files

log = structlog.get_logger(__name__)

AT_ONCE = 2
"""Workers: they compute all the time."""
TURN_SECONDS = 60.0
"""For which a request waits for its turn."""
RUN_SECONDS = 120.0
"""Of a worker. A request of 2 MiB takes four on an idle machine."""
MEMORY_MB = 768
"""MiB of address space of a worker. A megabyte of code takes half of it."""
DEATHS = 3
"""Workers lost to one request; then all that is left is cut by lines."""
AGAIN = 5
REFUSED = "takes too much time or memory to cut"


class CodeCutter:
    """Keeps `domain/code.Cutter`: one worker process a call (`sandbox.py`), two at once.

    A file at which a worker dies (too much time or memory, a crash of the parser) is cut by lines in the next
    one; the others are cut as ever.
    """

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

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
            made = await attempt(files[len(found) :], plain)
            found += made
            if len(found) < len(files):
                if plain and not made:
                    raise InvalidField(f"{files[len(found)].path} {REFUSED}", field="body.files")
                deaths += 1
                plain = 1 if deaths < DEATHS else len(files)
        return found


async def attempt(files: Sequence[CodeFile], plain: int) -> Sequence[CutFile]:
    """The files, the first `plain` of them by lines; only so many as a worker had cut when it died."""
    request = CodeRequest(os.getpid(), files, plain, MEMORY_MB, RUN_SECONDS)
    ended = await sandbox.run(await asyncio.to_thread(ask, request), RUN_SECONDS)
    if ended.code != 0:
        log.warning("code_worker_failed", code=ended.code, stderr=ended.errors)
    made = await asyncio.to_thread(heard_files, ended.output)
    if made is None:
        raise Overloaded("the worker that cuts code did not start", retry_after=AGAIN)
    return [replace(file, note=PLAIN) if n < plain else file for n, file in enumerate(made[: len(files)])]
