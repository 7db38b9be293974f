"""Memories and the corpus: Qdrant with the two sources, their records and services (a part of `wiring.py`).

Qdrant may be away at the start, and come later. Raises `StartError` for an address that is none.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.clients.identity import identity
from app.clients.pool import Pool
from app.clients.qdrant import Qdrant, greet, open_points
from app.config import Settings
from app.domain.greeting import is_small_talk
from app.domain.ports import Embedder
from app.domain.space import Space
from app.index.catalogue import Catalogue
from app.models.tokens import O200k
from app.retrieval.index_cache import IndexCache
from app.services.corpus import CorpusService
from app.services.keepsake import Keepsake
from app.services.memories import MemoryService
from app.sources.corpus import CorpusSource
from app.sources.memories import MemorySource
from app.stores.copies import QdrantCopy
from app.stores.corpus import CorpusStore
from app.stores.heard import HeardStore
from app.stores.imports import read_homes
from app.stores.memories import MemoryStore
from app.stores.outbox import Outbox


@dataclass(frozen=True, slots=True)
class Kept:
    """Open."""

    points: Qdrant
    copy: QdrantCopy
    outbox: Outbox
    memories: MemorySource
    corpus: CorpusSource


@asynccontextmanager
async def open_kept(settings: Settings, pool: Pool, space: Space, indexes: IndexCache) -> AsyncIterator[Kept]:
    """Qdrant as the settings say, and what is searched in it."""
    async with open_points(settings, dim=space.dim) as points:
        kept = await kept_in(settings, pool, space, indexes, points)
        greeting = asyncio.create_task(greet(points), name="qdrant-version")  # a start waits for no server
        try:
            yield kept
        finally:
            greeting.cancel()
            await asyncio.gather(greeting, return_exceptions=True)


async def kept_in(settings: Settings, pool: Pool, space: Space, indexes: IndexCache, points: Qdrant) -> Kept:
    """What is searched in an open Qdrant."""
    homes, catalogue, store = await read_homes(pool), Catalogue(points), await place(settings, pool)
    only, seconds, shared = named(settings), settings.rag.timeout_seconds, settings.qdrant.url is not None
    copy = QdrantCopy(pool, points, catalogue, space, external=shared)
    outbox = Outbox(pool, copy, await identity(pool))
    points.on_renewal(outbox.lost)
    on = (pool, points, catalogue, indexes, space)
    return Kept(
        points,
        copy,
        outbox,
        MemorySource(*on, store=store, seconds=seconds, shared=shared, homes=homes),
        CorpusSource(*on, store=store, seconds=seconds, only=only, shared=shared, homes=homes),
    )


def named(settings: Settings) -> list[str]:
    """CORPUS_COLLECTIONS; none: all."""
    return [name.strip() for name in (settings.corpus.collections or "").split(",") if name.strip()]


async def place(settings: Settings, pool: Pool) -> str:
    """Which database and which Qdrant: results of others are none of ours, also in a cache that is shared."""
    engine = str(settings.qdrant.url or "")
    return hashlib.sha256(f"{await identity(pool)} {engine}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Writers:
    """The services that write them."""

    memories: MemoryService
    corpus: CorpusService
    keepsake: Keepsake


def writers(pool: Pool, embedder: Embedder) -> Writers:
    """On what is open."""
    memories = MemoryService(MemoryStore(pool), HeardStore(pool), embedder, O200k())
    return Writers(
        memories=memories,
        corpus=CorpusService(CorpusStore(pool), embedder, O200k()),
        keepsake=Keepsake(memories, is_small_talk),
    )
