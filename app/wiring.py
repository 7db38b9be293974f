"""open_services(settings): everything opened, the services built on it, all closed in reverse.

The only place where the storing and the serving columns meet; parts of it are `opened.py` (what is open),
`keeping.py` (memories and corpus), `moving.py` (`ibid reembed`) and `estate.py` (what is kept of a person).
Raises `StartError` with what to do.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from app.answering import answering, collecting, contextual, limits, personal
from app.clients.memory import OutsideProbe, OutsideTemporal, OutsideVotes
from app.clients.postgres import PostgresProbe
from app.clients.redis import RedisProbe
from app.config import Settings
from app.contexts import coding
from app.domain.memory import Temporal, Votes
from app.domain.ports import Embedder, Parser, Probe, Source
from app.estate import replays, users
from app.filling import conversations, knowledge
from app.intake.pdf import PdfParser
from app.keeping import Writers, writers
from app.models.chat import chat_server, model_at
from app.models.embedder import grasping
from app.models.moderation import ModerationProbe
from app.models.patient import Patient
from app.models.rerank import RerankProbe
from app.models.tokens import O200k
from app.opened import Opened, opened
from app.policy import ruled, warm
from app.second import second
from app.services.answers import AnswerService
from app.services.backlog import Backlog
from app.services.cards import CardService
from app.services.crew import Work, crew
from app.services.documents import DocumentService
from app.services.feedback import FeedbackService
from app.services.ingest import Ingest
from app.services.jobs import Worker
from app.services.mixing import MixService
from app.services.personas import PersonaService
from app.services.profiles import ProfileService
from app.services.recall import Recall
from app.services.recorder import Recorder
from app.services.retrieval import Retrieval
from app.services.services import Services
from app.services.sessions import SessionService
from app.services.signals import SignalService
from app.services.summary import Summary
from app.services.verdict import Judge
from app.stores.answers import AnswerStore
from app.stores.cards import CardStore
from app.stores.documents import DocumentStore
from app.stores.erasures import evict_erased
from app.stores.events import EventStore
from app.stores.keys import KeyStore
from app.stores.outbox import EngineProbe
from app.stores.sessions import SessionStore
from app.stores.temporal import TemporalStore
from app.stores.utterances import UtteranceStore
from app.stores.votes import VoteStore


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
        chat=answering(settings, parts, collecting(settings, parts, retrieval, contexts), recorder, writing),
        documents=filing(settings, record),
        sessions=SessionService(SessionStore(parts.pool), recorder),
        answers=answers,
        replays=replays(parts, answers, CardStore(parts.pool)),
        rag=personal(settings, parts, recall, recorder, writing),
        vantage=ruled(settings, parts, recall, recorder, limits(settings)),
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
    rerank = [RerankProbe(parts.reranker)] if parts.reranker else []
    moderation = [ModerationProbe(parts.moderator)] if parts.moderator else []
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
    """Who names sentiments."""
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
