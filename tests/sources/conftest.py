"""A real Chroma for a module (opening one costs a second), a real Postgres a test."""

from collections.abc import AsyncIterator, Iterator
from functools import partial

import pytest

from app.clients.chroma import Chroma
from app.clients.collection import Client
from app.clients.embedded import embedded
from app.clients.pool import Pool
from app.clients.threads import Threads
from app.sources.documents import DocumentSource
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
    yield Chroma(client, threads)
    await threads.aclose()


@pytest.fixture
async def source(pool: Pool, chroma: Chroma) -> AsyncIterator[DocumentSource]:
    """The documents of this test's database."""
    opened = DocumentSource(pool, chroma, SPACE)
    yield opened
    await opened.aclose()
