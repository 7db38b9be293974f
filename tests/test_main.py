"""The app as a whole: what holds for every route, and whose the services are."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

import app.main
from app.main import create_app, middleware
from app.services.services import Services
from app.settings import DocumentLimits, Settings
from tests.fakes.checks import told
from tests.fakes.logged import captured
from tests.fakes.server import browsing, running
from tests.fakes.services import Fakes

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


@pytest.mark.parametrize("path", ["/api/chat/", "/api/documents/", "/healthz/"])
async def test_a_trailing_slash_is_another_path(client: httpx.AsyncClient, path: str) -> None:
    """No redirect is built from the Host header that a client sent."""
    told(await client.get(path), 404, "not-found")


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
