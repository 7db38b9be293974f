"""What every test may ask for: a real Postgres with a fresh migrated database, and nothing beyond loopback.

One embedded server a worker process, started when first asked for; a database a test, copied from a
migrated one in 10-20 ms. The environment of the machine is not read: no key of a developer reaches a model.
"""

import gc
import itertools
import os
from collections.abc import AsyncIterator, Generator, Iterator

import asyncpg
import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import settings

from app.clients.cluster import Cluster, open_cluster
from app.clients.migrations import migrate
from app.clients.pool import Pool, open_pool
from app.config import names
from tests.fakes.redis import RedisServer, redis_server
from tests.network import forbid

UNSAFE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"}
"""Faster, and only a power cut would tell; the tests of crashes start servers without it."""

serial = itertools.count()


def pytest_configure() -> None:
    """Before anything is collected: no outside network, no settings of this machine."""
    forbid()
    # A busy machine is no counterexample; pytest-timeout ends what hangs.
    # What CI says must not hang on chance: it tries the same examples every time, people others each time,
    # and twice as many.
    ci = "CI" in os.environ
    settings.register_profile("ibid", max_examples=50 if ci else 100, deadline=None, derandomize=ci)
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
    """The long files first: at the end two workers share small ones, and neither waits for the other."""
    items.sort(key=lambda item: "integration" not in item.path.parts)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """This worker's server. Its database `ibid` is migrated and serves as template: keep off it."""
    home = tmp_path_factory.mktemp("postgres")
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_cluster(home, UNSAFE)) as server,
    ):
        portal.call(migrate, server.dsn)
        yield server


@pytest.fixture
async def dsn(cluster: Cluster) -> AsyncIterator[str]:
    """A fresh, migrated database of this test's own."""
    name = f"test_{next(serial)}"
    admin = await asyncpg.connect(cluster.quarters.dsn("postgres", "postgres"))
    try:
        await admin.execute(f"CREATE DATABASE {name} TEMPLATE ibid OWNER ibid")
        yield cluster.quarters.dsn("ibid", name)
        await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await admin.close()


@pytest.fixture
async def pool(dsn: str) -> AsyncIterator[Pool]:
    """The service's own kind of pool on that database."""
    async with open_pool(dsn, max_size=5) as opened:
        yield opened


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A module's redis-server. A test that breaks it starts one of its own."""
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server
