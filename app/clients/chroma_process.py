"""The embedded Chroma in a child process (`chroma_child.py`), since the vendor holds the GIL for whole calls.

When the child dies, calls in flight are lost and the next call starts another. If it cannot open its folder,
or keeps crashing or hanging (`process.CrashBlame`), the next child moves the folder aside and begins an empty
one. Raises `ChromaFault`, `Overloaded`. Times are seconds.
"""

import asyncio
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog

from app.child import INTERNAL
from app.clients.chroma_child import UNFILLED
from app.clients.chroma_client import BROKEN, Answer, ChromaFault, Matrix, packed, unpacked
from app.errors import Overloaded
from app.process import (
    CRASHES,
    Child,
    ChildProcess,
    CrashBlame,
    Died,
    Fault,
    Full,
    NotStarted,
    Program,
    python,
)

PROGRAM = Program("chroma", python("app.clients.chroma_child"), calls=72, start_seconds=600.0)
"""A large folder on a slow disk takes long to open. A starting service does not wait for all of it."""
ANSWER_SECONDS = 60.0
"""A child that takes longer for a call counts as hung and is killed."""

log = structlog.get_logger(__name__)


class Damaged(ChromaFault):
    """The folder cannot be used, and `read_only` forbids to replace it."""


class ChromaProcess:
    def __init__(self, folder: Path, *, read_only: bool = False, program: Program = PROGRAM) -> None:
        self._folder = folder
        self._read_only = read_only
        """Change nothing in the folder; damage raises `Damaged`."""
        self._program = program
        self._last: Child | None = None
        self._blame = CrashBlame({INTERNAL, *CRASHES})
        self.process = ChildProcess(self._start)
        self.renewals = 0

    async def ask(
        self, do: str, of: str = "", arguments: Mapping[str, Any] | None = None, matrix: Matrix | None = None
    ) -> Answer:
        """Call the child; see `chroma_client.perform`."""
        shape, data = packed(matrix)
        asked = {"of": of, "with": arguments or {}, **shape}
        with translated():
            reply = await self.process.call(do, asked, data, hangs_after=ANSWER_SECONDS)
        return unpacked(reply.payload, reply.data)

    async def renew(self) -> None:
        """Begin an empty folder, so that no file holds deleted vectors; it is refilled from Postgres."""
        with translated():
            await self.process.restart(lambda: asyncio.to_thread(self._clear))

    def filled(self) -> None:
        """Note that the folder is complete. If that cannot be noted, it will be filled once more."""
        with suppress(OSError):
            (self._folder / UNFILLED).unlink()

    async def close(self) -> None:
        await self.process.close()

    def _clear(self) -> None:
        """Remove the folder, and folders moved aside."""
        for folder in (self._folder, *self._folder.parent.glob(f"{self._folder.name}.broken-*")):
            shutil.rmtree(folder, ignore_errors=True)

    async def _start(self) -> Child:
        """Start a child; a folder that it cannot use is moved aside, once."""
        last, self._last = self._last, None
        await self._blame.note(last, str(self._folder))
        try:
            child = await self._begin(aside=bool(self._blame.suspects()) and not self._read_only)
        except NotStarted as error:
            if error.code not in {BROKEN, *CRASHES}:
                raise
            if self._read_only:
                raise Damaged("its files are damaged") from error
            log.error("chroma's folder cannot be used; it is moved aside and filled anew from postgres")
            child = await self._begin(aside=True)
        self._last = child
        self.renewals += child.hello["anew"]
        return child

    async def _begin(self, *, aside: bool) -> Child:
        if aside:
            self._blame.forget()
        mode = [*["aside"] * aside, *["read-only"] * self._read_only]
        return await Child.start(self._program, str(self._folder.absolute()), *mode)


@contextmanager
def translated() -> Iterator[None]:
    """Translate errors. A child that died says nothing about the next (`down` is None)."""
    try:
        yield
    except Fault as fault:
        raise ChromaFault(fault.payload["error"], down=fault.payload["down"]) from None
    except Full as error:
        raise Overloaded(str(error)) from error
    except NotStarted as error:
        raise ChromaFault(str(error)) from error
    except Died as error:
        raise ChromaFault(str(error), down=True if error.hung else None) from error
