"""The app as a whole: what holds for every route, whose the services are, and what is made ready before
the first message."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import cast

import httpx
import pytest

import app.main
from app.breaker import Breaker
from app.db.pool import Pool
from app.db.projects import Knowledge
from app.errors import InvalidField
from app.main import create_app, middleware
from app.services.services import Services
from app.settings import DocumentLimits, Settings
from app.types import Scope
from app.wiring import Resources, knowledge_service
from tests.fakes.answering import FakeModel
from tests.fakes.logged import captured
from tests.fakes.server import browsing, running, told
from tests.fakes.services import Fakes, FakeVectors

SETTINGS = Settings(_env_file=None)


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """A client of the whole app."""
    with captured():
        async with browsing(create_app(SETTINGS, Fakes().services())) as opened:
            yield opened


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/docs"),
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/openapi.json"),
        ("GET", "/nowhere"),
        ("PUT", "/api/chat"),
        ("POST", "/api/chat"),
        ("GET", "/api/documents"),
        ("GET", "/api/documents/x"),
    ],
)
async def test_every_response_carries_a_request_id(client: httpx.AsyncClient, method: str, path: str) -> None:
    """Pages, replies and problems alike."""
    response = await client.request(method, path, headers={"x-request-id": "mine"})

    assert response.headers.get_list("x-request-id") == ["mine"]


async def test_services_that_were_given_are_used_and_left_open() -> None:
    given = Fakes().services()
    app = create_app(SETTINGS, given)

    with captured():
        async with running(app) as address, httpx.AsyncClient(base_url=address) as client:
            assert (await client.get("/readyz")).status_code == 200

    assert app.state.services is given


async def test_without_given_services_they_are_opened_and_closed_with_the_app(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One lifetime: open before the first request, closed after the last."""
    seen: list[str] = []

    @asynccontextmanager
    async def opening(settings: Settings, *, apart: bool) -> AsyncIterator[Services]:
        seen.append("opened apart" if apart else "opened")
        yield Fakes().services()
        seen.append("closed")

    monkeypatch.setattr(app.main, "open_services", opening)
    with captured():
        async with running(create_app(SETTINGS)) as address, httpx.AsyncClient(base_url=address) as client:
            assert (await client.get("/readyz")).status_code == 200
            assert seen == ["opened apart"]

    assert seen == ["opened apart", "closed"]


def test_an_upload_may_be_as_large_as_the_setting_says() -> None:
    """With room for the form around the file."""
    paths = middleware(Settings(_env_file=None, document=DocumentLimits(max_mb=3)))[-1].kwargs["paths"]

    assert isinstance(paths, dict)
    assert 3 << 20 < paths["/api/documents"] < 4 << 20


def parts(pool: Pool, model: FakeModel) -> Resources:
    found = SimpleNamespace(pool=pool, model=model, embedder=FakeVectors(), postgres=Breaker(lambda: 0.0))
    return cast(Resources, found)


@pytest.mark.parametrize(("model", "words"), [("gpt-4o", 490), ("llama", 370)])
async def test_knowledge_may_take_a_quarter_of_the_window(pool: Pool, model: str, words: int) -> None:
    chat = {"context_tokens": 2_000, "model": model, "base_url": "http://127.0.0.1:9/v1"}
    service = knowledge_service(Settings(_env_file=None, chat=chat), parts(pool, FakeModel()))

    await service.put(Scope(project="THN"), Knowledge(rules="word " * words))
    with pytest.raises(InvalidField, match="may take 500"):
        await service.put(Scope(project="THN"), Knowledge(rules="word " * (words + 30)))


@pytest.mark.parametrize("path", ["/api/chat/", "/api/documents/", "/healthz/"])
async def test_a_trailing_slash_is_another_path(client: httpx.AsyncClient, path: str) -> None:
    """No redirect is built from the Host header that a client sent."""
    told(await client.get(path), 404, "not-found")
