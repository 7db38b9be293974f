"""What is open before any service is built: the data folder, the stores, the models (a part of `wiring.py`).

Order: the data folder, the cache, Chroma (opened in the background), Postgres (migrated), the embedding
space, Qdrant, the sources, the models. All closed in reverse. Raises `StartError` with what to do.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.clients.chroma import Chroma, open_chroma
from app.clients.folder import Held, hold
from app.clients.identity import identity
from app.clients.memory import Outside, open_outside
from app.clients.pool import Pool
from app.clients.postgres import open_postgres
from app.clients.redis import Redis, open_cache
from app.config import Settings
from app.contexts import Rows, open_rows
from app.domain.ports import ChatModel, Embedder, Probe
from app.domain.space import Space
from app.keeping import Kept, open_kept
from app.models.chat import chat_server, open_chat, open_token
from app.models.extractive import Extractive
from app.models.moderation import HttpModerator, open_moderator
from app.models.probe import open_probes
from app.models.rerank import HttpReranker, open_reranker
from app.models.spaces import open_embedder
from app.retrieval.index_cache import IndexCache
from app.services.cache import Cache
from app.sources.documents import DocumentSource
from app.stores.copies import ChromaCopy
from app.stores.jobs import JobStore
from app.stores.outbox import Outbox
from app.stores.spaces import SpaceStore


@dataclass(frozen=True, slots=True)
class Opened:
    """What is open before any service is built."""

    held: Held
    pool: Pool
    embedder: Embedder
    indexes: IndexCache
    """Of all sources."""
    documents: DocumentSource
    vectors: ChromaCopy
    """Chroma's copy of their vectors."""
    outbox: Outbox
    """Fills it."""
    kept: Kept
    """Qdrant, with memories and corpus."""
    rows: Rows
    """The projects' sources."""
    model: ChatModel
    models: tuple[Probe, Probe]
    """Whether the chat model and the embedding model answer."""
    jobs: JobStore
    token: ChatModel | None = None
    """FEEDBACK_MODEL, one token of it."""
    outside: Outside | None = None
    """The memory services of MEMORY_SERVICE_URL."""
    moderator: HttpModerator | None = None
    """The service of VANTAGE_RISK_URL."""
    reranker: HttpReranker | None = None
    """The server of RERANK_URL."""
    redis: Redis | None = None
    cache: Cache | None = None


@asynccontextmanager
async def opened(settings: Settings, *, apart: bool = False) -> AsyncIterator[Opened]:
    """Folder, stores and models, each as the settings say. `apart`: for a service, see `models/apart.py`."""
    async with (
        hold(settings.ibid.data_dir) as held,
        # Before Chroma: both clients import OpenTelemetry; in two threads at once they would deadlock.
        open_cache(settings) as redis,
        open_chroma(settings) as chroma,  # opens in the background
        open_postgres(settings) as pool,
        open_space(settings, pool, apart=apart) as (embedder, space),
        open_indexes(settings, space.dim) as indexes,
        open_vectors(pool, chroma, space) as (vectors, outbox),
        open_kept(settings, pool, space, indexes) as kept,
        open_model(settings, embedder, space) as model,
        open_probes(settings, embedder, space) as models,
        open_token(settings, chat_server(settings)) as token,
        open_outside(settings) as outside,
        open_reranker(settings) as reranker,
        open_moderator(settings) as moderator,
        JobStore(pool) as jobs,
        open_results(settings, redis) as cache,
    ):
        seconds, store = settings.rag.timeout_seconds, await identity(pool)
        documents = DocumentSource(indexes, pool, chroma, space, store=store, seconds=seconds)
        rows = await open_rows(pool, indexes, space, settings.rag.timeout_seconds)
        yield Opened(
            *(held, pool, embedder, indexes, documents, vectors, outbox, kept, rows, model, models),
            jobs=jobs,
            token=token,
            outside=outside,
            reranker=reranker,
            moderator=moderator,
            redis=redis,
            cache=cache,
        )


@asynccontextmanager
async def open_space(
    settings: Settings, pool: Pool, *, apart: bool = False
) -> AsyncIterator[tuple[Embedder, Space]]:
    """The embedder, and the space that all vectors belong to; recorded when it is new."""
    spaces = SpaceStore(pool)
    recorded = await spaces.current()
    stored = recorded is not None and await spaces.vectors_in(recorded.name) > 0
    async with open_embedder(settings, recorded, stored=stored, apart=apart) as (embedder, space):
        await spaces.keep(space)
        await spaces.make_current(space.name)
        yield embedder, space


@asynccontextmanager
async def open_vectors(pool: Pool, chroma: Chroma, space: Space) -> AsyncIterator[tuple[ChromaCopy, Outbox]]:
    """Chroma's copy of the documents' vectors, and what fills it; the embedded one is open."""
    copy = ChromaCopy(pool, chroma, space)
    outbox = Outbox(pool, copy, await identity(pool))
    chroma.renewed = outbox.lost
    try:
        await chroma.ready()
        yield copy, outbox
    finally:
        chroma.renewed = None


@asynccontextmanager
async def open_indexes(settings: Settings, dim: int) -> AsyncIterator[IndexCache]:
    """The indexes in memory, for vectors of `dim` dimensions."""
    memory, exact = settings.index.cache_mb << 20, settings.exact.max_mb << 20
    indexes = IndexCache(dim, memory_bytes=memory, exact_bytes=exact)
    try:
        yield indexes
    finally:
        await indexes.aclose()


@asynccontextmanager
async def open_model(settings: Settings, embedder: Embedder, space: Space) -> AsyncIterator[ChatModel]:
    """The chat model: a server's, else the extractive answerer."""
    at = chat_server(settings)
    if at is None:
        yield Extractive(embedder, space.floor)
        return
    async with open_chat(settings, at) as model:
        yield model


@asynccontextmanager
async def open_results(settings: Settings, redis: Redis | None) -> AsyncIterator[Cache | None]:
    """Finished retrievals, and those under way; None: RAG_CACHE_TTL_SECONDS is 0."""
    if not settings.rag.cache_ttl_seconds:
        yield None
        return
    async with Cache(settings.rag.cache_ttl_seconds, redis) as cache:
        yield cache
