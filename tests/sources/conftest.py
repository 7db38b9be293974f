"""A real Chroma for a module (opening one costs a second), a real Postgres and Qdrant engine a test."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest

from app.clients.chroma import Chroma, InThreads
from app.clients.collection import Client
from app.clients.edge import Edge, open_edge
from app.clients.embedded import embedded
from app.clients.pool import Pool
from app.clients.threads import Threads
from app.contexts import Rows, open_rows
from app.index.catalogue import Catalogue
from app.sources.corpus import CorpusSource
from app.sources.documents import DocumentSource
from app.sources.memories import MemorySource
from tests.fakes.filing import SPACE


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The vendor's client on a fresh folder; documents have fresh ids, so tests do not meet."""
    folder = tmp_path_factory.mktemp("chroma")
    opened = Client(partial(embedded, folder))
    yield opened
    opened.close()


@pytest.fixture
async def chroma(client: Client) -> AsyncIterator[Chroma]:
    """Chroma with threads of this test's loop."""
    threads = Threads("chroma", threads=2)
    yield Chroma(InThreads(client, threads))
    await threads.aclose()


@pytest.fixture
async def source(pool: Pool, chroma: Chroma) -> AsyncIterator[DocumentSource]:
    """The documents of this test's database."""
    opened = DocumentSource(pool, chroma, SPACE)
    yield opened
    await opened.aclose()


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Path]:
    """A fresh folder, in memory where it can be: every write of the engine waits for the disk."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.fixture
async def edge(drive: Path) -> AsyncIterator[Edge]:
    """Qdrant's engine."""
    async with open_edge(drive) as opened:
        yield opened


@pytest.fixture
def catalogue(edge: Edge) -> Catalogue:
    """Its collections, as both sources remember them."""
    return Catalogue(edge)


@pytest.fixture
def memories(pool: Pool, edge: Edge, catalogue: Catalogue) -> MemorySource:
    """The memories of this test."""
    return MemorySource(pool, edge, catalogue, SPACE)


@pytest.fixture
def corpus(pool: Pool, edge: Edge, catalogue: Catalogue) -> CorpusSource:
    """The corpus of this test."""
    return CorpusSource(pool, edge, catalogue, SPACE)


@pytest.fixture
async def rows(pool: Pool) -> AsyncIterator[Rows]:
    """What projects are read from in this test's database."""
    async with open_rows(pool, SPACE) as opened:
        yield opened
