"""Projects: their sources and services (a part of `wiring.py`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from app.clients.identity import identity
from app.clients.pool import Pool
from app.domain.breaker import Breaker
from app.domain.ports import Embedder
from app.domain.project import ProjectSource
from app.domain.space import Space
from app.intake.cutter import CodeCutter
from app.models.tokens import O200k
from app.projects.profile import DREAMING
from app.retrieval.index_cache import IndexCache
from app.services.code import BarredCode, CodeService
from app.services.excerpt import Means
from app.services.known import Knowing
from app.services.projects import ProjectService
from app.services.retrieval import Retrieval
from app.services.rows import GuardedRows
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


def guarded(rows: Rows, postgres: Breaker, patient: float) -> dict[str, GuardedRows]:
    """The sources by name, each behind Postgres' breaker."""
    return {source.name: GuardedRows(source, postgres, patient) for source in rows.every}


def projects(
    knowledge: Knowing,
    sources: Mapping[str, ProjectSource],
    retrieval: Retrieval,
    *,
    threshold: float,
) -> ProjectService:
    """Contexts of projects. `threshold` is RAG_SIMILARITY_THRESHOLD."""
    means = Means(sources, retrieval, O200k().count, threshold)
    return ProjectService(means, knowledge)


def coding(pool: Pool, embedder: Embedder, postgres: Breaker) -> CodeService:
    """The write side of code."""
    return CodeService(BarredCode(CodeStore(pool), postgres), embedder, CodeCutter())
