"""Projects: their sources and services (a part of `wiring.py`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from app.clients.identity import identity
from app.clients.pool import Pool
from app.domain.ports import Embedder
from app.domain.project import KnowledgeRecord, ProjectSource
from app.domain.space import Space
from app.intake.cutter import CodeCutter
from app.models.tokens import O200k
from app.projects.profile import DREAMING
from app.retrieval.index_cache import IndexCache
from app.services.code import CodeService
from app.services.excerpt import Means
from app.services.projects import ProjectService
from app.services.retrieval import Retrieval
from app.sources.code import CodeSource
from app.sources.conversations import ConversationSource
from app.sources.dreams import DreamSource
from app.sources.rows import RowSource
from app.stores.code import CodeStore

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
        """All three."""
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
    knowledge: KnowledgeRecord,
    sources: Mapping[str, ProjectSource],
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
