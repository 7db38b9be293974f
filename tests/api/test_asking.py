"""The behaviour that /api/chat, /rag/query and /vantage/query share: forms, faults, keys, leaving early.
What /rag has of its own: answers from memory, and what was said about them."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app import errors
from app.answering.question import Question
from app.api.schemas.rag import FeedbackReply
from app.db.keys import Caller
from app.services.feedback import Remark
from app.settings import Enable, Settings
from app.types import Scope
from tests.fakes.server import connected, events, post, told
from tests.fakes.services import DOCUMENT_ID, FakeAnswering, FakeKeys, FakeReply, Fakes

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


PATH = "/rag/query"


async def test_a_body_reaches_the_service_as_it_was_meant(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Every field of the contract."""
    overlay = {"role": "coach", "tone": "warm", "format": "a list", "instructions": "Ask back."}
    body = ASK | {"thread_id": "t", "top_k": 5, "overlay": overlay, "remember": True}

    assert (await client.post(PATH, json=body)).status_code == 200

    assert fakes.rag.asks == [
        Question(
            Scope(user_id="ada", thread_id="t"),
            "What helped me sleep?",
            top_k=5,
            overlay="Role: coach\nTone: warm\nFormat: a list\nInstructions: Ask back.",
            remember=True,
            debug=True,
        )
    ]


@pytest.mark.parametrize("overlay", ["x" * 8_001, {"mood": "glad"}])
async def test_an_overlay_that_does_not_fit_is_named(client: httpx.AsyncClient, overlay: object) -> None:
    problem = told(await client.post(PATH, json=ASK | {"overlay": overlay}), 422, "validation")

    assert all(fault["field"].startswith("body.overlay") for fault in problem["errors"])


@pytest.mark.parametrize("field", ["user_id", "message"])
async def test_what_must_be_there_is_asked_for(client: httpx.AsyncClient, field: str) -> None:
    body = {name: value for name, value in ASK.items() if name != field}

    problem = told(await client.post(PATH, json=body), 422, "validation")

    assert [fault["field"] for fault in problem["errors"]] == [f"body.{field}"]


@pytest.mark.parametrize(
    "change",
    [{"message": "x" * 32_000}, {"top_k": 1}, {"top_k": 50}, {"overlay": "x" * 8_000}, {"overlay": {}}],
)
async def test_the_edge_of_what_fits_is_taken(client: httpx.AsyncClient, change: dict[str, Any]) -> None:
    assert (await client.post(PATH, json=ASK | change)).status_code == 200


PATH_FEEDBACK = "/rag/feedback"
SAID = {"user_id": "ada", "message": "Thanks!"}


async def test_what_came_of_it(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """As the schema says; user, thread, answer and rating as given."""
    response = await client.post(PATH_FEEDBACK, json=SAID)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    assert response.json() == {
        "answer_id": "answer-1",
        "sentiment": "positive",
        "decided_by": "marker",
        "tag": None,
        "memory_ids": ["m1", "m2"],
        "applied": 2,
        "persona_refreshed": True,
    }
    FeedbackReply.model_validate(response.json())
    await client.post(
        PATH_FEEDBACK, json=SAID | {"thread_id": "t", "answer_id": DOCUMENT_ID, "rating": "down"}
    )
    ada = Scope(user_id="ada")
    assert fakes.feedback.remarks == [
        Remark(ada, "Thanks!"),
        Remark(replace(ada, thread_id="t"), "Thanks!", DOCUMENT_ID, "down"),
    ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"message": "Thanks!"}, "body.user_id"),
        ({"user_id": "ada"}, "body.message"),
        (SAID | {"message": " \n"}, "body.message"),
        (SAID | {"message": "\0"}, "body.message"),
        (SAID | {"user_id": ""}, "body.user_id"),
        (SAID | {"user_id": "a\nb"}, "body.user_id"),
        (SAID | {"rating": "sideways"}, "body.rating"),
        (SAID | {"rating": 1}, "body.rating"),
        (SAID | {"thread_id": ""}, "body.thread_id"),
        (SAID | {"answer_id": 7}, "body.answer_id"),
        (SAID | {"tag": "x"}, "body.tag"),
    ],
)
async def test_what_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, body: dict[str, object], field: str
) -> None:
    """Before anything is looked up."""
    problem = told(await client.post(PATH_FEEDBACK, json=body), 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == [field]
    assert fakes.feedback.remarks == []


@pytest.mark.parametrize(
    ("error", "status", "slug"),
    [
        (errors.Missing(), 404, "not-found"),
        (errors.Unavailable(retry_after=2), 503, "unavailable"),
        (errors.NoRoom(), 507, "no-room"),
    ],
    ids=["none", "away", "full"],
)
async def test_problems_are_told(
    client: httpx.AsyncClient, fakes: Fakes, error: errors.IbidError, status: int, slug: str
) -> None:
    """No such answer; Postgres away, or full."""
    fakes.feedback.error = error
    response = await client.post(PATH_FEEDBACK, json=SAID)
    told(response, status, slug)
    assert response.headers.get("retry-after") == ("2" if status == 503 else None)


async def test_a_user_key_speaks_for_its_user_alone(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """403 for another's feedback; a tenant key may give anybody's."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada"), "key": Caller("acme", None)}
    headers = {"Authorization": "Bearer ada-key"}
    told(await client.post(PATH_FEEDBACK, json=SAID | {"user_id": "bob"}, headers=headers), 403, "forbidden")
    assert (await client.post(PATH_FEEDBACK, json=SAID, headers=headers)).status_code == 200
    await client.post(PATH_FEEDBACK, json=SAID, headers={"Authorization": "Bearer key"})
    scopes = [remark.scope for remark in fakes.feedback.remarks]
    assert scopes == [Scope("acme", "ada", "ada"), Scope("acme", "", "ada")]
