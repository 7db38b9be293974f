"""/rag/feedback as a client sees it."""

from dataclasses import replace

import httpx
import pytest

from app import errors
from app.api.feedback import ASKED, EFFECT, EXAMPLES, FeedbackBody, FeedbackReply
from app.db.keys import Caller
from app.retrieval.tags import extract_tag_from_message
from app.services.feedback import Remark, marked_sentiment
from app.types import Scope
from tests.fakes.checks import told
from tests.fakes.services import DOCUMENT_ID, Fakes

PATH = "/rag/feedback"
SAID = {"user_id": "ada", "message": "Thanks!"}


async def test_what_came_of_it(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """As the schema says; user, thread, answer and rating as given."""
    response = await client.post(PATH, json=SAID)
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
    await client.post(PATH, json=SAID | {"thread_id": "t", "answer_id": DOCUMENT_ID, "rating": "down"})
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
    problem = told(await client.post(PATH, json=body), 422, "validation")
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
    response = await client.post(PATH, json=SAID)
    told(response, status, slug)
    assert response.headers.get("retry-after") == ("2" if status == 503 else None)


async def test_a_user_key_speaks_for_its_user_alone(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """403 for another's feedback; a tenant key may give anybody's."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada"), "key": Caller("acme", None)}
    headers = {"Authorization": "Bearer ada-key"}
    told(await client.post(PATH, json=SAID | {"user_id": "bob"}, headers=headers), 403, "forbidden")
    assert (await client.post(PATH, json=SAID, headers=headers)).status_code == 200
    await client.post(PATH, json=SAID, headers={"Authorization": "Bearer key"})
    scopes = [remark.scope for remark in fakes.feedback.remarks]
    assert scopes == [Scope("acme", "ada", "ada"), Scope("acme", "", "ada")]


def test_the_examples_are_of_their_schemas() -> None:
    """And what they say came of it is what would."""
    for example in EXAMPLES.values():
        FeedbackBody.model_validate(example["value"])
    assert set(FeedbackReply.model_fields) == set(EFFECT)
    FeedbackReply.model_validate(EFFECT)
    assert marked_sentiment(ASKED["message"]) == EFFECT["sentiment"]
    assert extract_tag_from_message(ASKED["message"]) == EFFECT["tag"]
