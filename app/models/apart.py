"""The bundled model in a process of its own (`child.py`, `process.py`), started anew where it ends.

For one event loop. What was asked of a child that died or hung is asked once more of the next. Raises
`RetrievalError`: embedding (it failed twice), unavailable (there is no child, and there cannot be one now,
or it is closing), and what a lane refuses by; `StartError` where the model is not the one Ibid was made for,
or no child can be started at all. Seconds.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import structlog

from app.domain.errors import RetrievalError, StartError
from app.domain.passage import Embedding
from app.index.pieces import spelling
from app.models.lanes import Kind
from app.models.process import Child, Ended

REST_SECONDS = 5.0
"""After a start that failed; until then who asks is told at once."""
ATTEMPTS = 2
BEGINS, BEGINS_SECONDS = 5, 10.0
"""Children that may be begun within so many seconds: texts that kill them must not keep a machine busy."""

log = structlog.get_logger(__name__)


class Apart:
    """Keeps `embedder.Model`."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._failed = -REST_SECONDS
        self._begins: deque[float] = deque(maxlen=BEGINS)
        self._closed = False

    async def open(self) -> None:
        """The first child. Raises `StartError`."""
        try:
            await self._there()
        except RetrievalError as error:
            why = self._child.refusal if self._child else ""
            raise StartError(why or "the bundled model's process does not start: see the log") from error

    async def run(self, kind: Kind, texts: Sequence[str]) -> list[Embedding]:
        """The texts' vectors, in order."""
        if not texts:
            return []
        for _ in range(ATTEMPTS):
            child = await self._there()
            try:
                return await child.ask(kind, texts)
            except Ended:
                continue
        raise RetrievalError("embedding")

    async def _there(self) -> Child:
        """A child that is ready; another, if there is none."""
        child = self._child = self._living() or self._begun()
        try:
            await child.ready()
        except Ended:
            self._failed = asyncio.get_running_loop().time()
            raise RetrievalError("unavailable") from None
        return child

    def _living(self) -> Child | None:
        """The child, unless it has ended."""
        return None if self._closed or self._child is None or self._child.ended else self._child

    def _begun(self) -> Child:
        """A new one."""
        now = asyncio.get_running_loop().time()
        often = len(self._begins) == BEGINS and now - self._begins[0] < BEGINS_SECONDS
        if self._closed or often or now - self._failed < REST_SECONDS:
            raise RetrievalError("unavailable")
        self._begins.append(now)
        try:
            return Child()
        except OSError as error:
            self._failed = now
            log.warning("the embedder's process cannot be started", fault=str(error))
            raise RetrievalError("unavailable") from error

    async def close(self) -> None:
        """End the child; who waits is refused."""
        self._closed = True
        if self._child is not None:
            await self._child.close()


@asynccontextmanager
async def open_apart() -> AsyncIterator[Apart]:
    """The model in its process, and here what tells how a question is read. It ends with the context."""
    apart = Apart()
    try:
        await asyncio.gather(apart.open(), asyncio.to_thread(spelling))
        yield apart
    finally:
        await apart.close()
