"""A real Chroma for a module (opening one costs a second), a real Postgres and Qdrant engine a test."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.db.pool import Pool
from app.retrieval.copies import ChromaCopy
from app.retrieval.corpus import CorpusSource
from app.retrieval.documents import DocumentSource
from app.retrieval.index_cache import EXACT_BYTES, IndexCache
from app.retrieval.memories import MemorySource
from app.retrieval.retrievers.chroma import Chroma
from app.retrieval.retrievers.chroma_child import EmbeddedChroma
from app.retrieval.retrievers.qdrant import CollectionCache, QdrantProcess
from app.wiring import ProjectSources, open_project_sources
from tests.fakes.chromas import InProcess, RunningChroma, chroma_server
from tests.fakes.filing import SPACE, documents
from tests.fakes.qdrant import QdrantThread


@pytest.fixture(scope="module")
def engine_of_chroma(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedChroma]:
    """On a fresh folder; documents have fresh ids, so tests do not meet."""
    opened = EmbeddedChroma(tmp_path_factory.mktemp("chroma"))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def chroma_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningChroma]:
    """The vendor's own server. A test that breaks it starts one of its own."""
    with chroma_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def chroma(engine_of_chroma: EmbeddedChroma) -> Chroma:
    return InProcess(engine_of_chroma)


@pytest.fixture
def vectors(pool: Pool, chroma: Chroma) -> ChromaCopy:
    return ChromaCopy(pool, chroma, SPACE)


@pytest.fixture
def source(pool: Pool, chroma: Chroma) -> DocumentSource:
    """The documents of this test's database."""
    return documents(pool, chroma)


@pytest.fixture
def tmp_path(drive: Path) -> Path:
    """In memory: nearly all that is written here is an engine's."""
    return drive


@pytest.fixture
async def edge(drive: Path) -> AsyncIterator[QdrantProcess]:
    async with QdrantThread(drive) as opened:
        yield opened


@pytest.fixture
def catalogue(edge: QdrantProcess) -> CollectionCache:
    """Its collections, as both sources remember them."""
    return CollectionCache(edge)


@pytest.fixture
def memories(
    pool: Pool, edge: QdrantProcess, catalogue: CollectionCache, indexes: IndexCache
) -> MemorySource:
    """The memories of this test."""
    return MemorySource(pool, edge, catalogue, indexes, SPACE)


@pytest.fixture
def corpus(pool: Pool, edge: QdrantProcess, catalogue: CollectionCache, indexes: IndexCache) -> CorpusSource:
    """The corpus of this test."""
    return CorpusSource(pool, edge, catalogue, indexes, SPACE)


@pytest.fixture(params=["exact", "engine"])
async def indexes(request: pytest.FixtureRequest) -> AsyncIterator[IndexCache]:
    """Of this test; `engine` as EXACT_MAX_MB=0: no vector is in memory."""
    opened = IndexCache(SPACE.dim, exact_bytes=0 if request.param == "engine" else EXACT_BYTES)
    yield opened
    await opened.aclose()


exact_alone = pytest.mark.parametrize("indexes", ["exact"], indirect=True)
"""Of a test that has no use for vectors: the engine would be asked nothing."""


@pytest.fixture
async def rows(pool: Pool, indexes: IndexCache) -> ProjectSources:
    """What projects are read from in this test's database."""
    return await open_project_sources(pool, indexes, SPACE)
