"""The whole app with real stores, in this process: with every route and no model, with a scripted model, or
as a module sets it.

They share the worker's Postgres, in which each has a database, and its bundled model. The first two are there
once a worker: a test keeps to sessions and users of its own, leaves nothing in everybody's reach, and the
model as it found it. What a process decides (a kill, a signal, files) has one: `tests/fakes/process.py`.
"""

import itertools
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

import httpx
import pytest
from anyio.from_thread import BlockingPortal

from app.db.folder import Lock, read_lock
from app.main import create_app
from app.models.bundled import Bundled, open_bundled
from app.settings import Settings
from app.wiring import open_services
from tests.fakes.model import ModelServer, model_server
from tests.fakes.postgres import Databases
from tests.fakes.process import Service
from tests.fakes.server import running

EVERY = {"ENABLE_VANTAGE_ENDPOINTS": "1", "VANTAGE_PERSONAL_MEMORY": "1", "VANTAGE_DEBUG": "1"}
"""Settings with which every route is there."""

Server = TypeVar("Server")
serial = itertools.count()


@dataclass
class Talk:
    """A service and the model server it asks."""

    service: Service
    model: ModelServer


@dataclass
class Host:
    """Starts apps in this process, all in one loop, which is not the tests'."""

    portal: BlockingPortal
    databases: Databases
    bundled: Bundled
    folder: Path

    @contextmanager
    def __call__(self, **settings: str) -> Iterator[Service]:
        """One with these settings; embedded are its Chroma and its Qdrant, if the settings name none."""
        number = next(serial)
        folder = self.folder / f"app-{number}" / "data"
        name = "" if "POSTGRES_DSN" in settings else f"app_{number}"
        if name:
            settings["POSTGRES_DSN"] = self.portal.call(self.databases.lend, name)
        with patch.dict(os.environ, settings | {"IBID_DATA_DIR": str(folder)}):
            given = Settings(_env_file=None)
        with (
            self.beside(serving(given, self.bundled)) as lock,
            httpx.Client(base_url=lock.url, timeout=120, trust_env=False) as client,
        ):
            yield Service(folder, lock, client, settings["POSTGRES_DSN"])
        if name:
            self.portal.call(self.databases.back, name)

    def beside(self, server: AbstractAsyncContextManager[Server]) -> AbstractContextManager[Server]:
        """A fake server in the same loop."""
        return self.portal.wrap_async_context_manager(server)


@asynccontextmanager
async def serving(settings: Settings, bundled: Bundled) -> AsyncIterator[Lock]:
    """As `ibid serve` does."""
    async with (
        open_services(settings, bundled=bundled) as services,
        running(create_app(settings, services)) as url,
    ):
        services.publish(url)
        lock = read_lock(settings.ibid.data_dir)
        assert lock
        yield lock
        services.hurry()


@pytest.fixture(scope="session")
def host(
    beside: BlockingPortal, databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Host]:
    with beside.wrap_async_context_manager(open_bundled()) as bundled:
        yield Host(beside, databases, bundled, tmp_path_factory.mktemp("apps"))


@pytest.fixture(scope="session")
def house(host: Host) -> Iterator[Service]:
    """A service with every route and no model: extractive answers."""
    with host(**EVERY) as running:
        yield running


@pytest.fixture(scope="session")
def talk(host: Host) -> Iterator[Talk]:
    """A service whose chat model is a server of ours on loopback."""
    with host.beside(model_server()) as model, host(CHAT_BASE_URL=model.url) as running:
        yield Talk(running, model)
