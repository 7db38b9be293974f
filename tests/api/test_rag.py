"""/rag: answers from memory, and what was said about them."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app import errors
from app.answering.question import Question
from app.api.schemas.memories import FeedbackReply, RagReply
from app.api.wire import encoded
from app.db.keys import Caller
from app.services.feedback import Remark
from app.types import Scope
from tests.api.test_chat import EARLY, SOON, said, until
from tests.fakes.checks import told
from tests.fakes.server import connected, events, post
from tests.fakes.services import DOCUMENT_ID, FakeKeys, FakeReply, Fakes
from tests.services.test_rag import House

ASK: dict[str, Any] = {"user_id": "ada", "message": "What helped me sleep?"}
PATH = "/rag/query"


async def test_an_answer_comes_whole_unless_events_are_asked_for(
    client: httpx.AsyncClient, fakes: Fakes
) -> None:
    """One JSON object by default; `stream: true` gives chat's events. The reply is closed either way."""
    whole = await client.post(PATH, json=ASK)
    streamed = await client.post(PATH, json=ASK | {"stream": True})

    assert (whole.json()["answer_id"], whole.json()["answer"]) == ("answer-1", "Paper [memory#k3v9q2ax].")
    assert "session_id" not in whole.json()
    assert [event.name for event in events(streamed.text)] == ["meta", "token", "token", "citations", "done"]
    assert streamed.headers["content-type"] == "text/event-stream"
    assert fakes.rag.reply.closings == 2


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


async def test_what_is_left_out_has_its_default(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Eight reference texts, the user's default thread, nothing remembered."""
    await client.post(PATH, json=ASK)

    assert fakes.rag.asks == [Question(Scope(user_id="ada"), "What helped me sleep?", top_k=8, debug=True)]


async def test_an_overlay_may_be_text(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Or an object of its parts."""
    await client.post(PATH, json=ASK | {"overlay": "Answer in two sentences."})

    assert fakes.rag.asks[0].overlay == "Answer in two sentences."


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"message": ""}, "body.message", id="no message"),
        pytest.param({"message": " \n"}, "body.message", id="a blank message"),
        pytest.param({"message": "x" * 32_001}, "body.message", id="a long message"),
        pytest.param({"top_k": 0}, "body.top_k", id="no passages"),
        pytest.param({"top_k": 51}, "body.top_k", id="many passages"),
        pytest.param({"top_k": "8"}, "body.top_k", id="a number as text"),
        pytest.param({"overlay": "x" * 8_001}, "body.overlay", id="a long overlay"),
        pytest.param({"overlay": {"mood": "glad"}}, "body.overlay", id="an unknown part of the overlay"),
        pytest.param({"user_id": ""}, "body.user_id", id="nobody"),
        pytest.param({"user_id": None}, "body.user_id", id="no user"),
        pytest.param({"thread_id": "a\nb"}, "body.thread_id", id="a thread of two lines"),
        pytest.param({"session_id": "s"}, "body.session_id", id="an unknown field"),
    ],
)
async def test_a_field_that_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, change: dict[str, Any], field: str
) -> None:
    """422 with the field's path, and nothing is asked of the service."""
    problem = told(await client.post(PATH, json=ASK | change), 422, "validation")

    assert {fault["field"] for fault in problem["errors"]} <= {field} or all(
        fault["field"].startswith(field) for fault in problem["errors"]
    )
    assert fakes.rag.asks == []


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


@pytest.mark.parametrize(("error", "status"), EARLY.values(), ids=EARLY.keys())
@pytest.mark.parametrize("stream", [True, False])
async def test_a_fault_before_the_answer_is_a_status(
    client: httpx.AsyncClient, fakes: Fakes, error: errors.IbidError, status: int, stream: bool
) -> None:
    """As in chat."""
    fakes.rag.error = error

    response = await client.post(PATH, json=ASK | {"stream": stream})

    told(response, status, error.slug)
    assert response.headers.get("retry-after") == ("3" if error.retry_after else None)


async def test_a_fault_in_the_answer_is_an_event_or_a_status(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """An event where something was said already."""
    fakes.rag.reply.error = errors.ModelTimeout()

    streamed = await client.post(PATH, json=ASK | {"stream": True})

    assert [event.name for event in events(streamed.text)] == ["meta", "token", "token", "error"]
    told(await client.post(PATH, json=ASK), 504, "model-timeout")


@pytest.mark.parametrize(("user", "status"), [("ada", 200), ("bob", 403)])
async def test_a_user_key_asks_for_its_own_user(
    client: httpx.AsyncClient, app: FastAPI, user: str, status: int
) -> None:
    app.state.services = Fakes(keys=FakeKeys({"k": Caller("acme", "ada")})).services()

    response = await client.post(PATH, json=ASK | {"user_id": user}, headers={"authorization": "Bearer k"})

    assert response.status_code == status
    if status == 403:
        told(response, 403, "forbidden")


async def test_a_tenant_key_asks_for_anybody(client: httpx.AsyncClient, app: FastAPI) -> None:
    fakes = Fakes(keys=FakeKeys({"k": Caller("acme", None)}))
    app.state.services = fakes.services()

    await client.post(PATH, json=ASK, headers={"authorization": "Bearer k"})

    assert fakes.rag.asks[0].scope == Scope(tenant="acme", user_id="ada")


def asked(**changes: Any) -> bytes:
    """The request on the wire."""
    return post(PATH, json.dumps(ASK | changes).encode())


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_ends_the_answer_at_once(address: str, fakes: Fakes, stream: bool) -> None:
    """The model's stream is closed within 500 ms, whichever form was asked for."""
    fakes.rag.reply = FakeReply(tokens=["word "], pause=0.02, endless=True)

    async with connected(address) as wire:
        await wire.send(asked(stream=stream))
        await said(fakes.rag.reply, 3)
        await wire.leave()

        async with asyncio.timeout(SOON):
            await fakes.rag.reply.closed.wait()


async def test_a_client_that_leaves_during_the_search_ends_it(address: str, fakes: Fakes) -> None:
    """Nothing was said yet, and nothing will be."""
    fakes.rag.delay = 30

    async with connected(address) as wire:
        await wire.send(asked())
        await until(lambda: bool(fakes.rag.asks))
        await wire.leave()

        async with asyncio.timeout(SOON):
            await fakes.rag.cancelled.wait()


@pytest.mark.parametrize("message", ["what helped me sleep", "hey again!"], ids=["a question", "a greeting"])
async def test_the_model_of_a_reply_has_all_that_the_service_says(message: str) -> None:
    """Nothing is lost or added on the way out."""
    whole = await House().told(message, debug=True)
    assert json.loads(encoded(RagReply.model_validate(whole))) == whole


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
