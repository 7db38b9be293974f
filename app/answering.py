"""What answers with citations: /api/chat from documents and projects, /rag/query from memory (a part of
`wiring.py`, which hands in what is open)."""

from dataclasses import replace
from datetime import UTC, datetime

from app.config import Settings
from app.contexts import projects
from app.domain.room import Limits
from app.keeping import Writers
from app.models.chat import model_at
from app.models.tokens import O200k
from app.opened import Opened
from app.services.chat import ChatService
from app.services.material import Collector
from app.services.projects import ProjectService
from app.services.rag import RagService
from app.services.recall import Recall
from app.services.recorder import Recorder
from app.services.retrieval import Retrieval
from app.stores.chatlog import ChatLogStore
from app.stores.documents import DocumentStore
from app.stores.knowledge import KnowledgeStore


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


def contextual(settings: Settings, parts: Opened, retrieval: Retrieval) -> ProjectService:
    """What gives projects' contexts."""
    rows = {source.name: source for source in parts.rows.every}
    threshold = settings.rag.similarity_threshold
    return projects(KnowledgeStore(parts.pool), rows, retrieval, threshold=threshold)


def collecting(
    settings: Settings, parts: Opened, retrieval: Retrieval, contexts: ProjectService
) -> Collector:
    """What fetches for a chat."""
    return Collector(
        retrieval,
        ChatLogStore(parts.pool),
        contexts,
        KnowledgeStore(parts.pool),
        limits=limits(settings),
        documents=DocumentStore(parts.pool),
    )


def answering(
    settings: Settings, parts: Opened, collector: Collector, recorder: Recorder, writing: Writers
) -> ChatService:
    """What answers with citations."""
    return ChatService(
        collector,
        parts.model,
        O200k(),
        recorder,
        limits=limits(settings),
        clock=lambda: datetime.now(UTC),
        keepsake=writing.keepsake,
    )


def personal(
    settings: Settings, parts: Opened, recall: Recall, recorder: Recorder, writing: Writers
) -> RagService:
    """What answers from memory: RAG_MODEL, RETRIEVE_THRESHOLD, no history."""
    return RagService(
        recall,
        parts.model,
        O200k(),
        recorder,
        name=model_at(settings, settings.rag),
        limits=replace(limits(settings), threshold=settings.retrieve.threshold, history=0),
        clock=lambda: datetime.now(UTC),
        keepsake=writing.keepsake,
    )
