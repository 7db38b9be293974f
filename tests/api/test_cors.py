"""IBID_CORS_ORIGINS: pages of the named origins may call the service with a key, others never."""

from collections.abc import AsyncIterator

import httpx
import pytest

from app.db.keys import Caller
from app.errors import StartError
from app.main import create_app
from app.settings import Ibid, Settings, load
from tests.fakes.server import browsing, told
from tests.fakes.services import Fakes

APP = "https://app.example.org"
KEY = "a-key-of-acme"
EXPOSED = {"x-request-id", "ratelimit", "ratelimit-policy", "retry-after"}
ALLOWED = "access-control-allow-origin"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    allowed = Ibid(data_dir=settings.ibid.data_dir, cors_origins=f"{APP}, http://localhost:5173")
    return settings.model_copy(update={"ibid": allowed})


@pytest.fixture
async def closed(settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a service that has a key."""
    fakes = Fakes()
    fakes.keys.known = {KEY: Caller("acme", None)}
    async with browsing(create_app(settings, fakes.services())) as opened:
        yield opened


def preflight(origin: str, method: str = "POST") -> dict[str, str]:
    asked = "authorization, content-type, last-event-id, x-ibid-session, x-stainless-lang"
    return {
        "Origin": origin,
        "Access-Control-Request-Method": method,
        "Access-Control-Request-Headers": asked,
    }


@pytest.mark.parametrize("origin", [APP, "http://localhost:5173"])
@pytest.mark.parametrize("path", ["/api/chat", "/nowhere", "/api/sessions/s"])
async def test_a_preflight_of_a_named_origin_is_answered(
    closed: httpx.AsyncClient, path: str, origin: str
) -> None:
    """Without a key: browsers send none with it."""
    response = await closed.options(path, headers=preflight(origin, "DELETE"))
    assert response.status_code == 200
    assert response.headers[ALLOWED] == origin
    assert "DELETE" in response.headers["access-control-allow-methods"]
    assert "x-ibid-session" in response.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in response.headers
    assert "Origin" in response.headers["vary"]
    assert response.headers["x-request-id"]


@pytest.mark.parametrize("origin", ["https://evil.example", f"{APP}.evil.example", "null", APP.upper()])
async def test_no_other_origin_is_allowed(closed: httpx.AsyncClient, origin: str) -> None:
    refused = await closed.options("/api/chat", headers=preflight(origin))
    read = await closed.get("/api/sessions", headers={"Origin": origin, "Authorization": f"Bearer {KEY}"})
    assert refused.status_code == 400
    assert ALLOWED not in refused.headers
    assert ALLOWED not in read.headers


async def test_answers_and_errors_can_be_read(closed: httpx.AsyncClient) -> None:
    """By the page that asked: also a refusal of the key, of the body, of the path, and of the method."""
    keyed = {"Origin": APP, "Authorization": f"Bearer {KEY}"}
    answers = [
        (200, await closed.get("/api/sessions", headers=keyed)),
        (401, await closed.get("/api/sessions", headers={"Origin": APP})),
        (401, await closed.get("/api/sessions", headers=keyed | {"Authorization": "Bearer other"})),
        (404, await closed.get("/nowhere", headers=keyed)),
        (405, await closed.put("/api/chat", headers=keyed)),
        (413, await closed.post("/api/chat", content=b"x" * (3 << 20), headers=keyed)),
        (415, await closed.post("/api/chat", content=b"{}", headers=keyed)),
        (422, await closed.post("/api/chat", json={"message": " "}, headers=keyed)),
    ]
    for status, response in answers:
        assert response.status_code == status, response.text
        assert response.headers[ALLOWED] == APP
        assert {*response.headers["access-control-expose-headers"].lower().split(", ")} >= EXPOSED
        assert "access-control-allow-credentials" not in response.headers


async def test_the_open_service_stays_closed_to_pages(client: httpx.AsyncClient) -> None:
    """Named or not, a page needs a key."""
    for origin in (APP, "http://localhost:5173", "https://evil.example"):
        response = await client.get("/api/sessions", headers={"Origin": origin})
        told(response, 403, "local-only")
    own = await client.get("/api/sessions", headers={"Origin": "http://127.0.0.1"})
    assert own.status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "https://*.example.org",
        "https://app.example.org/",
        "https://app.example.org/path",
        "app.example.org",
        "https://App.example.org",
        "https://app.example.org:443",
        "http://app.example.org:80",
        "https://ann@app.example.org",
        "null",
        "https://one.example, *",
        "file://",
    ],
)
def test_what_is_no_exact_origin_stops_the_start(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("IBID_CORS_ORIGINS", text)
    with pytest.raises(StartError, match=r"IBID_CORS_ORIGINS: .*no exact origin"):
        load(None)
