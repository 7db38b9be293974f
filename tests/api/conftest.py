"""The whole app over hand-written services, and a client that speaks HTTP to it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from app.main import create_app
from app.settings import DocumentLimits, Ibid, Settings
from tests.fakes.logged import Lines, captured
from tests.fakes.server import browsing, running
from tests.fakes.services import Fakes


@pytest.fixture(autouse=True)
def lines() -> Iterator[Lines]:
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


@pytest.fixture
def app(fakes: Fakes, settings: Settings) -> FastAPI:
    return create_app(settings, fakes.services())


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
