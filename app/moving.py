"""`ibid reembed`: the stores opened for a move to another embedding space (a part of `wiring.py`).

It needs the data folder for itself. Raises `StartError`, and what the work raises.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from app.adopting import Shelves
from app.clients.chroma import open_chroma
from app.clients.folder import hold
from app.clients.postgres import open_postgres
from app.clients.qdrant import open_points
from app.config import Settings
from app.domain.space import Space
from app.keeping import kept_in
from app.models.patient import Patient
from app.models.spaces import open_embedder
from app.opened import open_vectors
from app.retrieval.index_cache import IndexCache
from app.services.reembed import Reembed
from app.stores.imports import ImportStore
from app.stores.spaces import SpaceStore
from app.stores.vectors import VectorStore


@asynccontextmanager
async def open_reembed(settings: Settings) -> AsyncIterator[Reembed]:
    """The move to the configured space, on stores that no service uses meanwhile."""
    async with hold(settings.ibid.data_dir), open_postgres(settings) as pool:
        recorded = await SpaceStore(pool).current()
        async with (
            open_embedder(settings, recorded, stored=False) as (model, space),
            open_chroma(settings) as chroma,
            open_vectors(pool, chroma, space) as (_, outbox),
            open_points(settings, dim=space.dim) as points,
        ):
            embedder, store = Patient(model), ImportStore(pool)
            if recorded and recorded.name != space.name:
                await import_others(
                    Shelves(points, store, embedder, space, await store.collections()), recorded
                )
            kept = await kept_in(settings, pool, space, IndexCache(space.dim), points)
            yield Reembed(VectorStore(pool), embedder, (outbox, kept.outbox), space)


async def import_others(shelves: Shelves, recorded: Space) -> None:
    """Import what other tools wrote into collections of the record, which are made anew for the new space: it
    moves with the other rows, and theirs stay as they are."""
    for shelf in await shelves.found(recorded):
        if shelf.missing or (not shelf.imported and (shelf.silent or shelf.unowned)):
            async for _ in shelves.take(shelf, recorded if shelf.fits else None):
                pass
