"""/memories, /memory_feedback, /temporal, /profiles and /corpus."""

import httpx
import pytest

from app import errors
from app.api.schemas.corpus import CollectionPage, TextPage, TextsWritten
from app.api.schemas.memories import (
    IDS_MOST,
    LastActivity,
    MemoryWritten,
    VoteCounts,
    VoteReply,
)
from app.db.corpus import ReferenceDraft
from app.db.keys import Caller
from app.db.memories import MemoryOutcome, Moment
from app.types import Scope
from tests.fakes.server import told
from tests.fakes.services import DOCUMENT_ID, Fakes, kept

MEMORY = {"user_id": "ada", "text": "I moved."}
ID = kept().id


async def test_a_memory_is_kept(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """201 with it, in the name of its user."""
    response = await client.post("/memories", json=MEMORY)

    assert response.status_code == 201
    MemoryWritten.model_validate(response.json())
    assert response.json()["memory"]["text"] == "I moved."
    ((scope, (draft,)),) = fakes.memories.asks
    assert (scope, draft.text) == (Scope(user_id="ada"), "I moved.")


@pytest.mark.parametrize("outcome", [MemoryOutcome.REPEATED, MemoryOutcome.ECHO])
async def test_nothing_new_is_no_creation(
    client: httpx.AsyncClient, fakes: Fakes, outcome: MemoryOutcome
) -> None:
    """200, and what became of it."""
    fakes.memories.outcomes = [outcome]

    response = await client.post("/memories", json=MEMORY)

    assert (response.status_code, response.json()["outcome"]) == (200, outcome.value)
    assert (response.json()["memory"] is None) == (outcome is MemoryOutcome.ECHO)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"text": "a"}, "body.user_id"),
        ([{"text": "a"}], "body.0.user_id"),
        ([MEMORY, MEMORY | {"user_id": "bob"}], "body.1.user_id"),
        (MEMORY | {"origin": "gravity_daemon"}, "body.origin"),
        ([MEMORY, MEMORY | {"created_at": "yesterday"}], "body.1.created_at"),
        ([], "body"),
        ("I moved.", "body"),
    ],
)
async def test_what_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, sent: object, field: str
) -> None:
    problem = told(await client.post("/memories", json=sent), 422, "validation")

    assert [fault["field"] for fault in problem["errors"]] == [field]
    assert fakes.memories.asks == []


async def test_a_user_key_is_that_user(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Named or not; nobody else."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    headers = {"Authorization": "Bearer ada-key"}
    await client.post("/memories", json={"text": "I moved."}, headers=headers)
    await client.get("/memories", headers=headers)
    await client.delete(f"/memories/{ID}", headers=headers)

    ada = Scope("acme", "ada", "ada")
    assert [scope for scope, _ in fakes.memories.asks] == [ada]
    assert [scope for scope, *_ in fakes.memories.pages] == [ada, ada]
    stranger = MEMORY | {"user_id": "bob"}
    told(await client.post("/memories", json=stranger, headers=headers), 403, "forbidden")
    told(await client.get("/memories?user_id=bob", headers=headers), 403, "forbidden")


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
    VoteCounts.model_validate(response.json())
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


async def test_a_user_key_votes_and_counts_for_its_user_alone(
    client: httpx.AsyncClient, fakes: Fakes
) -> None:
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    client.headers["Authorization"] = "Bearer ada-key"
    told(await client.post(PATH, json=VOTED | {"user_id": "bob"}), 403, "forbidden")
    told(await client.get(f"{PATH}?user_id=bob&ids=m1"), 403, "forbidden")
    assert (await client.post(PATH, json=VOTED)).status_code == 200
    assert fakes.signals.votes[0][0] == Scope("acme", "ada", "ada")


async def test_when_somebody_was_last_here(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """A time as RFC 3339, seconds to the millisecond."""
    response = await client.get("/temporal/ada")
    assert response.status_code == 200
    assert response.json() == {
        "bucket": "days",
        "last_message_at": "2026-11-19T09:30:40.500000Z",
        "seconds_since": 172_800.0,
    }
    LastActivity.model_validate(response.json())
    assert fakes.signals.scopes == [Scope(user_id="ada")]


async def test_somebody_who_never_was(client: httpx.AsyncClient, fakes: Fakes) -> None:
    fakes.signals.moment = Moment("new")
    response = await client.get("/temporal/nobody")
    assert response.json() == {"bucket": "new", "last_message_at": None, "seconds_since": None}
    LastActivity.model_validate(response.json())


@pytest.mark.parametrize(
    ("path", "user"),
    [("ada%40example.org", "ada@example.org"), ("team%2Fada", "team/ada"), ("%E6%97%A5%20x", "日 x")],
)
async def test_any_user_can_be_named(client: httpx.AsyncClient, fakes: Fakes, path: str, user: str) -> None:
    """As the other endpoints take them: with slashes and blanks too."""
    assert (await client.get(f"/temporal/{path}")).status_code == 200
    assert fakes.signals.scopes == [Scope(user_id=user)]


async def test_a_user_key_asks_for_its_user_alone(client: httpx.AsyncClient, fakes: Fakes) -> None:
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    client.headers["Authorization"] = "Bearer ada-key"
    told(await client.get("/temporal/bob"), 403, "forbidden")
    assert (await client.get("/temporal/ada")).status_code == 200
    assert fakes.signals.scopes == [Scope("acme", "ada", "ada")]


PATH_PROFILES = "/profiles"


async def test_all_users_page_by_page(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """`next` is the cursor of the following page; the last has none."""
    first = (await client.post(PATH_PROFILES, json={})).json()
    second = (await client.post(PATH_PROFILES, json={"cursor": first["next"]})).json()
    assert [page["items"][0]["user_id"] for page in (first, second)] == ["ada", "bob"]
    assert [page["next"] for page in (first, second)] == ["ada", None]
    assert {page["users"] for page in (first, second)} == {2}
    assert fakes.profiles.pages == ["", "ada"]


async def test_a_user_key_may_not(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Not even for its own user."""
    fakes.keys.known = {"k": Caller("acme", "ada")}
    response = await client.post(
        PATH_PROFILES, json={"user_id": "ada"}, headers={"Authorization": "Bearer k"}
    )
    assert response.status_code == 403
    assert response.json()["type"] == "urn:ibid:problem:forbidden"
    assert fakes.profiles.scopes == []


async def test_a_tenant_key_is_its_own_tenant_s(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Another's is refused, its own may be named."""
    fakes.keys.known = {"k": Caller("acme", None)}
    key = {"Authorization": "Bearer k"}
    body = {"user_id": "ada"}
    assert (await client.post(PATH_PROFILES, json=body | {"tenant": "other"}, headers=key)).status_code == 403
    assert (await client.post(PATH_PROFILES, json=body | {"tenant": "acme"}, headers=key)).status_code == 200
    assert fakes.profiles.scopes == [Scope("acme", user_id="ada")]


async def test_commands_of_this_machine_name_any_tenant(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """With the data folder's token; a caller without a key may not."""
    body = {"user_id": "ada", "tenant": "acme"}
    local = {"Authorization": f"Bearer {fakes.token}"}
    assert (await client.post(PATH_PROFILES, json=body)).status_code == 403
    assert (await client.post(PATH_PROFILES, json=body, headers=local)).status_code == 200
    assert fakes.profiles.scopes == [Scope("acme", user_id="ada")]


@pytest.mark.parametrize(
    ("body", "field"),
    [({"user_id": ""}, "body.user_id"), ({"user": "ada"}, "body.user"), ({"cursor": "\n"}, "body.cursor")],
    ids=["blank", "unknown", "two lines"],
)
async def test_bodies_are_held_to_their_form(
    client: httpx.AsyncClient, body: dict[str, str], field: str
) -> None:
    response = await client.post(PATH_PROFILES, json=body)
    assert response.status_code == 422
    assert field in response.text


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/memories", MEMORY),
        ("DELETE", f"/memories/{ID}", None),
        ("POST", PATH, VOTED),
        ("GET", f"{PATH}?user_id=ada&ids=m1", None),
        ("GET", "/temporal/ada", None),
        ("POST", PATH_PROFILES, {"user_id": "ada"}),
    ],
)
async def test_a_store_that_is_away_is_a_503(
    client: httpx.AsyncClient, fakes: Fakes, method: str, path: str, body: object
) -> None:
    """With the time to ask again: nothing that is not kept is acknowledged."""
    error = errors.Unavailable("down", retry_after=2)
    fakes.memories.error = fakes.signals.error = fakes.profiles.error = error

    response = await client.request(method, path, json=body)

    told(response, 503, "unavailable")
    assert response.headers["retry-after"] == "2"


TEXTS = {"texts": ["Light delays sleep.", {"id": "a1", "text": "Keep the hours."}]}


async def test_texts_are_kept(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """201 with what became of each; 200 where all of them replaced others."""
    response = await client.post("/corpus/sleep", json=TEXTS)
    fakes.corpus.fresh = False
    again = await client.post("/corpus/sleep", json=TEXTS)

    assert (response.status_code, again.status_code) == (201, 200)
    TextsWritten.model_validate(response.json())
    assert [item["id"] for item in response.json()["items"]] == ["made", "a1"]
    assert [item["outcome"] for item in again.json()["items"]] == ["replaced", "replaced"]
    scope, collection, texts = fakes.corpus.asks[0]
    assert (scope, collection) == (Scope(), "sleep")
    assert texts == [ReferenceDraft("Light delays sleep."), ReferenceDraft("Keep the hours.", "a1")]


@pytest.mark.parametrize("name", ["ab", "memory_raw", "Memory_Raw", "a%20b", "-abc", "x" * 101])
async def test_not_every_name_is_a_collection_s(client: httpx.AsyncClient, name: str) -> None:
    """Safe on any disk, and not the memories'."""
    problem = told(await client.post(f"/corpus/{name}", json=TEXTS), 422, "validation")

    assert problem["errors"][0]["field"] == "path.collection"


async def test_collections_are_listed(client: httpx.AsyncClient) -> None:
    response = await client.get("/corpus")

    CollectionPage.model_validate(response.json())
    assert response.json()["items"] == [
        {"collection": "sleep", "texts": 2, "tokens": 18, "updated_at": "2026-11-21T12:00:00Z"}
    ]


async def test_whose_key_it_is_is_the_service_s_to_judge(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """It is told who asks; its refusal is a 403."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    fakes.corpus.error = errors.Forbidden("the corpus needs a tenant key")
    headers = {"Authorization": "Bearer ada-key"}

    told(await client.post("/corpus/sleep", json=TEXTS, headers=headers), 403, "forbidden")
    told(await client.delete("/corpus/sleep/a1", headers=headers), 403, "forbidden")
    assert {scope for scope, *_ in fakes.corpus.asks} == {Scope("acme", "ada", "ada")}


async def test_a_collection_is_removed(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """204; one that is not there 404, one more than there may be 409."""
    assert (await client.delete("/corpus/sleep")).status_code == 204
    told(await client.delete("/corpus/waking"), 404, "not-found")
    fakes.corpus.error = errors.TooMany("there are 100 collections")
    told(await client.post("/corpus/waking", json=TEXTS), 409, "too-many")


async def test_texts_are_listed(client: httpx.AsyncClient) -> None:
    """Whole; of a collection that is not there 404."""
    response = await client.get("/corpus/sleep")

    TextPage.model_validate(response.json())
    assert [item["id"] for item in response.json()["items"]] == ["a1"]
    told(await client.get("/corpus/nothing"), 404, "not-found")
