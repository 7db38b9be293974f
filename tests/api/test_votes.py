"""/memory_feedback as a client sees it."""

import httpx
import pytest

from app import errors
from app.api.votes import COUNTS, EXAMPLES, IDS_MOST, VOTE, TalliesReply, VoteBody, VoteReply
from app.db.keys import Caller
from app.types import Scope
from tests.fakes.checks import told
from tests.fakes.services import DOCUMENT_ID, Fakes

PATH = "/memory_feedback"
VOTED = {"user_id": "ada", "memory_id": "m1", "signal": 1}
ADA = Scope(user_id="ada")


async def test_a_vote_is_taken(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """For an answer or for none; again with the same is told so."""
    replies = [
        await client.post(PATH, json=VOTED | more)
        for more in (
            {},
            {"signal": -1, "answer_id": DOCUMENT_ID},
            {"signal": -1, "answer_id": DOCUMENT_ID},
            {"signal": 0, "answer_id": DOCUMENT_ID},
        )
    ]
    assert [reply.status_code for reply in replies] == [200] * 4
    assert [reply.json() for reply in replies] == [
        {"memory_id": "m1", "signal": 1, "applied": True},
        {"memory_id": "m1", "signal": -1, "applied": True},
        {"memory_id": "m1", "signal": -1, "applied": False},
        {"memory_id": "m1", "signal": 0, "applied": True},
    ]
    VoteReply.model_validate(replies[0].json())
    assert fakes.signals.votes[:2] == [(ADA, "m1", 1, None), (ADA, "m1", -1, DOCUMENT_ID)]


@pytest.mark.parametrize(
    "query",
    ["ids=m1,m2", "ids=m1&ids=m2", "ids=m1,,m2%20&ids=m1"],
    ids=["commas", "repeated", "both, and blanks"],
)
async def test_votes_are_counted(client: httpx.AsyncClient, fakes: Fakes, query: str) -> None:
    """Of each that is asked for, once, however it is named."""
    response = await client.get(f"{PATH}?user_id=ada&{query}")
    assert response.status_code == 200
    assert response.json() == {
        "m1": {"positive": 3, "negative": 1},
        "m2": {"positive": 0, "negative": 0},
    }
    TalliesReply.model_validate(response.json())
    assert fakes.signals.asked == [(ADA, ["m1", "m2"])]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"memory_id": "m1", "signal": 1}, "body.user_id"),
        (VOTED | {"memory_id": ""}, "body.memory_id"),
        (VOTED | {"signal": 2}, "body.signal"),
        (VOTED | {"signal": "1"}, "body.signal"),
        (VOTED | {"signal": True}, "body.signal"),
        (VOTED | {"signal": 1.0}, "body.signal"),
        (VOTED | {"answer_id": ""}, "body.answer_id"),
        (VOTED | {"weight": 3}, "body.weight"),
    ],
)
async def test_a_vote_that_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, body: dict[str, object], field: str
) -> None:
    """Nothing but one up, one down or none is a vote."""
    problem = told(await client.post(PATH, json=body), 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == [field]
    assert fakes.signals.votes == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("ids=m1", "query.user_id"),
        ("user_id=ada", "query.ids"),
        ("user_id=ada&ids=%00", "query.ids.0"),
        ("user_id=&ids=m1", "query.user_id"),
        ("user_id=ada&ids=" + ",".join(f"m{n}" for n in range(IDS_MOST + 1)), "query.ids"),
        ("user_id=ada&ids=" + "m" * 201, "query.ids"),
    ],
    ids=["no user", "no ids", "NUL", "empty user", "too many", "too long"],
)
async def test_a_count_that_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, query: str, field: str
) -> None:
    """Bounded, so that one request counts a page's worth."""
    problem = told(await client.get(f"{PATH}?{query}"), 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == [field]
    assert fakes.signals.asked == []


async def test_another_s_memory_is_not_found(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """As one that is not there."""
    fakes.signals.error = errors.Missing()
    told(await client.post(PATH, json=VOTED), 404, "not-found")


async def test_a_user_key_votes_and_counts_for_its_user_alone(
    client: httpx.AsyncClient, fakes: Fakes
) -> None:
    """403 for another's."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    client.headers["Authorization"] = "Bearer ada-key"
    told(await client.post(PATH, json=VOTED | {"user_id": "bob"}), 403, "forbidden")
    told(await client.get(f"{PATH}?user_id=bob&ids=m1"), 403, "forbidden")
    assert (await client.post(PATH, json=VOTED)).status_code == 200
    assert fakes.signals.votes[0][0] == Scope("acme", "ada", "ada")


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_store_that_is_away_is_told(client: httpx.AsyncClient, fakes: Fakes, method: str) -> None:
    """Nothing is counted, and no vote taken."""
    fakes.signals.error = errors.Unavailable()
    sent = {"json": VOTED} if method == "POST" else {"params": {"user_id": "ada", "ids": "m1"}}
    told(await client.request(method, PATH, **sent), 503, "unavailable")


def test_the_examples_are_of_their_schemas() -> None:
    """All of them."""
    for example in EXAMPLES.values():
        VoteBody.model_validate(example["value"])
    VoteReply.model_validate(VOTE)
    TalliesReply.model_validate(COUNTS)
