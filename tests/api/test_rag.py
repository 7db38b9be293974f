"""/rag: answers from memory, and what was said about them."""

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from app import errors
from app.answering.question import Question
from app.api.schemas.rag import FeedbackReply, RagReply
from app.api.wire import encoded
from app.db.keys import Caller
from app.services.feedback import Remark
from app.types import Scope
from tests.fakes.server import told
from tests.fakes.services import DOCUMENT_ID, Fakes
from tests.services.test_rag import House

ASK: dict[str, Any] = {"user_id": "ada", "message": "What helped me sleep?"}
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


async def test_what_is_left_out_has_its_default(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Eight reference texts, the user's default thread, nothing remembered."""
    await client.post(PATH, json=ASK)

    assert fakes.rag.asks == [Question(Scope(user_id="ada"), "What helped me sleep?", top_k=8, debug=True)]


async def test_an_overlay_may_be_text(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Or an object of its parts."""
    await client.post(PATH, json=ASK | {"overlay": "Answer in two sentences."})

    assert fakes.rag.asks[0].overlay == "Answer in two sentences."


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
