"""`ibid reembed`: the stores opened for a move to another embedding space (a part of `wiring.py`).

Needs the data folder for itself. Raises `StartError`, and what the move raises.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.clients.chroma import open_chroma
from app.clients.folder import hold
from app.clients.pool import Pool
from app.clients.postgres import open_postgres
from app.config import Settings
from app.domain.memory import RAW
from app.index.resettle import Resettlement
from app.keeping import open_kept, writers
from app.models.spaces import open_embedder
from app.services.reembed import Reembed
from app.services.upkeep import Upkeep
from app.sources.corpus import FIELDS as CORPUS_FIELDS
from app.sources.documents import DocumentSource, open_documents
from app.sources.memories import FIELDS as MEMORY_FIELDS
from app.stores.spaces import SpaceStore
from app.stores.strays import StrayStore
from app.stores.vectors import VectorStore


@asynccontextmanager
async def open_reembed(settings: Settings) -> AsyncIterator[Reembed]:
    """The move to the configured space, on stores that no service uses meanwhile."""
    async with hold(settings.ibid.data_dir), open_postgres(settings) as pool:
        recorded = await SpaceStore(pool).current()
        async with (
            open_embedder(settings, recorded, stored=False) as (embedder, space),
            open_chroma(settings) as chroma,
            open_documents(pool, chroma, space) as documents,
            open_kept(settings, pool, space) as kept,
        ):
            upkeep = writers(pool, kept, embedder).upkeep
            move = Resettlement(kept.points, embedder, space, settings.ibid.data_dir)
            yield Reembed(VectorStore(pool), embedder, Indexes(pool, documents, upkeep, move), space)


class Indexes:
    """Every index, filled anew for a space that the record has moved to (`services/reembed.Index`)."""

    def __init__(self, pool: Pool, documents: DocumentSource, upkeep: Upkeep, move: Resettlement) -> None:
        self._strays = StrayStore(pool)
        self._documents = documents
        self._upkeep = upkeep
        self._move = move

    async def rebuild(self) -> int:
        """How many documents were mended, and memories and texts written."""
        mended = await self._documents.rebuild()
        _, stocks = await self._strays.kept()
        homes = dict.fromkeys(stocks, CORPUS_FIELDS) | {RAW: MEMORY_FIELDS}
        for name in homes:
            await self._move.clear(name, self._strays.known)
        written = await self._upkeep.rebuild()
        for name, fields in homes.items():
            await self._move.restore(name, fields)
        return mended + written
