"""The behaviour that /api/chat, /rag/query and /vantage/query share: forms, faults, keys, leaving early."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app import errors
from app.db.keys import Caller
from app.settings import Enable, Settings
from app.types import Scope
from tests.fakes.server import connected, events, post, told
from tests.fakes.services import FakeAnswering, FakeKeys, FakeReply, Fakes

SOON = 0.5
"""Seconds within which a model's stream must be closed."""
ASK: dict[str, Any] = {"user_id": "ada", "message": "What helped me sleep?"}
EARLY = {
    "refused": (errors.ModelRefused(), 502),
    "busy": (errors.ModelBusy(retry_after=3), 503),
    "broken": (errors.ModelError(), 502),
    "slow": (errors.ModelTimeout(), 504),
    "overloaded": (errors.Overloaded(), 503),
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """With the routes of /vantage."""
    return settings.model_copy(update={"enable": Enable(vantage_endpoints=True)})


@pytest.fixture(params=["/api/chat", "/rag/query", "/vantage/query"])
def path(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def service(path: str, fakes: Fakes) -> FakeAnswering:
    services = {"/api/chat": fakes.chat, "/rag/query": fakes.rag, "/vantage/query": fakes.vantage}
    return services[path]


def asked(path: str, **changes: Any) -> bytes:
    """The request on the wire."""
    return post(path, json.dumps(ASK | changes).encode())


async def until(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not met():  # noqa: ASYNC110 - fakes are looked at from outside, they signal nothing
            await asyncio.sleep(0.005)


async def test_an_answer_comes_whole_or_as_events(
    client: httpx.AsyncClient, path: str, service: FakeAnswering
) -> None:
    """Its model's stream is closed either way. Chat streams by default, the others do not."""
    whole = await client.post(path, json=ASK | {"stream": False})
    streamed = await client.post(path, json=ASK | {"stream": True})
    default = await client.post(path, json=ASK)

    found = events(streamed.text)
    assert [event.name for event in found] == ["meta", "token", "token", "citations", "done"]
    assert whole.headers["content-type"] == "application/json"
    assert whole.json()["answer"] == "".join(event.data["text"] for event in found[1:3])
    assert ("session_id" in whole.json()) == (path == "/api/chat")
    streams = default.headers["content-type"] == "text/event-stream"
    assert (streams, service.reply.closings) == (path == "/api/chat", 3)


@pytest.mark.parametrize(("error", "status"), EARLY.values(), ids=EARLY.keys())
@pytest.mark.parametrize("stream", [True, False])
async def test_a_fault_before_the_answer_is_a_status(  # noqa: PLR0917 - fixtures
    client: httpx.AsyncClient,
    path: str,
    service: FakeAnswering,
    error: errors.IbidError,
    status: int,
    stream: bool,
) -> None:
    service.error = error

    response = await client.post(path, json=ASK | {"stream": stream})

    told(response, status, error.slug)
    assert response.headers.get("retry-after") == ("3" if error.retry_after else None)


async def test_a_fault_in_the_answer_is_an_event_or_a_status(
    client: httpx.AsyncClient, path: str, service: FakeAnswering
) -> None:
    """The text that was sent stays; nothing follows the error."""
    service.reply.error = errors.ModelTimeout("It said nothing for 60 s.")

    streamed = events((await client.post(path, json=ASK | {"stream": True})).text)

    assert [event.name for event in streamed] == ["meta", "token", "token", "error"]
    assert streamed[-1].data["type"] == "urn:ibid:problem:model-timeout"
    assert streamed[-1].data["detail"] == "It said nothing for 60 s."
    told(await client.post(path, json=ASK | {"stream": False}), 504, "model-timeout")
    assert service.reply.closings == 2


@pytest.mark.parametrize(("user", "status"), [("ada", 200), (None, 200), ("bob", 403)])
async def test_a_user_key_asks_for_its_own_user(
    client: httpx.AsyncClient, app: FastAPI, path: str, user: str | None, status: int
) -> None:
    app.state.services = Fakes(keys=FakeKeys({"k": Caller("acme", "ada")})).services()

    response = await client.post(path, json=ASK | {"user_id": user}, headers={"authorization": "Bearer k"})

    assert response.status_code == status
    if status == 403:
        told(response, 403, "forbidden")


async def test_a_tenant_key_asks_for_anybody(
    client: httpx.AsyncClient, path: str, service: FakeAnswering, fakes: Fakes
) -> None:
    fakes.keys.known = {"k": Caller("acme", None)}

    await client.post(path, json=ASK, headers={"authorization": "Bearer k"})

    scope = service.asks[0].scope
    assert (scope.tenant, scope.owner, scope.user_id) == ("acme", "", "ada")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_ends_the_answer_at_once(
    address: str, path: str, service: FakeAnswering, stream: bool
) -> None:
    """The model's stream is closed within 500 ms, whichever form was asked for."""
    service.reply = FakeReply(tokens=["word "], pause=0.02, endless=True)

    async with connected(address) as wire:
        await wire.send(asked(path, stream=stream))
        await until(lambda: service.reply.said >= 3)
        await wire.leave()

        async with asyncio.timeout(SOON):
            await service.reply.closed.wait()


async def test_a_client_that_leaves_during_the_search_ends_it(
    address: str, path: str, service: FakeAnswering
) -> None:
    service.delay = 30

    async with connected(address) as wire:
        await wire.send(asked(path))
        await until(lambda: bool(service.asks))
        await wire.leave()

        async with asyncio.timeout(SOON):
            await service.cancelled.wait()


async def test_a_silent_model_is_closed_as_soon_as_the_client_leaves(
    address: str, path: str, service: FakeAnswering
) -> None:
    """Leaving is noticed while no token comes."""
    service.reply = FakeReply(pause=30)

    async with connected(address) as wire:
        await wire.send(asked(path, stream=True))
        await wire.head()
        await wire.leave()

        async with asyncio.timeout(SOON):
            await service.reply.closed.wait()


BAD: dict[str, dict[str, Any]] = {
    "no message": {"message": None},
    "a blank message": {"message": " \n"},
    "a long message": {"message": "x" * 32_001},
    "NUL": {"message": "a\x00b"},
    "a number": {"message": 7},
    "top_k 0": {"top_k": 0},
    "top_k 51": {"top_k": 51},
    "top_k as text": {"top_k": "8"},
    "a blank user": {"user_id": ""},
    "a thread of two lines": {"thread_id": "a\nb"},
    "stream as text": {"stream": "yes"},
    "an unknown field": {"temperature": 1},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
async def test_a_field_that_does_not_fit_is_named(
    client: httpx.AsyncClient, path: str, service: FakeAnswering, change: dict[str, Any]
) -> None:
    """422, before anything is searched; the value does not come back."""
    response = await client.post(path, json=ASK | change)

    problem = told(response, 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == [f"body.{name}" for name in change]
    assert len(response.content) < 1_000
    assert service.asks == []


async def test_the_scope_is_the_request_s(
    client: httpx.AsyncClient, path: str, service: FakeAnswering
) -> None:
    """Chat's thread is the session; the others have the user's default thread."""
    await client.post(path, json=ASK)

    chat = Scope(user_id="ada", session_id="default", thread_id="default")
    assert service.asks[0].scope == (chat if path == "/api/chat" else Scope(user_id="ada"))
