"""The stacks: documents' shelves in memory (`bookcase.py`), followed by what Chroma must have of them.

Sizes are bytes. Raises `RetrievalError`.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence

import structlog

from app.domain.document import Part
from app.domain.errors import RetrievalError, Unavailable
from app.index.bookcase import MEMORY_BYTES, Bookcase
from app.index.loader import Loader
from app.index.place import Listed, Matrix
from app.index.record import Record
from app.index.shelf import Shelf
from app.index.vectors import VectorIndex

EXACT_MOST = 50_000
"""Passages a part may have at least and still be searched exactly…"""
EXACT_BYTES = 160 << 20
"""…and more of them while their vectors take no more than this: 109,000 at 384 dimensions. The index took
twenty times as long there and found .98 of the truth (docs/decisions/0009)."""
log = structlog.get_logger(__name__)


def exact_most(dim: int) -> int:
    """Passages of `dim` dimensions that a part may have and still be searched exactly."""
    return max(EXACT_MOST, EXACT_BYTES // (4 * dim))


class Stacks(Bookcase[Part, "Shelf[Part, Listed]"]):
    """Every shelf of documents in this process."""

    def __init__(
        self,
        record: Record,
        vectors: VectorIndex,
        loader: Loader,
        *,
        memory_bytes: int = MEMORY_BYTES,
        exact_most: int = EXACT_MOST,
    ) -> None:
        super().__init__(memory_bytes=memory_bytes)
        self._record = record
        self._vectors = vectors
        self._loader = loader
        self._exact_most = exact_most
        self.gone: Callable[[Collection[str]], None] | None = None
        """Told of documents that a part has no more, whichever replica removed them."""

    def nothing(self, part: Part) -> "Shelf[Part, Listed]":
        """Of a part that has never held anything, or holds nothing any more."""
        self._told(self.held(part), {})
        return Shelf(part, 0, {})

    async def refreshed(self, part: Part) -> "Shelf[Part, Listed]":
        """The version first, the list after it: a change between the two is seen again, never missed."""
        version = (await self._record.versions([part]))[0]
        listed = await self._record.listed(part)
        exact = sum(document.chunks for document in listed.values()) <= self._exact_most
        shelf = self.held(part)
        self._told(shelf, listed)
        if shelf is None or shelf.exact != exact:
            shelf = Shelf(part, version, {}, (), exact)
        missing = shelf.missing(listed)
        loaded = await self._loader.load(part, missing, exact=exact)
        shelf = await asyncio.to_thread(shelf.followed, version, listed, loaded.blocks)
        self.keep(part, shelf)
        if loaded.lost:
            self.started(self._mend(part, loaded.lost))
        if missing and not exact:
            self.started(self._mend_large(part, missing))
        return shelf

    async def mended(self, part: Part, item: Listed) -> bool:
        """Give Chroma a document's vectors if it does not hold them whole; whether it had to be."""
        if await self._vectors.held(part, item.id) == item.chunks:
            return False
        await self._give_back(part, item.id, await self._loader.recorded(item))
        return True

    async def _give_back(self, part: Part, document_id: str, matrix: Matrix) -> None:
        """Write a document's vectors again. One removed meanwhile may be purged already: then they go too."""
        await self._vectors.put(part, document_id, matrix)
        if document_id not in await self._record.listed(part):
            await self._vectors.remove(part, document_id)

    async def _mend(self, part: Part, lost: Mapping[str, Matrix]) -> None:
        """Give Chroma back what it has lost, beside the searches."""
        for document_id, matrix in lost.items():
            try:
                await self._give_back(part, document_id, matrix)
            except (RetrievalError, Unavailable):
                log.warning("chroma not mended", document=document_id)
                return
        log.info("chroma mended", documents=len(lost))

    async def _mend_large(self, part: Part, documents: Sequence[Listed]) -> None:
        """The same for documents whose vectors no load reads: what Chroma lost, meaning does not find."""
        count = 0
        for item in documents:
            try:
                count += await self.mended(part, item)
            except (RetrievalError, Unavailable):
                log.warning("chroma not mended", document=item.id)
                return
        if count:
            log.warning("chroma had lost vectors of a large part; mended", documents=count)

    def _told(self, shelf: "Shelf[Part, Listed] | None", listed: Mapping[str, Listed]) -> None:
        """Tell what a newer list has no more."""
        gone = shelf.documents.keys() - listed.keys() if shelf else ()
        if gone and self.gone:
            self.gone(gone)
