"""Who calls: keys, the local token, the open service."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from app.api import vantage
from app.api.dependencies import shows_debug
from app.db.keys import Caller
from app.errors import Unavailable
from app.main import ROUTERS, create_app
from app.problems import speaks_openai
from app.settings import Enable, Settings
from app.types import Scope
from tests.fakes.server import browsing, connected, request_head, told
from tests.fakes.services import FakeKeys, Fakes

TENANT, USER = Caller("acme", None), Caller("acme", "ada")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"enable": Enable(vantage_endpoints=True)})


@pytest.fixture
def fakes() -> Fakes:
    """A service with two keys."""
    return Fakes(keys=FakeKeys({"tenant-key": TENANT, "user-key": USER}))


def bearing(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.mark.parametrize(
    ("key", "scope"),
    [
        ("tenant-key", Scope("acme")),
        ("user-key", Scope("acme", owner="ada", user_id="ada")),
        ("local-token", Scope("default")),
    ],
    ids=["tenant", "user", "local"],
)
async def test_a_key_decides_whose_documents_are_seen(
    client: httpx.AsyncClient, fakes: Fakes, key: str, scope: Scope
) -> None:
    """Tenant and owner come from the key alone."""
    response = await client.get("/api/documents", headers=bearing(key))

    assert response.status_code == 200
    assert fakes.documents.scopes == [scope]


async def test_without_a_key_a_service_with_keys_is_closed(client: httpx.AsyncClient) -> None:
    """401, and how to do better."""
    response = await client.get("/api/documents")

    told(response, 401, "unauthorized")
    assert response.headers["www-authenticate"] == 'Bearer realm="ibid"'


BAD = {
    "unknown": "Bearer nobody",
    "empty": "Bearer ",
    "scheme": "Basic dXNlcjpwYXNz",
    "bare": "tenant-key",
    "nothing": "",
    "control": "Bearer tenant-key\x01",
}


@pytest.mark.parametrize("given", BAD.values(), ids=BAD.keys())
async def test_a_bad_key_is_a_401(client: httpx.AsyncClient, given: str) -> None:
    """Whatever is wrong with it; the key is not repeated."""
    response = await client.get("/api/documents", headers={"authorization": given})

    told(response, 401, "unauthorized")
    assert "nobody" not in response.text


async def test_a_bad_key_is_refused_by_the_open_service_too(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Who sends a key means to be somebody: to be taken for nobody would mix up whose data it is."""
    fakes.keys.known = {}

    told(await client.get("/api/documents", headers=bearing("nobody")), 401, "unauthorized")


ROUTES = [
    (method, re.sub(r"\{[\w:]+\}", "x", route.path))
    for router in (*ROUTERS, vantage.router)
    for route in router.routes
    if isinstance(route, APIRoute) and "health" not in route.tags and route.include_in_schema
    for method in sorted(route.methods or ())
]
SENDING = [(method, path) for method, path in ROUTES if method in {"POST", "PUT", "PATCH"}]
ASKING = [(method, path) for method, path in ROUTES if method in {"GET", "DELETE"}]


@pytest.mark.parametrize("lines", [(), ("Authorization: Bearer nobody",)], ids=["no", "wrong"])
async def test_the_key_is_asked_for_before_the_body_is_read(address: str, lines: tuple[str, ...]) -> None:
    """On every path that takes one: it is refused before a byte of the body has come."""
    told = {}
    for method, path in SENDING:
        kind = "multipart/form-data; boundary=b" if path == "/api/documents" else "application/json"
        head = request_head(path, f"Content-Type: {kind}", "Content-Length: 1000000", *lines)
        async with connected(address) as wire, asyncio.timeout(20):
            await wire.send(head.replace(b"POST", method.encode(), 1))
            told[method, path] = (await wire.answer()).status

    assert told == dict.fromkeys(SENDING, 401)


@pytest.mark.parametrize(("method", "path"), [each for each in ASKING if not speaks_openai(each[1])])
async def test_a_parameter_that_nobody_knows_is_refused(
    client: httpx.AsyncClient, method: str, path: str
) -> None:
    """Misspelt, it would make a list longer than was meant, or a removal wider. OpenAI's protocol ignores
    it."""
    response = await client.request(method, f"{path}?sesion_id=s", headers=bearing("tenant-key"))

    assert told(response, 422, "validation")["errors"] == [
        {"field": "query.sesion_id", "message": "sesion_id is not a known parameter"}
    ]


async def test_keys_that_cannot_be_looked_up_are_a_503(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Not a 401: the caller has done nothing wrong."""
    fakes.keys.error = Unavailable("keys cannot be looked up", retry_after=2)

    response = await client.get("/api/documents", headers=bearing("tenant-key"))

    told(response, 503, "unavailable")
    assert response.headers["retry-after"] == "2"


async def test_an_empty_local_token_opens_nothing(
    client: httpx.AsyncClient, fakes: Fakes, app: FastAPI
) -> None:
    """A service without a folder has none."""
    fakes.token = ""
    app.state.services = fakes.services()

    told(await client.get("/api/documents", headers=bearing("")), 401, "unauthorized")


def calls(dependant: Dependant) -> Iterator[object]:
    """Every dependency below one, itself included."""
    yield dependant.call
    for each in dependant.dependencies:
        yield from calls(each)


@pytest.mark.parametrize(
    ("setting", "keys", "shown"),
    [(True, {"k": TENANT}, True), (False, {}, False), (None, {}, True), (None, {"k": TENANT}, False)],
    ids=["on", "off", "unset-open", "unset-closed"],
)
async def test_debug_is_shown_as_set_or_while_the_service_is_open(
    setting: bool | None, keys: dict[str, Caller], shown: bool
) -> None:
    services = Fakes(keys=FakeKeys(keys), debug=setting).services()

    assert await shows_debug(services) is shown


async def test_debug_is_not_shown_while_nobody_can_tell() -> None:
    """An outage must not open it, nor fail the answer."""

    class Down(FakeKeys):
        async def any(self) -> bool:
            raise Unavailable

    assert await shows_debug(Fakes(keys=Down(), debug=None).services()) is False


ABOUT_A_USER: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("POST", "/rag/query", {"message": "What helped me sleep?"}),
    ("POST", "/rag/feedback", {"message": "Thanks!"}),
    ("POST", "/vantage/query", {"message": "What helped me sleep?"}),
    ("POST", "/vantage/feedback", {"message": "Thanks!"}),
    ("POST", "/memories", {"text": "Prefers tea."}),
    ("GET", "/memories", {}),
    ("POST", "/memory_feedback", {"memory_id": "m1", "signal": 1}),
    ("GET", "/memory_feedback", {"ids": "m1"}),
)


@pytest.mark.parametrize(
    ("method", "path", "given"), ABOUT_A_USER, ids=[f"{m} {p}" for m, p, _ in ABOUT_A_USER]
)
async def test_a_user_key_implies_its_user_and_a_tenant_key_must_name_one(
    fakes: Fakes, settings: Settings, method: str, path: str, given: dict[str, Any]
) -> None:
    """In bodies and queries; another user is refused."""
    enabled = settings.model_copy(update={"enable": Enable(vantage_endpoints=True)})
    place = "query" if method == "GET" else "body"
    bob = given | {"user_id": "bob"}

    async with browsing(create_app(enabled, fakes.services())) as client:
        implied, forbidden, missing, named = [
            await (
                client.get(path, params=said, headers=bearing(key))
                if method == "GET"
                else client.post(path, json=said, headers=bearing(key))
            )
            for key, said in (
                ("user-key", given),
                ("user-key", bob),
                ("tenant-key", given),
                ("tenant-key", bob),
            )
        ]

    assert (implied.is_success, forbidden.status_code, named.is_success) == (True, 403, True)
    problem = told(missing, 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == [f"{place}.user_id"]


@pytest.mark.parametrize(("key", "user"), [("user-key", "ada"), ("tenant-key", None)])
@pytest.mark.parametrize("shape", ["cards", "facts"])
async def test_what_a_user_key_tells_a_namespace_is_its_users(
    fakes: Fakes, settings: Settings, key: str, user: str | None, shape: str
) -> None:
    """A tenant key that names nobody tells all of its users."""
    enabled = settings.model_copy(update={"enable": Enable(vantage_endpoints=True)})
    async with browsing(create_app(enabled, fakes.services())) as client:
        body = {"vantage_id": "clinic", "text": "Closed on Wednesdays."}
        response = await client.post(f"/vantage/{shape}", json=body, headers=bearing(key))

    assert response.json()["user_id"] == user
