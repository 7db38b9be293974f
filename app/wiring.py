"""Opens everything and builds the services: `open_services(settings)`, `open_adopt`, `open_reembed`.

Order of opening: data folder, cache, Chroma (in the background), Postgres (migrated), embedding space,
Qdrant, sources, models; closed in reverse. Raises `StartError` with advice.
"""

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from app.answering.budget import PromptLimits, scaled
from app.answering.extractive import Extractive
from app.answering.live import Live
from app.answering.pipeline import Pipeline
from app.answering.projects import DREAMING
from app.answering.recall import Recall
from app.answering.recorder import Recorder
from app.answering.relay import Relay
from app.answering.summaries import Digest
from app.breaker import LASTING, Breaker
from app.db.answers import AnswerStore
from app.db.cards import CardStore
from app.db.code import CodeStore
from app.db.conversations import ConversationStore
from app.db.corpus import CorpusStore
from app.db.documents import DocumentStore, Parser
from app.db.folder import Held, hold
from app.db.history import HistoryStore
from app.db.jobs import JobStore
from app.db.keys import KeyStore
from app.db.memories import MemoryStore, RecentTextStore, Temporal, Votes
from app.db.memory_service import Outside, OutsideTemporal, OutsideVotes, open_outside
from app.db.outbox import EngineClaim, EngineProbe, Outbox, claim_engines, state
from app.db.pool import Pool
from app.db.postgres import PostgresProbe, identity, open_postgres
from app.db.projects import EventStore, KnowledgeStore
from app.db.sessions import ChatLogStore, SessionStore
from app.db.users import ErasureStore, Holding, Memories, RecordFiles, evict_erased, record_holdings
from app.db.vectors import SpaceStore, VectorStore
from app.db.votes import TemporalStore, UtteranceStore, VoteStore
from app.errors import Unavailable
from app.ingest.cutter import CodeCutter
from app.ingest.jobs import Ingest, JobRunner
from app.ingest.pdf import PdfParser
from app.ingest.viewer import PdfViewer
from app.metrics import Metrics, Standing
from app.models.base import ChatModel, Embedder, Reranker
from app.models.bundled import Bundled, grasping, unrelating
from app.models.chat import OpenAIChat, chat_name, chat_server, model_at, open_chat, open_judge
from app.models.client import Server
from app.models.embeddings import Patient
from app.models.moderation import MODERATION, HttpModerator, open_moderator
from app.models.probes import ServerProbe, open_probes
from app.models.rerank import HttpReranker, open_reranker
from app.models.spaces import open_embedder
from app.models.tokens import O200k
from app.retrieval.cache import Cache
from app.retrieval.copies import ChromaCopy, QdrantCopy, read_imported_collections
from app.retrieval.corpus import CorpusSource
from app.retrieval.documents import DocumentSource
from app.retrieval.index_cache import IndexCache
from app.retrieval.memories import MemorySource
from app.retrieval.originals import OriginalStore
from app.retrieval.projects import CodeSource, ConversationSource, DreamSource, RowSource
from app.retrieval.redis import Redis, RedisProbe, open_cache
from app.retrieval.rerank import SecondStage
from app.retrieval.retrievers.chroma import Chroma, open_chroma
from app.retrieval.retrievers.qdrant import CollectionCache, Qdrant, greet, open_points
from app.retrieval.rewrite import Rewriter
from app.retrieval.search import Retrieval
from app.services.adopt import Adopt, AdoptionStore, ForeignCollections, read_collections
from app.services.answers import AnswerService
from app.services.chat import ChatService
from app.services.code import CodeService
from app.services.conversations import ConversationService
from app.services.corpus import CorpusService
from app.services.documents import DocumentService
from app.services.feedback import FeedbackService, SignalService
from app.services.limits import Limiter, open_limiter
from app.services.memories import MemoryService
from app.services.profiles import PersonaService, PersonaWriter, ProfileService
from app.services.projects import KnowledgeService, ProjectService
from app.services.rag import RagService
from app.services.reembed import Reembed
from app.services.replay import ReplayService
from app.services.search import Named, SearchService
from app.services.sentiment import Judge
from app.services.services import Services
from app.services.sessions import SessionService
from app.services.streams import StreamService
from app.services.users import MirroredHolding, UserService
from app.services.vantage import CardService, MixService, VantageService
from app.settings import Settings, listed, telemetry
from app.tasks import Work, crew
from app.tracing import Tracer, open_tracer
from app.types import RERANK, Probe, Source, Space
from app.vantage import distress
from app.vantage.weigh import weigh

DREAMING_PROJECTS = frozenset(DREAMING)
SCRAPE_SECONDS = 1.0
"""For reading the numbers of a scrape."""
T = TypeVar("T")
Report = Callable[[str, str | None], None]
"""Called with a dependency's name and None when its opening begins, and with what it is when it is ready."""


@asynccontextmanager
async def reported(
    report: Report, name: str, opening: AbstractAsyncContextManager[T], what: str | Callable[[T], str]
) -> AsyncIterator[T]:
    report(name, None)
    async with opening as opened:
        report(name, what if isinstance(what, str) else what(opened))
        yield opened


@dataclass(frozen=True, slots=True)
class QdrantParts:
    engine: Qdrant
    copy: QdrantCopy
    outbox: Outbox
    memories: MemorySource
    corpus: CorpusSource


@dataclass(frozen=True, slots=True)
class ProjectSources:
    conversations: ConversationSource
    code: CodeSource
    dreams: DreamSource

    @property
    def by_name(self) -> dict[str, RowSource]:
        return {source.name: source for source in (self.conversations, self.code, self.dreams)}


@dataclass(frozen=True, slots=True)
class Resources:
    held: Held
    pool: Pool
    embedder: Embedder
    indexes: IndexCache
    documents: DocumentSource
    chroma_copy: ChromaCopy
    chroma_outbox: Outbox
    chroma: Chroma
    qdrant: QdrantParts
    projects: ProjectSources
    model: ChatModel
    probes: tuple[Probe, Probe]
    """Of the chat model and the embedding model."""
    jobs: JobStore
    feedback_model: ChatModel | None = None
    """FEEDBACK_MODEL."""
    outside: Outside | None = None
    """The memory services of MEMORY_SERVICE_URL."""
    moderator: HttpModerator | None = None
    """The service of VANTAGE_RISK_URL."""
    reranker: Reranker | None = None
    redis: Redis | None = None
    cache: Cache | None = None
    limiter: Limiter = field(default_factory=Limiter)
    tracer: Tracer | None = None


@asynccontextmanager
async def open_resources(
    settings: Settings,
    *,
    apart: bool = False,
    bundled: Bundled | None = None,
    report: Report = lambda _name, _what: None,
) -> AsyncIterator[Resources]:
    """Folder, stores and models. `apart`, `bundled`: see `models/spaces.py`."""
    said = partial(reported, report)
    server, ttl = chat_server(settings), settings.rag.cache_ttl_seconds
    async with (
        hold(settings.ibid.data_dir) as held,
        open_cache(settings) as redis,
        open_chroma(settings) as chroma,  # opens in the background
        said("Postgres", open_postgres(settings), kind(settings.postgres.dsn)) as pool,
        claim_engines(settings, pool) as claim,
        said(
            "Embedding model",
            open_space(settings, pool, apart=apart, bundled=bundled),
            lambda opened: str(opened[1].name),
        ) as (embedder, space),
        aclosing(index_cache(settings, space.dim)) as indexes,
        said("Chroma", fill_chroma(settings, pool, chroma, space, claim), kind(settings.chroma.url)) as (
            chroma_copy,
            chroma_outbox,
        ),
        said(
            "Qdrant", open_qdrant(settings, pool, space, indexes, claim), kind(settings.qdrant.url)
        ) as qdrant,
        said(
            "Chat model",
            open_answerer(settings, server, embedder),
            chat_name(settings) if server else "no model: answers are quotes",
        ) as model,
        open_probes(settings, embedder, space) as probes,
        open_judge(settings, server) as feedback_model,
        open_outside(settings) as outside,
        open_reranker(settings) as reranker,
        open_moderator(settings) as moderator,
        open_limiter(settings) as limiter,
        open_tracer(telemetry()) as tracer,
        JobStore(pool) as jobs,
        Cache(ttl, redis) if ttl else nullcontext() as cache,
    ):
        seconds, store = settings.rag.timeout_seconds, await identity(pool)
        yield Resources(
            held=held,
            pool=pool,
            embedder=embedder,
            indexes=indexes,
            documents=DocumentSource(indexes, pool, chroma, space, store=store, seconds=seconds),
            chroma_copy=chroma_copy,
            chroma_outbox=chroma_outbox,
            chroma=chroma,
            qdrant=qdrant,
            projects=await open_project_sources(pool, indexes, space, seconds),
            model=model,
            probes=probes,
            jobs=jobs,
            feedback_model=feedback_model,
            outside=outside,
            moderator=moderator,
            reranker=reranker,
            redis=redis,
            cache=cache,
            limiter=limiter,
            tracer=tracer,
        )


def open_answerer(
    settings: Settings, server: Server | None, embedder: Embedder
) -> AbstractAsyncContextManager[ChatModel]:
    return open_chat(settings, server) if server else nullcontext(Extractive(embedder))


def kind(address: object) -> str:
    return "embedded" if address is None else "a server"


@asynccontextmanager
async def open_space(
    settings: Settings, pool: Pool, *, apart: bool = False, bundled: Bundled | None = None
) -> AsyncIterator[tuple[Embedder, Space]]:
    """The embedder, and the space of all vectors, recorded when it is new."""
    spaces = SpaceStore(pool)
    recorded = await spaces.current()
    stored = recorded is not None and await spaces.vectors_in(recorded.name) > 0
    opened = open_embedder(settings, recorded, stored=stored, apart=apart, bundled=bundled)
    async with opened as (embedder, space):
        await spaces.keep(space)
        await spaces.make_current(space.name)
        yield embedder, space


def index_cache(settings: Settings, dim: int) -> IndexCache:
    memory, exact = settings.index.cache_mb << 20, settings.exact.max_mb << 20
    return IndexCache(dim, memory_bytes=memory, exact_bytes=exact)


@asynccontextmanager
async def fill_chroma(
    settings: Settings, pool: Pool, chroma: Chroma, space: Space, claim: EngineClaim | None = None
) -> AsyncIterator[tuple[ChromaCopy, Outbox]]:
    """Chroma's copy of the documents' vectors, and the outbox that fills it."""
    copy = ChromaCopy(pool, chroma, space, exact_bytes=settings.exact.max_mb << 20)
    outbox = Outbox(pool, copy, await identity(pool), claim)
    chroma.on_files_lost(outbox.report_loss)
    chroma.on_recovery(outbox.report_connection)
    try:
        await chroma.ready()
        yield copy, outbox
    finally:
        chroma.on_files_lost(None)
        chroma.on_recovery(None)


@asynccontextmanager
async def open_qdrant(
    settings: Settings, pool: Pool, space: Space, indexes: IndexCache, claim: EngineClaim | None = None
) -> AsyncIterator[QdrantParts]:
    async with open_points(settings, dim=space.dim) as engine:
        shared = settings.qdrant.url is not None  # a server, where other tools may write
        imports, catalogue = await read_imported_collections(pool), CollectionCache(engine)
        copy = QdrantCopy(pool, engine, catalogue, space, external=shared, imports=imports)
        # Results of another database or another Qdrant must not be found in a shared cache.
        store = hashlib.sha256(f"{await identity(pool)} {settings.qdrant.url or ''}".encode()).hexdigest()
        seconds = settings.rag.timeout_seconds
        on = (pool, engine, catalogue, indexes, space)
        greeting = asyncio.create_task(greet(engine), name="qdrant-version")  # a start must not wait
        try:
            yield QdrantParts(
                engine,
                copy,
                await qdrant_outbox(pool, engine, copy, claim),
                MemorySource(*on, store=store, seconds=seconds, shared=shared, imports=imports),
                CorpusSource(
                    *on,
                    store=store,
                    seconds=seconds,
                    shared=shared,
                    imports=imports,
                    only=collections(settings),
                ),
            )
        finally:
            greeting.cancel()
            await asyncio.gather(greeting, return_exceptions=True)


async def qdrant_outbox(pool: Pool, engine: Qdrant, copy: QdrantCopy, claim: EngineClaim | None) -> Outbox:
    outbox = Outbox(pool, copy, await identity(pool), claim)
    engine.on_files_lost(lambda _: outbox.report_loss())
    engine.breaker.on_recovery = outbox.report_connection
    return outbox


async def open_project_sources(
    pool: Pool, indexes: IndexCache, space: Space, seconds: float = 6.0
) -> ProjectSources:
    store = await identity(pool)
    return ProjectSources(
        ConversationSource(pool, indexes, space, DREAMING_PROJECTS, store=store, seconds=seconds),
        CodeSource(pool, indexes, space, store=store, seconds=seconds),
        DreamSource(pool, indexes, space, DREAMING_PROJECTS, store=store, seconds=seconds),
    )


@asynccontextmanager
async def open_services(
    settings: Settings,
    parser: Parser | None = None,
    known: Callable[[Embedder], Embedder] | None = None,
    *,
    apart: bool = False,
    bundled: Bundled | None = None,
    report: Report = lambda _name, _what: None,
) -> AsyncIterator[Services]:
    """All services, until the end of the block. For `ibid eval`: another `parser` than that of PDFs, and
    `known`, which caches vectors. For a service: the bundled model `apart`, or one that several share."""
    async with open_resources(settings, apart=apart, bundled=bundled, report=report) as opened:
        open_ = replace(opened, embedder=known(opened.embedder)) if known else opened
        await O200k().warm()
        if settings.ibid.bootstrap_key:
            await KeyStore(open_.pool).bootstrap(settings.ibid.bootstrap_key.get_secret_value())
        if open_.pool.home:  # the folder's lock says that no other service uses this Postgres
            await open_.jobs.expire()
        recorder = Recorder(AnswerStore(open_.pool))
        live = Live()
        relay = Relay(open_.pool, live, recorder)
        viewer = PdfViewer(settings.document, settings.scratch)
        services = build_services(settings, open_, recorder, live, relay, viewer=viewer)
        if settings.enable.vantage_endpoints:
            await warm_policy()
        works: dict[str, Work] = {
            "recorder": recorder.run,
            "relay": relay.run,
            "jobs": worker(settings, open_, parser, viewer).run,
            "erasure": services.users.run,
            "qdrant": open_.qdrant.outbox.run,
            "chroma": open_.chroma_outbox.run,
            "evictions": partial(
                evict_erased,
                open_.pool,
                open_.indexes.evict,
                open_.cache.clear if open_.cache else lambda: None,
            ),
        }
        if open_.limiter.quotas:
            works["limits"] = open_.limiter.run
        if open_.qdrant.copy.external:
            works["homes"] = open_.qdrant.copy.follow_homes
        try:
            async with crew(works):
                yield services
        finally:
            await viewer.close()
            await recorder.finish()


async def warm_policy() -> None:
    """Compile the tables and hash the policy before the first message, off the loop: a second."""
    await asyncio.to_thread(distress.warm)
    await asyncio.to_thread(weigh, "Hello.")


def worker(settings: Settings, open_: Resources, parser: Parser | None, viewer: PdfViewer) -> JobRunner:
    record, events = DocumentStore(open_.pool), EventStore(open_.pool)
    # The queue waits for a model that is down; here requests only get smaller for a slow one.
    embedder = Patient(open_.embedder, 0)
    ingest = Ingest(
        record, parser or PdfParser(settings.document), embedder, settings.scratch, forget=viewer.forget
    )
    handlers = {"ingest": ingest.ingest, "purge": ingest.purge}
    chores = (record.sweep, events.fold, events.tidy)
    return JobRunner(open_.jobs, handlers, settings.ibid.workers, chores=chores)


def build_services(
    settings: Settings,
    open_: Resources,
    recorder: Recorder,
    live: Live,
    relay: Relay,
    *,
    viewer: PdfViewer,
) -> Services:
    pool, embedder, tokens, memory_source = open_.pool, open_.embedder, O200k(), open_.qdrant.memories
    metrics = Metrics()
    documents, cards, knowledge = DocumentStore(pool), CardStore(pool), KnowledgeStore(pool)
    shown, said = DocumentService(documents, viewer), UtteranceStore(pool)
    votes, temporal = feedback_stores(open_)
    retrieval = build_retrieval(settings, open_)
    answers = AnswerService(AnswerStore(pool), recorder)
    memories = MemoryService(MemoryStore(pool), RecentTextStore(pool), embedder, tokens)
    projects = ProjectService(
        open_.projects.by_name, retrieval, tokens.count, threshold=settings.rag.similarity_threshold
    )
    originals = OriginalStore(
        pool, open_.qdrant.engine, {name: source.named for name, source in open_.projects.by_name.items()}
    )
    personas = PersonaService(said, memory_source, memories, now)
    recall = Recall(retrieval, memory_source, votes, temporal)
    chat, rag, vantage = pipelines(settings, open_, recorder, memories, live)
    return Services(
        chat=ChatService(retrieval, ChatLogStore(pool), projects, knowledge, chat, documents=documents),
        rag=RagService(recall, ChatLogStore(pool), rag),
        vantage=VantageService(
            recall,
            ChatLogStore(pool),
            cards,
            vantage,
            moderator=open_.moderator,
            personal=settings.vantage.personal_memory,
            debug=settings.vantage.debug,
        ),
        documents=shown,
        sessions=SessionService(SessionStore(pool), recorder),
        answers=answers,
        streams=StreamService(live, answers, originals, relay),
        replays=ReplayService(answers, originals, cards, knowledge, tokens.count),
        feedback=FeedbackService(answers, Judge(open_.feedback_model), votes, personas.quick_persona_refresh),
        signals=SignalService(votes, temporal),
        memories=memories,
        profiles=ProfileService(
            said,
            memories,
            PersonaWriter(server_model(settings, open_), model_at(settings, settings.rag)),
            now,
        ),
        corpus=CorpusService(CorpusStore(pool), embedder, tokens),
        users=user_service(settings, open_, recorder),
        history=HistoryStore(pool),
        cards=CardService(cards),
        projects=projects,
        code=CodeService(CodeStore(pool), embedder, CodeCutter()),
        conversations=conversation_service(settings, open_),
        knowledge=knowledge_service(settings, open_),
        mixing=MixService(
            answers, threshold=settings.retrieve.threshold, personal=settings.vantage.personal_memory
        ),
        search=SearchService(
            retrieval,
            limits(settings),
            tokens.count,
            documents=documents,
            named=named_passages(open_),
            public_url=settings.ibid.public_url,
        ),
        retrieval=retrieval,
        keys=KeyStore(pool),
        probes=(PostgresProbe(pool), open_.probes[0]),
        optional=optional_probes(open_, recorder),
        debug=settings.rag.debug_mode,
        token=open_.held.token,
        publish=open_.held.publish,
        hurry=shown.hurry,
        limiter=open_.limiter,
        tracer=open_.tracer,
        metrics=metrics,
        gauges=partial(read_gauges, metrics, open_, recorder),
    )


def named_passages(open_: Resources) -> dict[str, Named]:
    qdrant, rows = open_.qdrant, open_.projects.by_name
    return {
        qdrant.memories.name: qdrant.memories.named,
        qdrant.corpus.name: qdrant.corpus.named,
        **{name: source.named for name, source in rows.items()},
    }


async def read_gauges(metrics: Metrics, open_: Resources, recorder: Recorder) -> None:
    """Read what a scrape shows as it is now; without jobs and outboxes while Postgres does not answer."""
    standing = None
    with suppress(Unavailable, TimeoutError):
        async with asyncio.timeout(SCRAPE_SECONDS):
            outbox = {name: (await state(open_.pool, name)).waiting for name in ("chroma", "qdrant")}
            standing = Standing(await open_.jobs.count(), outbox)
    metrics.set_gauges(standing, circuits=circuits(open_), waiting=recorder.waiting, lost=recorder.lost)


def circuits(open_: Resources) -> dict[str, int]:
    """The open circuits of every breaker, by the names that /readyz uses."""
    chat = open_.model.circuits if isinstance(open_.model, OpenAIChat) else None
    parts: dict[str, object] = {
        "postgres": open_.pool,
        "chroma": open_.chroma,
        "qdrant": open_.qdrant.engine,
        "embedding": open_.embedder,
        "cache": open_.redis,
        "limits": open_.limiter,
        "memories": open_.outside,
        RERANK: open_.reranker,
        MODERATION: open_.moderator,
    }
    breakers = {name: getattr(part, "breaker", None) for name, part in parts.items()}
    found = {name: each.circuits for name, each in breakers.items() if isinstance(each, Breaker)}
    return found if chat is None else found | {"chat": chat}


def feedback_stores(open_: Resources) -> tuple[Votes, Temporal]:
    votes, temporal = VoteStore(open_.pool, open_.qdrant.memories.owns), TemporalStore(open_.pool)
    if open_.outside is None:
        return votes, temporal
    return OutsideVotes(open_.outside, votes), OutsideTemporal(open_.outside, temporal)


def build_retrieval(settings: Settings, open_: Resources) -> Retrieval:
    sources: dict[str, Source] = {
        source.name: source for source in (open_.documents, open_.qdrant.memories, open_.qdrant.corpus)
    }
    return Retrieval(
        sources | open_.projects.by_name,
        open_.embedder,
        seconds=settings.rag.timeout_seconds,
        cache=open_.cache,
        second=second_stage(settings, open_),
        grasp=grasping(open_.embedder.space),
        unrelated=unrelating(open_.embedder.space),
    )


def pipelines(
    settings: Settings, open_: Resources, recorder: Recorder, memories: MemoryService, live: Live
) -> tuple[Pipeline, Pipeline, Pipeline]:
    chat = Pipeline(
        endpoint="/api/chat",
        model=open_.model,
        tokens=O200k(),
        recorder=recorder,
        limits=limits(settings),
        clock=now,
        remember=memories.remember_message,
        public_url=settings.ibid.public_url,
        live=live,
        speaks=chat_server(settings) is not None,
    )
    recalling = replace(limits(settings), threshold=settings.retrieve.threshold)
    rag = replace(chat, endpoint="/rag/query", limits=recalling, name=model_at(settings, settings.rag))
    vantage = replace(
        rag,
        endpoint="/vantage/query",
        limits=replace(recalling, history=0),
        name=model_at(settings, settings.vantage),
    )
    return chat, rag, vantage


def now() -> datetime:
    return datetime.now(UTC)


def limits(settings: Settings) -> PromptLimits:
    rag, chat = settings.rag, settings.chat
    return PromptLimits(
        budget=rag.token_budget,
        top_k=rag.top_k_max,
        threshold=rag.similarity_threshold,
        window=chat.context_tokens,
        history=chat.history_tokens,
        answer=chat.answer_reserve,
    )


def collections(settings: Settings) -> list[str]:
    return listed(settings.corpus.collections)


def server_model(settings: Settings, open_: Resources) -> ChatModel | None:
    """The chat model, unless it is the extractive answerer, which cannot write texts."""
    return open_.model if chat_server(settings) else None


def second_stage(settings: Settings, open_: Resources) -> SecondStage | None:
    """Rewriting by the chat model and reranking, if any of them is configured."""
    model, seconds = server_model(settings, open_), settings.rag.timeout_seconds
    rewriter = None
    if settings.rag.rewrite and model:
        rewriter = Rewriter(model, Breaker(time.monotonic, lasting=LASTING), seconds=seconds)
    if open_.reranker is None and rewriter is None:
        return None
    return SecondStage(open_.reranker, rewriter, seconds=seconds)


def user_service(settings: Settings, open_: Resources, recorder: Recorder) -> UserService:
    """With every holding of a person; a test walks the schema for missing ones."""
    qdrant = open_.qdrant
    memories: Holding = Memories(open_.pool)
    if settings.qdrant.url is not None:  # other tools may have written there
        memories = MirroredHolding(Memories(open_.pool), qdrant.memories)
    return UserService(
        holdings=(memories, *record_holdings(open_.pool)),
        files=(RecordFiles(open_.pool), qdrant.copy, open_.chroma_copy),
        erasures=ErasureStore(open_.pool),
        recorder=recorder,
        cache=open_.cache,
        shared_cache_seconds=settings.rag.cache_ttl_seconds if settings.cache.url else 0,
        engines=(qdrant.outbox, open_.chroma_outbox),
        outside=settings.memory.service_url is not None,
    )


def conversation_service(settings: Settings, open_: Resources) -> ConversationService:
    digest = Digest(server_model(settings, open_), model_at(settings, settings.rag))
    return ConversationService(
        ConversationStore(open_.pool, DREAMING_PROJECTS),
        digest,
        open_.embedder,
        DREAMING_PROJECTS.__contains__,
    )


def knowledge_service(settings: Settings, open_: Resources) -> KnowledgeService:
    """Counts in tokens of the default chat model."""
    tokens = O200k()
    factor = tokens.factor(chat_name(settings))
    return KnowledgeService(
        KnowledgeStore(open_.pool),
        lambda text: scaled(tokens.count(text), factor),
        settings.chat.context_tokens,
    )


def optional_probes(open_: Resources, recorder: Recorder) -> tuple[Probe, ...]:
    probes: list[Probe] = [
        open_.probes[1],
        EngineProbe(open_.chroma_copy, open_.chroma_outbox),
        EngineProbe(open_.qdrant.engine, open_.qdrant.outbox),
    ]
    probes += [RedisProbe(open_.redis)] if open_.redis else []
    probes += [open_.limiter] if open_.limiter.quotas else []
    probes += [open_.outside] if open_.outside else []
    probes += [ServerProbe(RERANK, open_.reranker.client)] if isinstance(open_.reranker, HttpReranker) else []
    probes += [ServerProbe(MODERATION, open_.moderator.client)] if open_.moderator else []
    return (*probes, recorder)


@asynccontextmanager
async def open_reembed(settings: Settings) -> AsyncIterator[Reembed]:
    """Moves the stores to the configured space; no service may use them meanwhile."""
    async with hold(settings.ibid.data_dir), open_postgres(settings) as pool:
        recorded = await SpaceStore(pool).current()
        async with (
            claim_engines(settings, pool) as claim,
            open_embedder(settings, recorded, stored=False) as (model, space),
            open_chroma(settings) as chroma,
            fill_chroma(settings, pool, chroma, space, claim) as (_, chroma_outbox),
            open_points(settings, dim=space.dim) as engine,
        ):
            embedder = Patient(model)
            if recorded and recorded.name != space.name:
                await import_others(
                    ForeignCollections(engine, pool, embedder, space, await read_collections(pool)), recorded
                )
            outbox = await open_outbox(settings, pool, space, engine, claim)
            yield Reembed(VectorStore(pool), embedder, (chroma_outbox, outbox), space)


async def open_outbox(
    settings: Settings, pool: Pool, space: Space, engine: Qdrant, claim: EngineClaim | None
) -> Outbox:
    """The outbox of an open Qdrant, for commands that fill it and search nothing."""
    external = settings.qdrant.url is not None
    copy = QdrantCopy(pool, engine, CollectionCache(engine), space, external=external)
    return await qdrant_outbox(pool, engine, copy, claim)


async def import_others(collections: ForeignCollections, recorded: Space) -> None:
    """Import what other tools wrote into our collections, which are created again for the new space: the
    imported rows move with ours, and the tools' points remain."""
    for collection in await collections.found(recorded):
        if collection.missing or (not collection.imported and (collection.silent or collection.unowned)):
            async for _ in collections.take(collection, recorded if collection.fits else None):
                pass


@asynccontextmanager
async def open_adopt(settings: Settings) -> AsyncIterator[Adopt]:
    """On the stores of the service's space; no service may use them meanwhile."""
    async with (
        hold(settings.ibid.data_dir),
        open_postgres(settings) as pool,
        claim_engines(settings, pool) as claim,
        open_space(settings, pool) as (model, space),
        open_points(settings, dim=space.dim) as engine,
    ):

        async def fill() -> str:
            outbox = await open_outbox(settings, pool, space, engine, claim)
            await outbox.drain()
            return await outbox.pending()

        embedder = Patient(model)
        foreign = ForeignCollections(engine, pool, embedder, space, collections(settings))
        yield Adopt(AdoptionStore(pool), foreign, embedder, space, fill)
