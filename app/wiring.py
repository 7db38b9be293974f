"""open_services(settings): everything opened, the services built on it, all closed in reverse.

The only place where the storing and the serving columns meet. Order: the data folder, Chroma (opened in
the background), Postgres (migrated), the embedding space, the models, the background work. Raises
`StartError` with what to do.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.clients.chroma import open_chroma
from app.clients.folder import Held, hold
from app.clients.pool import Pool
from app.clients.postgres import PostgresProbe, open_postgres
from app.clients.redis import Redis, RedisProbe, open_cache
from app.config import Settings
from app.domain.breaker import Breaker
from app.domain.ports import ChatModel, Embedder
from app.domain.room import Limits
from app.domain.space import Space
from app.intake.pdf import PdfParser
from app.models.chat import chat_server, open_chat
from app.models.extractive import Extractive
from app.models.spaces import open_embedder
from app.models.tokens import O200k
from app.services.answers import AnswerService
from app.services.barred import BarredDocuments, BarredSessions
from app.services.cache import Cache
from app.services.chat import ChatService
from app.services.crew import Work, crew
from app.services.documents import DocumentService
from app.services.guarded import GuardedAnswers, GuardedLog, GuardedModel, GuardedSource, patience
from app.services.ingest import Ingest
from app.services.jobs import Worker
from app.services.recorder import Recorder
from app.services.reembed import Reembed
from app.services.retrieval import Retrieval
from app.services.services import Services
from app.services.sessions import SessionService
from app.sources.documents import DocumentSource, open_documents
from app.stores.answers import AnswerStore
from app.stores.chatlog import ChatLogStore
from app.stores.documents import DocumentStore
from app.stores.jobs import JobStore
from app.stores.keys import KeyStore
from app.stores.sessions import SessionStore
from app.stores.spaces import SpaceStore
from app.stores.vectors import VectorStore


def breaker() -> Breaker:
    """For what an answer asks: not worth a restart or failures that come at once (docs/decisions/0020)."""
    return Breaker(time.monotonic, lasting=3.0)


@dataclass(frozen=True, slots=True)
class Opened:
    """What is open before any service is built."""

    held: Held
    pool: Pool
    embedder: Embedder
    documents: DocumentSource
    model: ChatModel
    jobs: JobStore
    postgres: Breaker = field(default_factory=breaker)
    """Shared by all that an answer can do without Postgres for."""
    redis: Redis | None = None
    cache: Cache | None = None


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """A whole Ibid, until the end of the block."""
    async with opened(settings) as parts:
        await O200k().warm()
        if settings.ibid.bootstrap_key:
            await KeyStore(parts.pool).bootstrap(settings.ibid.bootstrap_key.get_secret_value())
        recorder = Recorder(GuardedAnswers(AnswerStore(parts.pool), parts.postgres))
        works: dict[str, Work] = {"recorder": recorder.run, "jobs": worker(settings, parts).run}
        try:
            async with crew(works):
                yield services(settings, parts, recorder)
        finally:
            await recorder.finish()


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Opened]:
    """Folder, stores and models, each as the settings say."""
    async with (
        hold(settings.ibid.data_dir) as held,
        open_chroma(settings) as chroma,  # first: it opens in the background
        open_postgres(settings) as pool,
        open_space(settings, pool) as (embedder, space),
        open_documents(pool, chroma, space) as documents,
        open_model(settings, embedder, space) as model,
        JobStore(pool) as jobs,
        open_cache(settings) as redis,
        open_results(settings, redis) as cache,
    ):
        yield Opened(held, pool, embedder, documents, model, jobs, redis=redis, cache=cache)


@asynccontextmanager
async def open_space(settings: Settings, pool: Pool) -> AsyncIterator[tuple[Embedder, Space]]:
    """The embedder, and the space that all vectors belong to; recorded when it is new."""
    spaces = SpaceStore(pool)
    recorded = await spaces.current()
    stored = recorded is not None and await spaces.vectors_in(recorded.name) > 0
    async with open_embedder(settings, recorded, stored=stored) as (embedder, space):
        await spaces.keep(space)
        await spaces.make_current(space.name)
        yield embedder, space


@asynccontextmanager
async def open_model(settings: Settings, embedder: Embedder, space: Space) -> AsyncIterator[ChatModel]:
    """The chat model: a server's, else the extractive answerer."""
    at = chat_server(settings)
    if at is None:
        yield Extractive(embedder, space.floor)
        return
    async with open_chat(settings, at) as model:
        yield GuardedModel(model, breaker)


@asynccontextmanager
async def open_results(settings: Settings, redis: Redis | None) -> AsyncIterator[Cache | None]:
    """Finished retrievals, and those under way; None: RAG_CACHE_TTL_SECONDS is 0."""
    if not settings.rag.cache_ttl_seconds:
        yield None
        return
    async with Cache(settings.rag.cache_ttl_seconds, redis) as cache:
        yield cache


def worker(settings: Settings, parts: Opened) -> Worker:
    """The background work of this process."""
    record = DocumentStore(parts.pool)
    parser = PdfParser(settings.document)
    ingest = Ingest(record, parts.documents, parser, parts.embedder, settings.scratch)
    handlers = {"ingest": ingest.ingest, "purge": ingest.purge}
    return Worker(parts.jobs, handlers, settings.ibid.workers, chores=(parts.jobs.expire, record.sweep))


def limits(settings: Settings) -> Limits:
    """How much of everything a prompt may hold."""
    rag, chat = settings.rag, settings.chat
    return Limits(
        budget=rag.token_budget,
        top_k=rag.top_k_max,
        threshold=rag.similarity_threshold,
        window=chat.context_tokens,
        history=chat.history_tokens,
        answer=chat.answer_reserve,
    )


def services(settings: Settings, parts: Opened, recorder: Recorder) -> Services:
    """The services on what is open."""
    rag = settings.rag
    patient = patience(rag.timeout_seconds)
    source = GuardedSource(parts.documents, parts.postgres, patient)
    retrieval = Retrieval(
        {source.name: source}, parts.embedder, seconds=rag.timeout_seconds, cache=parts.cache
    )
    answering = ChatService(
        retrieval,
        parts.model,
        O200k(),
        GuardedLog(ChatLogStore(parts.pool), parts.postgres, patient),
        recorder,
        limits=limits(settings),
        clock=lambda: datetime.now(UTC),
    )
    record = DocumentStore(parts.pool)
    return Services(
        chat=answering,
        documents=DocumentService(
            BarredDocuments(record, parts.postgres), max_bytes=settings.document.max_mb << 20
        ),
        sessions=SessionService(BarredSessions(SessionStore(parts.pool), parts.postgres), recorder),
        answers=AnswerService(GuardedAnswers(AnswerStore(parts.pool), parts.postgres), recorder),
        keys=KeyStore(parts.pool),
        probes=(PostgresProbe(parts.pool),),
        optional=(parts.documents.probe, *([RedisProbe(parts.redis)] if parts.redis else [])),
        debug=rag.debug_mode,
        token=parts.held.token,
        publish=parts.held.publish,
        hurry=record.hurry,
    )


@asynccontextmanager
async def open_reembed(settings: Settings) -> AsyncIterator[Reembed]:
    """The move to the configured space, on stores that no service uses meanwhile."""
    async with hold(settings.ibid.data_dir), open_postgres(settings) as pool:
        recorded = await SpaceStore(pool).current()
        async with (
            open_embedder(settings, recorded, stored=False) as (embedder, space),
            open_chroma(settings) as chroma,
            open_documents(pool, chroma, space) as documents,
        ):
            yield Reembed(VectorStore(pool), embedder, documents, space)
