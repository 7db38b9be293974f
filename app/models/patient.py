"""An embedder for batch work, which has no deadline: it waits for a model that is busy or away.

A request that was not answered in time is asked again in halves: a slow server may only need smaller ones. A
busy server (429) and one that is down (5xx, no answer) are asked again after growing pauses, until there was
no vector for `seconds`. Keeps `ports.Embedder`. Raises the last `RetrievalError` then, and any other at once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import structlog

from app.domain.errors import RetrievalError
from app.domain.passage import Embedding
from app.domain.ports import Embedder

SECONDS = 1_800.0
"""Give up after this many seconds without a vector."""
PAUSE, LONGEST = 1.0, 30.0
"""Seconds between retries: first and longest."""
PASSING = {"timeout", "unavailable", "overloaded"}
"""Reasons that may be gone the next time."""

T = TypeVar("T")

log = structlog.get_logger(__name__)


class Patient:
    """Embedder that retries and halves batches. `seconds=0`: only halve batches on timeout."""

    def __init__(self, embedder: Embedder, seconds: float = SECONDS) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._most: int | None = None
        """Texts of a request that this server answers in time; None: any number."""

    @property
    def space(self) -> str:
        """The embedder's."""
        return self._embedder.space

    async def query(self, text: str) -> Embedding:
        """One query."""
        return await self._waited(partial(self._embedder.query, text))

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Texts to store, in order."""
        found: list[Embedding] = []
        at = 0
        while at < len(texts):
            some = texts[at:][: self._most]
            try:
                found += await self._waited(partial(self._embedder.passages, some), alone=len(some) == 1)
            except RetrievalError as error:
                if error.reason != "timeout" or len(some) == 1:
                    raise
                self._most = len(some) // 2
                log.info("embedding in smaller requests", texts=self._most)
            else:
                at += len(some)
        return found

    async def _waited(self, ask: Callable[[], Awaitable[T]], *, alone: bool = True) -> T:
        """Call `ask`, and retry passing faults until the deadline. Unless it is `alone` (one text,
        which cannot be halved), a timeout is raised at once."""
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + self._seconds, PAUSE
        while True:
            try:
                return await ask()
            except RetrievalError as error:
                halved = error.reason == "timeout" and not alone
                if error.reason not in PASSING or halved or loop.time() >= until:
                    raise
                log.info("waiting for the embedding model", reason=error.reason, seconds=pause)
            await asyncio.sleep(pause)
            pause = min(LONGEST, 2 * pause)
