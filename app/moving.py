"""`ibid reembed`, `ibid adopt`: the stores opened for a move to another embedding space, and for what older
tools left in them (a part of `wiring.py`).

Both need the data folder for themselves. Raises `StartError`, and what the work raises.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.clients.chroma import open_chroma
from app.clients.folder import hold
from app.clients.guarded import open_points
from app.clients.points import DENSE, Points
from app.clients.pool import Pool
from app.clients.postgres import open_postgres
from app.config import Settings
from app.domain.memory import RAW
from app.index.adoption import Engine, ShelfAdoption
from app.index.catalogue import Indexed
from app.index.resettle import Resettlement
from app.keeping import kept_in, named, open_kept, writers
from app.models.patient import Patient
from app.models.spaces import open_embedder
from app.opened import open_space
from app.retrieval.index_cache import IndexCache
from app.services.adopt import Adopt
from app.services.reembed import Reembed
from app.services.upkeep import Upkeep
from app.sources.corpus import FIELDS as CORPUS_FIELDS
from app.sources.document_vectors import DocumentVectors, open_document_vectors
from app.sources.memories import FIELDS as MEMORY_FIELDS
from app.stores.adoption import AdoptionStore
from app.stores.homes import HomeStore
from app.stores.spaces import SpaceStore
from app.stores.strays import StrayStore
from app.stores.vectors import VectorStore


@asynccontextmanager
async def open_reembed(settings: Settings) -> AsyncIterator[Reembed]:
    """The move to the configured space, on stores that no service uses meanwhile."""
    async with hold(settings.ibid.data_dir), open_postgres(settings) as pool:
        recorded = await SpaceStore(pool).current()
        async with (
            open_embedder(settings, recorded, stored=False) as (model, space),
            open_chroma(settings) as chroma,
            open_document_vectors(pool, chroma, space) as vectors,
            open_kept(settings, pool, space, IndexCache(space.dim)) as kept,
        ):
            embedder = Patient(model)
            upkeep = writers(pool, kept, embedder).upkeep
            move = Resettlement(kept.points, embedder, space, settings.ibid.data_dir)
            indexes = Indexes(pool, vectors, upkeep, move, kept.points)
            yield Reembed(VectorStore(pool), embedder, indexes, space)


class Indexes:
    """Every index, filled anew for a space that the record has moved to (`services/reembed.Index`)."""

    def __init__(
        self, pool: Pool, vectors: DocumentVectors, upkeep: Upkeep, move: Resettlement, points: Points
    ) -> None:
        self._strays = StrayStore(pool)
        self._homes = HomeStore(pool)
        self._vectors = vectors
        self._upkeep = upkeep
        self._move = move
        self._points = points

    async def rebuild(self) -> int:
        """How many documents were mended, and memories and texts written."""
        mended = await self._vectors.rebuild()
        _, stocks = await self._strays.kept()
        # A collection that another tool made, and that holds nothing of ours, is left to `ibid adopt`.
        theirs = {each.name for each in await self._points.collections() if each.dense != DENSE}
        names = [*stocks, *await self._homes.all(), *({RAW} - theirs)]
        homes = {name: filtered(name) for name in names}
        for name in homes:
            await self._move.clear(name, self._strays.known)
        written = await self._upkeep.rebuild()
        for name, fields in homes.items():
            await self._move.restore(name, fields)
        return mended + written


def filtered(name: str) -> Indexed:
    """The fields that a collection is filtered by."""
    return MEMORY_FIELDS if name == RAW else CORPUS_FIELDS


@asynccontextmanager
async def open_adopt(settings: Settings) -> AsyncIterator[Adopt]:
    """What older tools wrote, and what takes it over into the service's space."""
    async with (
        hold(settings.ibid.data_dir),
        open_postgres(settings) as pool,
        open_space(settings, pool) as (model, space),
        open_points(settings, dim=space.dim) as points,
    ):
        embedder = Patient(model)
        engine = Engine(points, embedder, space, filtered, named(settings))

        async def settle() -> None:
            kept = await kept_in(settings, pool, space, IndexCache(space.dim), points)
            await writers(pool, kept, embedder).upkeep.rebuild()

        shelves = ShelfAdoption(engine, StrayStore(pool), HomeStore(pool), settle)
        yield Adopt(AdoptionStore(pool), shelves, embedder, space)
