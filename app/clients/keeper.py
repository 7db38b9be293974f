"""The parent of the embedded Chroma's child process (`child.py`): started, spoken to, started anew, ended.

Everything here blocks and is called in threads. A call goes out as a frame and waits for the frame of its
number, so several are under way at once. A child that dies loses those; the next call starts another. One
that cannot use its folder, or twice within SUSPECT_SECONDS fails of itself, is followed by one that moves
the folder aside and begins an empty one. Raises `Lost`. Seconds.
"""

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import structlog

from app.clients.collection import Lost, VendorCollection
from app.clients.embedded import UNFILLED
from app.clients.frame import BROKEN, INTERNAL, Matrix, Message
from app.clients.link import CRASHES, Link

START_SECONDS = 60.0
"""Until a child answers: a second, and what it takes to read a large index."""
PATIENCE_SECONDS = 4.0
"""Until a call gives up on a child that another starts: its reader has by then, and its thread is needed."""
ANSWER_SECONDS = 60.0
"""What a call may take; a child that takes longer hangs, and is killed."""
SUSPECT_SECONDS = 60.0
SUSPICIONS = 2
"""Failures of the child's own within SUSPECT_SECONDS that damn its folder: the record has all of it."""

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


class Damaged(Lost):
    """Whoever only looks found a folder that cannot be used."""


class Keeper:
    """Keeps `collection.Vendor` for a folder of ours."""

    def __init__(self, folder: Path, *, look: bool = False) -> None:
        self._folder = folder
        self._look = look
        """Nothing is moved or tidied: a folder that cannot be used is only told."""
        self._starting = threading.Lock()
        self._link: Link | None = None
        self._closed = False
        self._failures: list[float] = []
        self.renewals = 0

    def start(self) -> Link:
        """The child, a new one if there is none. One that another call starts is not waited for for long."""
        if not self._starting.acquire(timeout=PATIENCE_SECONDS):
            raise Lost("it is being started", down=None)
        try:
            link = self._link
            if link is None or link.ended:
                if link is not None:
                    log.warning("chroma's process ended; starting another", code=link.code)
                    self._suspect(link)
                link = self._started()
            return link
        finally:
            self._starting.release()

    def _suspect(self, link: Link) -> None:
        """Note a failure of the child's own."""
        now = time.monotonic()
        self._failures = [at for at in self._failures if now - at < SUSPECT_SECONDS]
        if link.code in {INTERNAL, *CRASHES}:
            self._failures.append(now)

    def _started(self) -> Link:
        """A child that serves the folder; what it cannot use goes aside, once."""
        link = self._try(aside=len(self._failures) >= SUSPICIONS and not self._look)
        if link.code in {BROKEN, *CRASHES}:
            if self._look:
                raise Damaged("its files are damaged")
            log.error("chroma's folder cannot be used; it is moved aside and filled anew from postgres")
            link = self._try(aside=True)
        if link.ended:
            raise Lost(link.refusal)
        self.renewals += link.anew
        return link

    def _try(self, *, aside: bool) -> Link:
        """A child that has said its first word, or ended."""
        if self._closed:
            raise Lost("closed", down=None)
        link = self._link = Link(self._folder, aside=aside, look=self._look)
        if aside:
            self._failures.clear()
        if self._closed:  # between the two lines above
            link.kill()
        link.wait(START_SECONDS)
        return link

    def renew(self) -> None:
        """An empty folder, so that what was deleted is in no file: the record gives back all the rest. Calls
        under way are lost."""
        if not self._starting.acquire(timeout=PATIENCE_SECONDS):
            raise Lost("it is being started", down=None)
        try:
            if self._link is not None:
                self._link.close()
            for folder in (self._folder, *self._folder.parent.glob(f"{self._folder.name}.broken-*")):
                shutil.rmtree(folder, ignore_errors=True)
            self._started()
        finally:
            self._starting.release()

    def filled(self) -> None:
        """The folder has all that the record has. Where that cannot be noted it is filled again."""
        with suppress(OSError):
            (self._folder / UNFILLED).unlink()

    def ask(
        self, do: str, of: str = "", arguments: Mapping[str, Any] | None = None, matrix: Matrix | None = None
    ) -> tuple[Message, Matrix | None]:
        """One call of the child."""
        return self.start().ask({"do": do, "of": of, "with": arguments or {}}, matrix, ANSWER_SECONDS)

    def beat(self) -> None:
        """Whether it answers."""
        self.ask("beat")

    def use(self, name: str, work: Callable[[VendorCollection], Result]) -> Result:
        """Work on a collection, made if it is missing."""
        return work(Kept(partial(self.ask, of=name)))

    def names(self) -> list[str]:
        """All collections."""
        return list(self.ask("names")[0]["names"])

    def forget(self, name: str) -> None:
        """Drop a collection; none there is no error."""
        self.ask("forget", name)

    def close(self) -> None:
        """End the child in order, or else at once."""
        self._closed = True
        if self._link is not None:
            self._link.close()


class Kept:
    """A collection in the child, as the vendor's own looks. Keeps `VendorCollection`."""

    def __init__(self, ask: Callable[..., tuple[Message, Matrix | None]]) -> None:
        self._ask = ask

    def count(self) -> int:
        """Vectors in it."""
        return int(self._ask("count")[0]["count"])

    def get(self, **arguments: object) -> Mapping[str, Any]:
        """ids, where, include."""
        found, matrix = self._ask("get", arguments=arguments)
        return {"ids": found["ids"], "embeddings": matrix, "metadatas": found["metadatas"]}

    def query(self, **arguments: object) -> Mapping[str, Any]:
        """query_embeddings (one), where, n_results, include."""
        vector = np.asarray(arguments.pop("query_embeddings"), dtype=np.float32)
        found, matrix = self._ask("query", arguments=arguments, matrix=vector)
        return {"ids": [found["ids"]], "embeddings": [matrix], "metadatas": [found["metadatas"]]}

    def upsert(self, **arguments: object) -> None:
        """ids, embeddings, metadatas."""
        rows = np.asarray(arguments.pop("embeddings"), dtype=np.float32)
        self._ask("upsert", arguments=arguments, matrix=rows)

    def delete(self, **arguments: object) -> object:
        """ids or where."""
        return self._ask("delete", arguments=arguments)
