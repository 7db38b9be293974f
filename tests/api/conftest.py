"""The whole app over hand-written services, and a client that speaks HTTP to it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.datastructures import State

from app.config import DocumentLimits, Ibid, Settings
from app.main import create_app
from app.services.services import Services
from tests.fakes.logged import Lines, captured
from tests.fakes.server import browsing, running
from tests.fakes.services import Fakes

APPS: dict[str, FastAPI] = {}
"""Those of this worker, by their settings."""


@pytest.fixture(autouse=True)
def lines() -> Iterator[Lines]:
    """What is logged meanwhile."""
    with captured() as found:
        yield found


@pytest.fixture
def fakes() -> Fakes:
    """What stands behind the API."""
    return Fakes()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """The defaults, but a file may have 1 MiB only."""
    return Settings(_env_file=None, ibid=Ibid(data_dir=tmp_path), document=DocumentLimits(max_mb=1))


def served(settings: Settings, services: Services) -> FastAPI:
    """The app of these settings, with these services alone. FastAPI completes each route when it is first
    looked at, 6 ms of a processor, and to find one looks at all before it: 40 ms for the first request of a
    new app. So one is made for each kind of settings, of which the data folder is not built in."""
    kind = settings.model_dump_json(exclude={"ibid": {"data_dir"}})
    if kind not in APPS:
        APPS[kind] = create_app(settings, services)
    APPS[kind].state = State({"settings": settings, "services": services})
    return APPS[kind]


@pytest.fixture
def app(fakes: Fakes, settings: Settings) -> FastAPI:
    """The app."""
    return served(settings, fakes.services())


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A client on this machine, without a key."""
    async with browsing(app) as opened:
        yield opened


@pytest.fixture
async def address(app: FastAPI) -> AsyncIterator[str]:
    """The app behind a real socket."""
    async with running(app) as found:
        yield found
