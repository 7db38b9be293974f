"""Waiting for documents to be read: however many wait, one small query a tick looks for all of them.

Times are seconds. No connection is held between looks, so hundreds of waiting uploads need none of the pool.
Polling rather than LISTEN: nothing to lose when Postgres restarts in the middle of a wait.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from app.clients.faults import RETRY_SECONDS, postgres_faults
from app.clients.pool import Pool
from app.domain.document import Document, State
from app.domain.errors import Unavailable
from app.stores.reach import COLUMNS, document

TICK = 0.05
"""A look this fresh is shared."""
FIRST, LAST = 0.02, 0.25
"""Pauses between a waiter's looks: small files are ready soon, large ones are not in a hurry."""

LOOK_SECONDS = 5.0

# A failed one is told to all who wait for it, also when the first of them has had it dropped.
LOOK = f"""
    SELECT {COLUMNS} FROM ibid.document WHERE id = ANY($1) AND (removed_at IS NULL OR state = 'failed')
"""  # noqa: S608 - a constant of ours


class Watch:
    """One for a process."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: Counter[str] = Counter()
        self._lock = asyncio.Lock()
        self._looked_at = 0.0
        self._asked: frozenset[str] = frozenset()
        self._seen: dict[str, Document] = {}
        self._down = False
        self._hurried = asyncio.Event()

    def hurry(self) -> None:
        """End all waits now, those to come too: the service is about to stop, and the rest is durable."""
        self._hurried.set()

    async def finished(self, document_id: str, *, seconds: float) -> Document | None:
        """The document once it is ready or failed, or as it is when the time is up; None: it is gone.

        Postgres may go away and come back meanwhile; `Unavailable` only if it is away at the end.
        """
        until, pause = time.monotonic() + seconds, FIRST
        with self._awaited(document_id):
            while True:
                left = 0.0 if self._hurried.is_set() else until - time.monotonic()
                try:
                    seen = await self._look(document_id)
                    if seen is None or seen.state is not State.PROCESSING or left <= 0:
                        return seen
                except Unavailable:
                    if left <= 0:
                        raise
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(pause, left)):
                        await self._hurried.wait()
                pause = min(pause * 1.5, LAST)

    @contextmanager
    def _awaited(self, document_id: str) -> Iterator[None]:
        """Around a wait: it is looked for as long as anybody waits for it."""
        self._waiting[document_id] += 1
        try:
            yield
        finally:
            self._waiting[document_id] -= 1
            if not self._waiting[document_id]:
                del self._waiting[document_id]

    async def _look(self, document_id: str) -> Document | None:
        """Its state, not older than a tick."""
        asked_at = time.monotonic()
        async with self._lock:
            if document_id not in self._asked or self._looked_at < asked_at - TICK:
                await self._look_for_all()
            if self._down:
                raise Unavailable("Postgres does not answer", retry_after=RETRY_SECONDS)
            return self._seen.get(document_id)

    async def _look_for_all(self) -> None:
        """One query for everybody who waits; a failed one is shared too, or each would wait for its own."""
        asked, self._down = frozenset(self._waiting), True
        try:
            with postgres_faults():
                rows = await self._pool.fetch(LOOK, list(asked), timeout=LOOK_SECONDS)
        except Unavailable:
            rows = []
        else:
            self._down = False
        self._seen = {row["id"]: document(row) for row in rows}
        self._asked, self._looked_at = asked, time.monotonic()
