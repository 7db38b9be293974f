"""The write side of the corpus: reference texts kept for all users of a tenant, listed, taken back.

The order is `services/memories.py`'s: vectors, the record, the index, searchable, acknowledged. A text is
kept and cited whole: words find all of it, meaning what the embedding model reads of it (the bundled one: 512
tokens); long works are documents. A collection whose last text goes is dropped. Needs a tenant key. Raises
`Forbidden`, `Missing`, `TooMany`, `Unavailable`, `NoRoom`.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

import structlog

from app.domain.corpus import Corpus, CorpusIndex, Given, Reference, Shelf
from app.domain.document import embedded_text
from app.domain.errors import Forbidden, Missing, NoRoom, RemovedMeanwhile, Unavailable
from app.domain.passage import Embedding, Scope
from app.domain.ports import Embedder, Tokens
from app.domain.revision import settled
from app.services.memories import AGAIN, SECONDS, counted, embedded

BATCH = 1_000
"""Points removed at a time."""

log = structlog.get_logger(__name__)


class CorpusService:
    """Reference texts, as the tenant sees them."""

    def __init__(self, record: Corpus, index: CorpusIndex, embedder: Embedder, tokens: Tokens) -> None:
        self._record = record
        self._index = index
        self._embedder = embedder
        self._tokens = tokens

    async def keep(
        self, scope: Scope, collection: str, texts: Sequence[Given], *, seconds: float = SECONDS
    ) -> list[tuple[Reference, bool]]:
        """(text, whether it is new), in order; durable and searchable when it returns. Of texts with one id
        in one request the last stands."""
        permit(scope)
        until = asyncio.get_running_loop().time() + seconds
        inputs = [embedded_text(given.title, "", given.text) for given in texts]
        embeddings = await embedded(self._embedder, inputs, until)
        tokens = await counted(self._tokens, [given.text for given in texts])
        space = self._embedder.space
        kept = await self._record.admit(scope, collection, texts, embeddings, tokens, space=space)
        last = {text.point: (text, vector) for (text, _), vector in zip(kept, embeddings, strict=True)}
        new = [text.point for text, fresh in kept if fresh]
        await self._show(scope, collection, list(last.values()), new, until)
        return kept

    async def collections(self, scope: Scope) -> list[Shelf]:
        """What was written here, by name."""
        return await self._record.collections(scope)

    async def texts(
        self, scope: Scope, collection: str, *, cursor: str | None, limit: int
    ) -> tuple[list[Reference], str | None]:
        """A page of a collection's texts by id, and the cursor of the next. `Missing`: it has none."""
        found, after = await self._record.texts(scope, collection, cursor=cursor, limit=limit)
        if not found and cursor is None:
            raise Missing("there is no such collection")
        return found, after

    async def remove(self, scope: Scope, collection: str, text_id: str) -> None:
        """Gone from the next answer on."""
        permit(scope)
        point = await self._record.remove(scope, collection, text_id)
        if point is None:
            raise Missing("there is no such text")
        await self._clear(scope, collection, [point])

    async def remove_all(self, scope: Scope, collection: str) -> None:
        """All of the tenant's texts in a collection, from the next answer on."""
        permit(scope)
        points = await self._record.clear(scope, collection)
        if not points:
            raise Missing("there is no such collection")
        for at in range(0, len(points), BATCH):
            await self._clear(scope, collection, points[at : at + BATCH])

    async def _show(
        self,
        scope: Scope,
        collection: str,
        texts: Sequence[tuple[Reference, Embedding]],
        new: Sequence[str],
        until: float,
    ) -> None:
        """Make them searchable. What is new and cannot be is taken back; what replaced a text is left to
        the next repair, since the text before it is gone."""
        put = partial(self._index.put, scope, collection)
        try:
            async with asyncio.timeout_at(until):
                gone = await settled(texts, put, partial(self._record.indexed, scope, collection))
        except (Unavailable, TimeoutError) as error:
            references = [text for text, _ in texts]
            back = await self._record.withdraw(scope, collection, references, new=new)
            await self._clear(scope, collection, back)
            if isinstance(error, NoRoom):
                raise
            raise Unavailable("the index of the corpus does not answer", retry_after=AGAIN) from error
        if gone:
            await self._clear(scope, collection, gone)
            raise RemovedMeanwhile("a text was deleted while it was written")

    async def _clear(self, scope: Scope, collection: str, points: Sequence[str]) -> None:
        """The points of texts that are not kept; what does not go now, a repair removes."""
        try:
            await self._index.remove(scope, collection, points)
        except Unavailable:
            log.warning("points not removed", points=len(points))
        else:
            await self._record.forget(points)
            await self._vacate(scope, collection)

    async def _vacate(self, scope: Scope, collection: str) -> None:
        """Nothing is left of a collection with its last text; one that stays is empty, and does no harm."""
        try:
            await self._record.vacate(scope, collection, partial(self._index.drop, collection))
        except Unavailable:
            log.warning("collection not dropped", collection=collection)


def permit(scope: Scope) -> None:
    """The corpus is the tenant's: a user key may read it, not write it (CONTRACT §6)."""
    if scope.owner:
        raise Forbidden("the corpus needs a tenant key")
