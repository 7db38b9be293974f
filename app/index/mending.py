"""Chroma kept in step with the record: given back what it lacks, rid of what another space left.

Postgres has every vector, so a Chroma that has lost some, or all, is filled from it beside the searches.
`rebuild` raises `RetrievalError` and `Unavailable`; what runs in the background tries again. Seconds.
"""

import asyncio

import structlog

from app.domain.errors import RetrievalError, Unavailable
from app.domain.space import Space
from app.index.record import Record
from app.index.stacks import Stacks
from app.index.vectors import VectorIndex

AGAIN_SECONDS = 5.0
"""After a refill that failed: as long as Chroma is then left alone."""

log = structlog.get_logger(__name__)


class Mending:
    """Of one space."""

    def __init__(self, record: Record, vectors: VectorIndex, stacks: Stacks, space: Space) -> None:
        self._record = record
        self._vectors = vectors
        self._stacks = stacks
        self._space = space
        self._filling: asyncio.Task[None] | None = None

    async def rebuild(self) -> int:
        """Give Chroma the vectors of every ready document that it lacks; how many documents there were.

        What it holds of other spaces is dropped: this one must be current.
        """
        mended = await self._walk()
        await self._vectors.forget_others()
        return mended

    async def _walk(self) -> int:
        """Every ready document looked at; how many had to be mended."""
        mended, after = 0, ""
        while page := await self._record.ready(after):
            after = page[-1][1].id
            for part, document in page:
                mended += await self._stacks.mended(part, document)
        return mended

    async def tidy(self) -> None:
        """Drop what a space before this one left, if this one is current; no reason not to start."""
        try:
            if await self._record.is_current(self._space.name):
                dropped = await self._vectors.forget_others()
                log.info("other spaces dropped from chroma", collections=dropped)
        except (RetrievalError, Unavailable):
            log.warning("other spaces not dropped from chroma")

    def begin(self) -> None:
        """Fill a Chroma that has lost everything, in the background; from the start if that is under way."""
        if self._filling:
            self._filling.cancel()
        self._filling = asyncio.create_task(self._fill(), name="chroma-refill")

    async def _fill(self) -> None:
        """Until it is done. A space that is being moved to has no vectors in the record yet."""
        while True:
            try:
                if await self._record.is_current(self._space.name):
                    mended = await self._walk()
                    await self._vectors.filled()
                    log.info("chroma holds every document", mended=mended)
                return
            except (RetrievalError, Unavailable):
                await asyncio.sleep(AGAIN_SECONDS)

    async def aclose(self) -> None:
        """End what is under way."""
        if self._filling:
            self._filling.cancel()
            await asyncio.gather(self._filling, return_exceptions=True)
