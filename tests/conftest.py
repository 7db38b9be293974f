"""What every test may ask for: a real Postgres with a fresh migrated database, and nothing beyond loopback.

One embedded server a worker process, started when first asked for; a database a test, copied from a
migrated one or made like it again (`tests/fakes/postgres.py`). The environment of the machine is not read:
no key of a developer reaches a model.
"""

import gc
import itertools
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import asyncpg
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import settings

from app.db.embedded import Cluster, open_cluster
from app.db.migrations import migrate
from app.db.pool import Pool, open_pool
from app.settings import names
from tests.fakes.postgres import Databases
from tests.fakes.redis import RedisServer, redis_server
from tests.network import forbid

UNSAFE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
"""Faster, and only a power cut would tell; the tests of crashes start servers without it."""

SPREAD = 0.8
"""How far into the other files those of whole services are spread."""

serial = itertools.count()


def pytest_configure() -> None:
    """Before anything is collected: no outside network, no settings of this machine."""
    forbid()
    # Set in many containers: every run would compile all modules again.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # A busy machine is no counterexample; pytest-timeout ends what hangs.
    # What CI says must not hang on chance: it tries the same examples every time, people others each time.
    settings.register_profile("ibid", max_examples=40, deadline=None, derandomize="CI" in os.environ)
    settings.load_profile("ibid")
    for name in names():
        os.environ.pop(name, None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """All modules come in here, and none of it is garbage: a quarter of the time would be spent looking for
    some. What is there by the end is no test's leak, and is not looked at again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of whole services, which wait half of their time, among the others, which do not: seldom do all
    workers wait at once. None is among the last, so that at the end no worker waits for another."""
    files = list(dict.fromkeys(item.path for item in items))
    whole = [path for path in files if {"integration", "web"} & set(path.parts)]
    rest = [path for path in files if path not in set(whole)]
    place = {path: n / len(rest) for n, path in enumerate(rest)}
    place |= {path: SPREAD * n / len(whole) for n, path in enumerate(whole)}
    items.sort(key=lambda item: place[item.path])


@pytest.fixture(scope="session")
def beside() -> Iterator[BlockingPortal]:
    """A loop that outlives the tests' own."""
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory, beside: BlockingPortal) -> Iterator[Cluster]:
    """This worker's server. Its database `ibid` is migrated and serves as template: keep off it."""
    home = tmp_path_factory.mktemp("postgres")
    with beside.wrap_async_context_manager(open_cluster(home, UNSAFE)) as server:
        beside.call(migrate, server.dsn)
        yield server


@pytest.fixture(scope="session")
def databases(cluster: Cluster, beside: BlockingPortal) -> Iterator[Databases]:
    """Those of this worker's tests; asked in the loop `beside`."""
    admin = beside.call(asyncpg.connect, cluster.places.dsn("postgres", "postgres"))
    yield Databases(cluster.places, admin)
    beside.call(admin.close)


@pytest.fixture
def dsn(databases: Databases, beside: BlockingPortal) -> Iterator[str]:
    """A fresh, migrated database of this test's own."""
    name = f"test_{next(serial)}"
    yield beside.call(databases.lend, name)
    beside.call(databases.back, name)


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[Pool]:
    """The service's own kind of pool on that database."""
    async with open_pool(dsn, max_size=5) as opened:
        yield opened


@pytest.fixture
def drive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fresh folder, in memory where it can be: every write of an engine waits for the disk."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own in it
    with tempfile.TemporaryDirectory(
        dir=memory if memory.is_dir() else tmp_path_factory.getbasetemp()
    ) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A module's server. A test that breaks it starts one of its own."""
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server
