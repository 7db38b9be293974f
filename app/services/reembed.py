"""`ibid reembed`: embeds every stored text (chunks, memories, corpus, rows of projects) in the configured
space, beside the old vectors, then swaps them.

Safe to interrupt: vectors already made are kept and the next run continues. Searches use the old space until
the swap, which is one transaction. Raises `RetrievalError` if the embedder fails.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from app.db.documents import Unembedded, embedded_text
from app.db.outbox import Outbox
from app.db.vectors import VectorStore
from app.errors import RetrievalError, Unavailable
from app.models.base import Embedder
from app.types import Space

BATCH = 64
"""Texts per step: what an interruption can lose."""


class Reembed:
    def __init__(
        self, vectors: VectorStore, embedder: Embedder, outboxes: Sequence[Outbox], space: Space
    ) -> None:
        self._vectors = vectors
        self._embedder = embedder
        self._outboxes = outboxes
        self._space = space
        self.waiting: list[str] = []
        """What engines have yet to take after the run."""

    @property
    def space(self) -> str:
        return self._space.name

    async def total(self) -> int:
        return await self._vectors.count(self._space.name)

    async def run(self) -> AsyncIterator[int]:
        """Embed and swap; yields the number of texts of each step."""
        while True:
            texts = await self._vectors.missing(self._space.name, BATCH)
            if not texts and await self._vectors.swap(self._space):
                for outbox in self._outboxes:
                    with suppress(RetrievalError, Unavailable):  # the service tries again
                        await outbox.drain()
                    self.waiting += filter(None, [await outbox.pending()])
                return
            if texts:
                await self._batch(texts)
            yield len(texts)

    async def _batch(self, texts: Sequence[Unembedded]) -> None:
        """Embedded with title and heading in front, as at ingestion."""
        inputs = [embedded_text(item.title, item.heading, item.text) for item in texts]
        await self._vectors.keep(self._space.name, texts, await self._embedder.passages(inputs))
