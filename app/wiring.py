"""Opens everything and builds the services: `open_services(settings)`, `open_adopt`, `open_reembed`.

Order of opening: data folder, cache, Chroma (in the background), Postgres (migrated), embedding space,
Qdrant, sources, models; closed in reverse. Every table that holds something of a person is listed in `users`;
a test walks the schema for what is missing. Raises `StartError` with what to do.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypedDict

from app.answering.budget import PromptLimits, scaled
from app.answering.extractive import Extractive
from app.answering.pipeline import Pipeline
from app.answering.projects import DREAMING
from app.answering.recall import Recall
from app.answering.recorder import Backlog, Keepsake, Recorder
from app.answering.summaries import Digest, Sentences
from app.breaker import Breaker
from app.db.answers import AnswerStore, OriginalStore
from app.db.cards import CardStore
from app.db.claim import EngineClaim, claim_engines
from app.db.code import CodeStore
from app.db.collections import read_imported_collections
from app.db.conversations import ConversationStore
from app.db.copies import ChromaCopy, QdrantCopy
from app.db.corpus import CorpusStore
from app.db.documents import DocumentStore, Parser
from app.db.folder import Held, hold
from app.db.jobs import JobStore
from app.db.keys import KeyStore
from app.db.memories import MemoryStore, RecentTextStore, Temporal, Votes
from app.db.memory_service import Outside, OutsideProbe, OutsideTemporal, OutsideVotes, open_outside
from app.db.outbox import EngineProbe, Outbox
from app.db.pool import Pool
from app.db.postgres import PostgresProbe, identity, open_postgres
from app.db.projects import EventStore, KnowledgeStore
from app.db.sessions import ChatLogStore, SessionStore
from app.db.users import ErasureStore, Memories, RecordFiles, evict_erased, record_holdings
from app.db.vectors import SpaceStore, VectorStore
from app.db.votes import TemporalStore, UtteranceStore, VoteStore
from app.ingest.cutter import CodeCutter
from app.ingest.jobs import Ingest, Worker
from app.ingest.pdf import PdfParser
from app.models.base import ChatModel, Embedder
from app.models.bundled import grasping
from app.models.chat import LASTING, chat_name, chat_server, model_at, open_chat, open_token
from app.models.embeddings import Patient
from app.models.moderation import MODERATION, HttpModerator, open_moderator
from app.models.probes import ServerProbe, open_probes
from app.models.rerank import HttpReranker, open_reranker
from app.models.spaces import open_embedder
from app.models.tokens import O200k
from app.retrieval.cache import Cache
from app.retrieval.corpus import CorpusSource
from app.retrieval.documents import DocumentSource
from app.retrieval.index_cache import IndexCache
from app.retrieval.memories import MemorySource
from app.retrieval.projects import CodeSource, ConversationSource, DreamSource, RowSource
from app.retrieval.redis import Redis, RedisProbe, open_cache
from app.retrieval.rerank import Second
from app.retrieval.retrievers.chroma import Chroma, open_chroma
from app.retrieval.retrievers.qdrant import CollectionCache, Qdrant, greet, open_points
from app.retrieval.rewrite import Rewriter
from app.retrieval.search import Retrieval
from app.services.adopt import Adopt, AdoptionStore, ForeignCollections, read_collections
from app.services.answers import AnswerService, ReplayService
from app.services.cards import CardService
from app.services.chat import ChatService
from app.services.code import CodeService
from app.services.conversations import ConversationService
from app.services.corpus import CorpusService
from app.services.documents import DocumentService
from app.services.feedback import FeedbackService, Judge, SignalService
from app.services.knowledge import KnowledgeService
from app.services.memories import MemoryService
from app.services.mix import MixService
from app.services.profiles import PersonaService, ProfileService, Summary
from app.services.projects import Means, ProjectService
from app.services.rag import RagService
from app.services.reembed import Reembed
from app.services.services import Services
from app.services.sessions import SessionService
from app.services.users import Caching, MirroredHolding, UserService
from app.services.vantage import VantageService
from app.settings import Settings
from app.tasks import Work, crew
from app.text.greeting import is_small_talk
from app.types import RERANK, Probe, Source, Space
from app.vantage import distress
from app.vantage.weigh import weigh

DREAMS = frozenset(DREAMING)


class Given(TypedDict):
    """What every source is told."""

    store: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Rows:
    """What is searched in Postgres."""

    conversations: ConversationSource
    code: CodeSource
    dreams: DreamSource

    @property
    def every(self) -> tuple[RowSource, ...]:
        return self.conversations, self.code, self.dreams


async def open_rows(pool: Pool, indexes: IndexCache, space: Space, seconds: float = 6.0) -> Rows:
    """The sources. `seconds`: RAG_TIMEOUT_SECONDS."""
    given: Given = {"store": await identity(pool), "seconds": seconds}
    return Rows(
        ConversationSource(pool, indexes, space, DREAMS, **given),
        CodeSource(pool, indexes, space, **given),
        DreamSource(pool, indexes, space, DREAMS, **given),
    )


def projects(
    knowledge: KnowledgeStore,
    sources: Mapping[str, RowSource],
    retrieval: Retrieval,
    *,
    threshold: float,
) -> ProjectService:
    """Contexts of projects. `threshold` is RAG_SIMILARITY_THRESHOLD."""
    means = Means(sources, retrieval, O200k().count, threshold)
    return ProjectService(means, knowledge)


def coding(pool: Pool, embedder: Embedder) -> CodeService:
    """The write side of code."""
    return CodeService(CodeStore(pool), embedder, CodeCutter())


@dataclass(frozen=True, slots=True)
class Kept:
    points: Qdrant
    copy: QdrantCopy
    outbox: Outbox
    memories: MemorySource
    corpus: CorpusSource


@asynccontextmanager
async def open_kept(
    settings: Settings, pool: Pool, space: Space, indexes: IndexCache, claim: EngineClaim | None = None
) -> AsyncIterator[Kept]:
    """Qdrant as the settings say, and what is searched in it."""
    async with open_points(settings, dim=space.dim) as points:
        imports, catalogue = await read_imported_collections(pool), CollectionCache(points)
        store, seconds, shared = (
            await place(settings, pool),
            settings.rag.timeout_seconds,
            is_server(settings),
        )
        copy = QdrantCopy(pool, points, catalogue, space, external=shared, imports=imports)
        on = (pool, points, catalogue, indexes, space)
        kept = Kept(
            points,
            copy,
            await outbox_of(pool, points, copy, claim),
            MemorySource(*on, store=store, seconds=seconds, shared=shared, imports=imports),
            CorpusSource(
                *on, store=store, seconds=seconds, only=named(settings), shared=shared, imports=imports
            ),
        )
        greeting = asyncio.create_task(greet(points), name="qdrant-version")  # a start waits for no server
        try:
            yield kept
        finally:
            greeting.cancel()
            await asyncio.gather(greeting, return_exceptions=True)


async def open_outbox(
    settings: Settings, pool: Pool, space: Space, points: Qdrant, claim: EngineClaim | None = None
) -> Outbox:
    """The outbox of an open Qdrant, for the commands that fill it and search nothing."""
    copy = QdrantCopy(pool, points, CollectionCache(points), space, external=is_server(settings))
    return await outbox_of(pool, points, copy, claim)


async def outbox_of(pool: Pool, points: Qdrant, copy: QdrantCopy, claim: EngineClaim | None) -> Outbox:
    """The outbox that fills Qdrant; it learns of files that the engine loses."""
    outbox = Outbox(pool, copy, await identity(pool), claim)
    points.on_set_aside(outbox.report_loss)
    return outbox


def is_server(settings: Settings) -> bool:
    """True if Qdrant is a server, where other tools may write."""
    return settings.qdrant.url is not None


def named(settings: Settings) -> list[str]:
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
    memories = MemoryService(MemoryStore(pool), RecentTextStore(pool), embedder, O200k())
    return Writers(
        memories=memories,
        corpus=CorpusService(CorpusStore(pool), embedder, O200k()),
        keepsake=Keepsake(memories, is_small_talk),
    )


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
    """Folder, stores and models, each as the settings say. `apart`: see `models/bundled.py`."""
    async with (
        hold(settings.ibid.data_dir) as held,
        open_cache(settings) as redis,
        open_chroma(settings) as chroma,  # opens in the background
        open_postgres(settings) as pool,
        claim_engines(settings, pool) as claim,
        open_space(settings, pool, apart=apart) as (embedder, space),
        open_indexes(settings, space.dim) as indexes,
        open_vectors(pool, chroma, space, claim) as (vectors, outbox),
        open_kept(settings, pool, space, indexes, claim) as kept,
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
async def open_vectors(
    pool: Pool, chroma: Chroma, space: Space, claim: EngineClaim | None = None
) -> AsyncIterator[tuple[ChromaCopy, Outbox]]:
    """Chroma's copy of the documents' vectors, and what fills it; the embedded one is open."""
    copy = ChromaCopy(pool, chroma, space)
    outbox = Outbox(pool, copy, await identity(pool), claim)
    chroma.renewed = outbox.report_loss
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


def limits(settings: Settings) -> PromptLimits:
    """How much of everything a prompt may hold."""
    rag, chat = settings.rag, settings.chat
    return PromptLimits(
        budget=rag.token_budget,
        top_k=rag.top_k_max,
        threshold=rag.similarity_threshold,
        window=chat.context_tokens,
        history=chat.history_tokens,
        answer=chat.answer_reserve,
    )


def contextual(settings: Settings, parts: Opened, retrieval: Retrieval) -> ProjectService:
    """What gives projects' contexts."""
    rows = {source.name: source for source in parts.rows.every}
    threshold = settings.rag.similarity_threshold
    return projects(KnowledgeStore(parts.pool), rows, retrieval, threshold=threshold)


def answering(
    settings: Settings,
    parts: Opened,
    retrieval: Retrieval,
    *,
    contexts: ProjectService,
    recorder: Recorder,
    writing: Writers,
) -> ChatService:
    pipeline = Pipeline(
        endpoint="/api/chat",
        model=parts.model,
        tokens=O200k(),
        recorder=recorder,
        limits=limits(settings),
        clock=lambda: datetime.now(UTC),
        keepsake=writing.keepsake,
    )
    knowledge, documents = KnowledgeStore(parts.pool), DocumentStore(parts.pool)
    chatlog = ChatLogStore(parts.pool)
    return ChatService(retrieval, chatlog, contexts, knowledge, pipeline, documents=documents)


def personal(
    settings: Settings, parts: Opened, recall: Recall, recorder: Recorder, writing: Writers
) -> RagService:
    """/rag/query: RAG_MODEL, RETRIEVE_THRESHOLD, no history."""
    pipeline = Pipeline(
        endpoint="/rag/query",
        model=parts.model,
        tokens=O200k(),
        recorder=recorder,
        limits=replace(limits(settings), threshold=settings.retrieve.threshold, history=0),
        clock=lambda: datetime.now(UTC),
        name=model_at(settings, settings.rag),
        keepsake=writing.keepsake,
    )
    return RagService(recall, pipeline)


def users(settings: Settings, parts: Opened, recorder: Recorder) -> UserService:
    """The service of `/users`."""
    pool, kept = parts.pool, parts.kept
    return UserService(
        holdings=(MirroredHolding(Memories(pool), kept.memories), *record_holdings(pool)),
        files=(RecordFiles(pool), kept.copy, parts.vectors),
        erasures=ErasureStore(pool),
        recorder=recorder,
        caching=Caching(parts.cache, settings.rag.cache_ttl_seconds if settings.cache.url else 0),
        engines=(kept.outbox, parts.outbox),
        outside=settings.memory.service_url is not None,
    )


def replays(parts: Opened, answers: AnswerService, notices: CardStore) -> ReplayService:
    """The service of `/answers/{id}/replay`."""
    rows = {source.name: source.named for source in parts.rows.every}
    originals = OriginalStore(parts.pool, parts.kept.points, rows)
    return ReplayService(answers, originals, notices, KnowledgeStore(parts.pool), O200k().count)


def conversations(settings: Settings, parts: Opened) -> ConversationService:
    """Summed up in RAG_MODEL's words, where there is a model."""
    model = parts.model if chat_server(settings) else None
    digest = Digest(Sentences(), model, model_at(settings, settings.rag))
    return ConversationService(
        ConversationStore(parts.pool, DREAMS), digest, parts.embedder, DREAMS.__contains__
    )


def knowledge(settings: Settings, parts: Opened) -> KnowledgeService:
    """What is told of projects, in tokens of the model that chats have where they name none."""
    tokens = O200k()
    factor = tokens.factor(chat_name(settings))
    return KnowledgeService(
        KnowledgeStore(parts.pool),
        lambda text: scaled(tokens.count(text), factor),
        settings.chat.context_tokens,
    )


async def warm() -> None:
    """The tables are compiled and their hash is taken before the first message, off the loop: a second."""
    await asyncio.to_thread(distress.warm)
    await asyncio.to_thread(weigh, "Hello.")


def ruled(settings: Settings, parts: Opened, recall: Recall, recorder: Recorder) -> VantageService:
    pipeline = Pipeline(
        endpoint="/vantage/query",
        model=parts.model,
        tokens=O200k(),
        recorder=recorder,
        limits=replace(limits(settings), threshold=settings.retrieve.threshold, history=0),
        clock=lambda: datetime.now(UTC),
        name=model_at(settings, settings.vantage),
        speaks=chat_server(settings) is not None,
    )
    return VantageService(
        recall,
        ChatLogStore(parts.pool),
        CardStore(parts.pool),
        pipeline,
        moderator=parts.moderator,
        personal=settings.vantage.personal_memory,
        debug=settings.vantage.debug,
    )


def second(settings: Settings, parts: Opened) -> Second | None:
    """None: there is nothing beyond it. The extractive answerer rewords nothing."""
    seconds = settings.rag.timeout_seconds
    rewords = settings.rag.rewrite and chat_server(settings) is not None
    rewriter = (
        Rewriter(parts.model, Breaker(time.monotonic, lasting=LASTING), seconds=seconds) if rewords else None
    )
    if parts.reranker is None and rewriter is None:
        return None
    return Second(parts.reranker, rewriter, Breaker(time.monotonic, lasting=LASTING), seconds=seconds)


@asynccontextmanager
async def open_services(
    settings: Settings,
    parser: Parser | None = None,
    known: Callable[[Embedder], Embedder] | None = None,
    *,
    apart: bool = False,
) -> AsyncIterator[Services]:
    """A whole Ibid, until the end of the block. For `ibid eval`: `parser`, another than that of PDFs, and
    `known`, which puts what is embedded already before the embedder. For a service: the embedder `apart`."""
    async with opened(settings, apart=apart) as bare:
        parts = replace(bare, embedder=known(bare.embedder)) if known else bare
        await O200k().warm()
        if settings.ibid.bootstrap_key:
            await KeyStore(parts.pool).bootstrap(settings.ibid.bootstrap_key.get_secret_value())
        recorder = Recorder(AnswerStore(parts.pool))
        writing = writers(parts.pool, parts.embedder)
        built = services(settings, parts, recorder, writing)
        if settings.enable.vantage_endpoints:
            await warm()
        works: dict[str, Work] = {"recorder": recorder.run, "jobs": worker(settings, parts, parser).run}
        works |= {"erasure": built.users.run, "qdrant": parts.kept.outbox.run, "chroma": parts.outbox.run}
        works |= {"evictions": partial(evict_erased, parts.pool, parts.indexes)}
        try:
            async with crew(works):
                yield built
        finally:
            await recorder.finish()


def worker(settings: Settings, parts: Opened, parser: Parser | None) -> Worker:
    """The background work of this process."""
    record = DocumentStore(parts.pool)
    parser = parser or PdfParser(settings.document)
    # The queue waits for a model that is away; here requests only become as small as a slow one needs.
    ingest = Ingest(record, parser, Patient(parts.embedder, 0), settings.scratch)
    handlers = {"ingest": ingest.ingest, "purge": ingest.purge}
    events = EventStore(parts.pool)
    chores = (parts.jobs.expire, record.sweep, events.fold, events.tidy)
    return Worker(parts.jobs, handlers, settings.ibid.workers, chores=chores)


def services(settings: Settings, parts: Opened, recorder: Recorder, writing: Writers) -> Services:
    """The services on what is open."""
    rag = settings.rag
    retrieval = searching(settings, parts)
    record = DocumentStore(parts.pool)
    answers = AnswerService(AnswerStore(parts.pool), recorder)
    votes, temporal = signals(parts)
    recall = Recall(retrieval, parts.kept.memories, votes, temporal)
    contexts = contextual(settings, parts, retrieval)
    return Services(
        chat=answering(settings, parts, retrieval, contexts=contexts, recorder=recorder, writing=writing),
        documents=filing(settings, record),
        sessions=SessionService(SessionStore(parts.pool), recorder),
        answers=answers,
        replays=replays(parts, answers, CardStore(parts.pool)),
        rag=personal(settings, parts, recall, recorder, writing),
        vantage=ruled(settings, parts, recall, recorder),
        feedback=FeedbackService(answers, judge(parts), votes, persona(parts, writing).quick_persona_refresh),
        signals=SignalService(votes, temporal),
        memories=writing.memories,
        profiles=profiles(settings, parts, writing),
        corpus=writing.corpus,
        users=users(settings, parts, recorder),
        cards=CardService(CardStore(parts.pool)),
        projects=contexts,
        code=coding(parts.pool, parts.embedder),
        conversations=conversations(settings, parts),
        knowledge=knowledge(settings, parts),
        mixing=mixing(settings, answers),
        retrieval=retrieval,
        keys=KeyStore(parts.pool),
        probes=(PostgresProbe(parts.pool), parts.models[0]),
        optional=(*optional(parts), Backlog(recorder)),
        debug=rag.debug_mode,
        token=parts.held.token,
        publish=parts.held.publish,
        hurry=record.hurry,
    )


def filing(settings: Settings, record: DocumentStore) -> DocumentService:
    """The write side of documents."""
    return DocumentService(record, max_bytes=settings.document.max_mb << 20)


def mixing(settings: Settings, answers: AnswerService) -> MixService:
    """What ranks an answer's candidates anew."""
    threshold, personal = settings.retrieve.threshold, settings.vantage.personal_memory
    return MixService(answers, threshold=threshold, personal=personal)


def searching(settings: Settings, parts: Opened) -> Retrieval:
    """Every source at once."""
    sources: tuple[Source, ...] = (parts.documents, parts.kept.memories, parts.kept.corpus, *parts.rows.every)
    return Retrieval(
        {source.name: source for source in sources},
        parts.embedder,
        seconds=settings.rag.timeout_seconds,
        cache=parts.cache,
        second=second(settings, parts),
        grasp=grasping(parts.embedder.space),
    )


def optional(parts: Opened) -> tuple[Probe, ...]:
    """What answers can do without."""
    redis = [RedisProbe(parts.redis)] if parts.redis else []
    outside = [OutsideProbe(parts.outside)] if parts.outside else []
    rerank = [ServerProbe(RERANK, parts.reranker.client)] if parts.reranker else []
    moderation = [ServerProbe(MODERATION, parts.moderator.client)] if parts.moderator else []
    stores = (
        EngineProbe(parts.vectors, parts.outbox),
        EngineProbe(parts.kept.points, parts.kept.outbox),
    )
    return (parts.models[1], *stores, *redis, *outside, *rerank, *moderation)


def signals(parts: Opened) -> tuple[Votes, Temporal]:
    """Votes and activity: built in, or an outside service's beside them."""
    votes, temporal = VoteStore(parts.pool, parts.kept.memories.owns), TemporalStore(parts.pool)
    if parts.outside is None:
        return votes, temporal
    return OutsideVotes(parts.outside, votes), OutsideTemporal(parts.outside, temporal)


def judge(parts: Opened) -> Judge:
    return Judge(parts.token)


def persona(parts: Opened, writing: Writers) -> PersonaService:
    """Who keeps style cards."""
    said = UtteranceStore(parts.pool)
    return PersonaService(said, parts.kept.memories, writing.memories, lambda: datetime.now(UTC))


def profiles(settings: Settings, parts: Opened, writing: Writers) -> ProfileService:
    """Who computes cards: in RAG_MODEL's words, where there is a model."""
    summary = Summary(parts.model if chat_server(settings) else None, model_at(settings, settings.rag))
    said = UtteranceStore(parts.pool)
    return ProfileService(said, writing.memories, summary, lambda: datetime.now(UTC))


@asynccontextmanager
async def open_reembed(settings: Settings) -> AsyncIterator[Reembed]:
    """The move to the configured space, on stores that no service uses meanwhile."""
    async with hold(settings.ibid.data_dir), open_postgres(settings) as pool:
        recorded = await SpaceStore(pool).current()
        async with (
            claim_engines(settings, pool) as claim,
            open_embedder(settings, recorded, stored=False) as (model, space),
            open_chroma(settings) as chroma,
            open_vectors(pool, chroma, space, claim) as (_, outbox),
            open_points(settings, dim=space.dim) as points,
        ):
            embedder = Patient(model)
            if recorded and recorded.name != space.name:
                await import_others(
                    ForeignCollections(points, pool, embedder, space, await read_collections(pool)), recorded
                )
            points_outbox = await open_outbox(settings, pool, space, points, claim)
            yield Reembed(VectorStore(pool), embedder, (outbox, points_outbox), space)


async def import_others(collections: ForeignCollections, recorded: Space) -> None:
    """Import what other tools wrote into collections of the record, which are made anew for the new space: it
    moves with the other rows, and theirs stay as they are."""
    for collection in await collections.found(recorded):
        if collection.missing or (not collection.imported and (collection.silent or collection.unowned)):
            async for _ in collections.take(collection, recorded if collection.fits else None):
                pass


@asynccontextmanager
async def open_adopt(settings: Settings) -> AsyncIterator[Adopt]:
    """The stores of the service's space, which no service uses meanwhile."""
    async with (
        hold(settings.ibid.data_dir),
        open_postgres(settings) as pool,
        claim_engines(settings, pool) as claim,
        open_space(settings, pool) as (model, space),
        open_points(settings, dim=space.dim) as points,
    ):

        async def fill() -> str:
            outbox = await open_outbox(settings, pool, space, points, claim)
            await outbox.drain()
            return await outbox.pending()

        embedder = Patient(model)
        collections = ForeignCollections(points, pool, embedder, space, named(settings))
        yield Adopt(AdoptionStore(pool), collections, embedder, space, fill)
