"""open_services(settings): everything opened, the services built on it, all closed in reverse.

The only place where the storing and the serving columns meet. Order: the data folder, Postgres (migrated),
the embedding space, Chroma, the models, the background work. Raises `StartError` with what to do.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from app.clients.chroma import open_chroma
from app.clients.folder import Held, hold
from app.clients.pool import Pool
from app.clients.postgres import PostgresProbe, open_postgres
from app.config import Settings
from app.domain.ports import ChatModel, Embedder
from app.domain.room import Limits
from app.domain.space import Space
from app.intake.pdf import PdfParser
from app.models.chat import chat_server, open_chat
from app.models.extractive import Extractive
from app.models.spaces import open_embedder
from app.models.tokens import O200k
from app.services.chat import ChatService
from app.services.crew import Work, crew
from app.services.documents import DocumentService
from app.services.ingest import Ingest
from app.services.jobs import Worker
from app.services.recorder import Recorder
from app.services.reembed import Reembed
from app.services.retrieval import Retrieval
from app.services.services import Services
from app.sources.documents import DocumentSource, open_documents
from app.stores.answers import AnswerStore
from app.stores.chatlog import ChatLogStore
from app.stores.documents import DocumentStore
from app.stores.jobs import JobStore
from app.stores.keys import KeyStore
from app.stores.spaces import SpaceStore
from app.stores.vectors import VectorStore


@dataclass(frozen=True, slots=True)
class Opened:
    """What is open before any service is built."""

    held: Held
    pool: Pool
    embedder: Embedder
    documents: DocumentSource
    model: ChatModel
    jobs: JobStore


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """A whole Ibid, until the end of the block."""
    async with opened(settings) as parts:
        if settings.ibid.bootstrap_key:
            await KeyStore(parts.pool).bootstrap(settings.ibid.bootstrap_key.get_secret_value())
        recorder = Recorder(ChatLogStore(parts.pool), AnswerStore(parts.pool))
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
        open_postgres(settings) as pool,
        open_space(settings, pool) as (embedder, space),
        open_chroma(settings) as chroma,
        open_documents(pool, chroma, space) as documents,
        open_model(settings, embedder, space) as model,
        JobStore(pool) as jobs,
    ):
        yield Opened(held, pool, embedder, documents, model, jobs)


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
        yield model


def worker(settings: Settings, parts: Opened) -> Worker:
    """The background work of this process."""
    record = DocumentStore(parts.pool)
    parser = PdfParser(settings.document)
    ingest = Ingest(record, parts.documents, parser, parts.embedder, settings.scratch)
    handlers = {"ingest": ingest.ingest, "purge": ingest.purge}
    return Worker(parts.jobs, handlers, settings.ibid.workers, chores=(parts.jobs.expire, record.sweep))


def services(settings: Settings, parts: Opened, recorder: Recorder) -> Services:
    """The services on what is open."""
    rag, chat = settings.rag, settings.chat
    limits = Limits(
        budget=rag.token_budget,
        top_k=rag.top_k_max,
        threshold=rag.similarity_threshold,
        window=chat.context_tokens,
        history=chat.history_tokens,
        answer=chat.answer_reserve,
    )
    retrieval = Retrieval(
        {parts.documents.name: parts.documents}, parts.embedder, seconds=rag.timeout_seconds
    )
    answering = ChatService(
        retrieval,
        parts.model,
        O200k(),
        ChatLogStore(parts.pool),
        recorder,
        limits=limits,
        clock=lambda: datetime.now(UTC),
    )
    documents = DocumentStore(parts.pool)
    return Services(
        chat=answering,
        documents=DocumentService(documents, max_bytes=settings.document.max_mb << 20),
        keys=KeyStore(parts.pool),
        probes=(PostgresProbe(parts.pool), parts.documents.probe),
        debug=rag.debug_mode,
        token=parts.held.token,
        publish=parts.held.publish,
        hurry=documents.hurry,
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
