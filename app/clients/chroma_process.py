"""The embedded Chroma in a process of its own (`child.py`), on a folder of ours.

The vendor holds Python's lock for whole calls. A child that dies loses the calls under way; the next call
starts another. One that cannot use its folder, or twice within SUSPECT_SECONDS fails of itself, is followed
by one that moves the folder aside and begins an empty one. Raises `Lost`. Seconds.
"""

import asyncio
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog

from app.child import INTERNAL
from app.clients.collection import BROKEN, Answer, Lost, Matrix, packed, unpacked
from app.clients.embedded import UNFILLED
from app.domain.errors import Overloaded
from app.process import Child, ChildProcess, Died, Fault, Full, NotStarted, Program, python

PROGRAM = Program("chroma", python("app.clients.child"), calls=72)
ANSWER_SECONDS = 60.0
"""What a call may take; a child that takes longer hangs, and is killed."""
SUSPECT_SECONDS = 60.0
SUSPICIONS = 2
"""Failures of the child's own within SUSPECT_SECONDS that damn its folder: the record has all of it."""
CRASHES = frozenset(
    -number for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
)
"""Exit codes of a process that stumbled over its data; SIGKILL is somebody else's doing."""

log = structlog.get_logger(__name__)


class Damaged(Lost):
    """Whoever only looks found a folder that cannot be used."""


class ChromaProcess:
    """Keeps `collection.Vendor`."""

    def __init__(self, folder: Path, *, look: bool = False, program: Program = PROGRAM) -> None:
        self._folder = folder
        self._look = look
        """Nothing is moved or tidied: a folder that cannot be used is only told."""
        self._program = program
        self._last: Child | None = None
        self._failures: list[float] = []
        self.process = ChildProcess(self._start)
        self.renewals = 0

    async def ask(
        self, do: str, of: str = "", arguments: Mapping[str, Any] | None = None, matrix: Matrix | None = None
    ) -> Answer:
        """One call of the child."""
        shape, data = packed(matrix)
        asked = {"of": of, "with": arguments or {}, **shape}
        with lost():
            reply = await self.process.call(do, asked, data, hangs_after=ANSWER_SECONDS)
        return unpacked(reply.payload, reply.data)

    async def renew(self) -> None:
        """An empty folder, so that what was deleted is in no file: the record gives back all the rest."""
        with lost():
            await self.process.restart(lambda: asyncio.to_thread(self._clear))

    def filled(self) -> None:
        """The folder has all that the record has. Where that cannot be noted it is filled again."""
        with suppress(OSError):
            (self._folder / UNFILLED).unlink()

    async def close(self) -> None:
        """End the child in order, or else at once."""
        await self.process.close()

    def _clear(self) -> None:
        """Remove the folder, and what was moved aside."""
        for folder in (self._folder, *self._folder.parent.glob(f"{self._folder.name}.broken-*")):
            shutil.rmtree(folder, ignore_errors=True)

    async def _start(self) -> Child:
        """A child that serves the folder; what it cannot use goes aside, once."""
        await self._suspect()
        try:
            child = await self._begin(aside=len(self._failures) >= SUSPICIONS and not self._look)
        except NotStarted as error:
            if error.code not in {BROKEN, *CRASHES}:
                raise
            if self._look:
                raise Damaged("its files are damaged") from error
            log.error("chroma's folder cannot be used; it is moved aside and filled anew from postgres")
            child = await self._begin(aside=True)
        self._last = child
        self.renewals += child.hello["anew"]
        return child

    async def _begin(self, *, aside: bool) -> Child:
        """One child."""
        if aside:
            self._failures.clear()
        mode = [*["aside"] * aside, *["look"] * self._look]
        return await Child.start(self._program, str(self._folder.absolute()), *mode)

    async def _suspect(self) -> None:
        """Note whether the last child failed of its own."""
        now = time.monotonic()
        self._failures = [at for at in self._failures if now - at < SUSPECT_SECONDS]
        if self._last is not None and await self._last.exited() in {INTERNAL, *CRASHES}:
            self._failures.append(now)
        self._last = None


@contextmanager
def lost() -> Iterator[None]:
    """A call's faults. That a child died says nothing of the next."""
    try:
        yield
    except Fault as fault:
        raise Lost(fault.payload["error"], down=fault.payload["down"]) from None
    except Full as error:
        raise Overloaded(str(error)) from error
    except NotStarted as error:
        raise Lost(str(error)) from error
    except Died as error:
        raise Lost(str(error), down=True if error.hung else None) from error
