"""/vantage: answers within the policy, cards and facts, mixes."""

import json
from dataclasses import asdict, replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app import errors
from app.answering.question import Question
from app.api.schemas.vantage import (
    CardOut,
    CardPage,
    LimitOptions,
    MixReply,
    PolicyDocument,
)
from app.db.keys import Caller
from app.main import create_app
from app.services.feedback import Remark
from app.settings import Enable, Settings, Vantage
from app.types import Scope
from app.vantage.overlay import BOUNDS
from app.vantage.terms import Limits, Mix, ResponseClass, Routing
from tests.fakes.server import browsing, told
from tests.fakes.services import DOCUMENT_ID, FakeKeys, Fakes
from tests.services.test_mixing import RULED

ASK: dict[str, Any] = {"user_id": "ada", "message": "What helped me sleep?"}
PATH = "/vantage/query"
ADA = Scope(user_id="ada")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """With the routes of /vantage."""
    return settings.model_copy(update={"enable": Enable(vantage_endpoints=True)})


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", PATH), ("POST", "/vantage/feedback"), ("GET", "/vantage/policy"), ("POST", "/vantage/mix"),
        ("POST", "/vantage/cards"), ("GET", "/vantage/cards"), ("POST", "/vantage/facts"),
        ("GET", "/vantage/facts"), ("DELETE", "/vantage/cards/x"), ("DELETE", "/vantage/facts/x"),
        ("PUT", PATH), ("GET", PATH), ("POST", "/vantage/nothing"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("body", [json.dumps(ASK), "{", ""], ids=["well formed", "broken", "empty"])
async def test_without_the_switch_nothing_is_there(
    fakes: Fakes, settings: Settings, method: str, path: str, body: str
) -> None:
    """404 whatever is sent, before it is read, and whoever sends it."""
    fakes.keys = FakeKeys({"k": Caller("acme", "ada")})
    off = settings.model_copy(update={"enable": Enable()})
    async with browsing(create_app(off, fakes.services())) as client:
        headers = {"content-type": "application/json"}
        response = await client.request(method, path, content=body, headers=headers)
    told(response, 404, "not-found")
    assert fakes.vantage.asks == []


async def test_a_body_reaches_the_service_as_it_was_meant(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """Every field of the contract."""
    body = ASK | {
        "thread_id": "t",
        "top_k": 5,
        "overlay": {"role": "coach", "tone": "warm"},
        "limits": {"refuse": ["cats"], "negotiate": ["dogs"], "token_target": 400, "hedge_budget": 2},
        "routing": {"force": "NEGOTIATE", "forbid": ["COMPLY"], "redirect": {"CLARIFY": "COMPLY"}},
        "mix": {"memory_cards": 0.5, "similarity_threshold": 0.4, "conversation": 3, "lens_fm": "plain"},
        "vantage_id": "clinic",
        "model": "another",
        "inspect_only": True,
    }
    assert (await client.post(PATH, json=body)).status_code == 200
    comply, _, clarify, negotiate, _ = ResponseClass
    assert fakes.vantage.asks == [
        Question(
            replace(ADA, thread_id="t", vantage_id="clinic"),
            "What helped me sleep?",
            top_k=5,
            overlay="Role: coach\nTone: warm",
            limits=Limits(("cats",), ("dogs",), 400, 2),
            routing=Routing(negotiate, (comply,), {clarify: comply}),
            mix=Mix(0.5, similarity_threshold=0.4, conversation=3, lens_fm="plain"),
            model="another",
            inspect_only=True,
            debug=True,
        )
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"overlay": {"mood": "glad"}}, "overlay", id="an unknown part of the overlay"),
        pytest.param({"limits": {"token_target": 15}}, "limits.token_target", id="too few tokens"),
        pytest.param({"limits": {"token_target": 4_001}}, "limits.token_target", id="too many tokens"),
        pytest.param({"limits": {"hedge_budget": -1}}, "limits.hedge_budget", id="a negative budget"),
        pytest.param({"limits": {"refuse": ["x"] * 51}}, "limits.refuse", id="many topics"),
        pytest.param({"limits": {"tokens": 4}}, "limits.tokens", id="an unknown limit"),
        pytest.param({"routing": {"force": "comply"}}, "routing.force", id="an unknown class"),
        pytest.param({"routing": {"redirect": {"COMPLY": "X"}}}, "routing.redirect", id="to no class"),
        pytest.param({"mix": {"memory_cards": 1.1}}, "mix.memory_cards", id="more than all"),
        pytest.param({"mix": {"corpus": -0.1}}, "mix.corpus", id="less than nothing"),
        pytest.param({"mix": {"similarity_threshold": 2}}, "mix.similarity_threshold", id="no similarity"),
        pytest.param({"vantage_id": "a\nb"}, "vantage_id", id="a namespace of two lines"),
    ],
)
async def test_a_field_that_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, change: dict[str, Any], field: str
) -> None:
    """422 with the field's path, and nothing is asked of the service."""
    problem = told(await client.post(PATH, json=ASK | change), 422, "validation")
    assert problem["errors"]
    assert all(fault["field"].startswith(f"body.{field}") for fault in problem["errors"])
    assert fakes.vantage.asks == []


@pytest.mark.parametrize(
    "change",
    [
        {"message": "x" * 32_000}, {"top_k": 50}, {"limits": {"token_target": 16, "hedge_budget": 0}},
        {"limits": {"token_target": 4_000, "question_budget": 10, "refuse": ["x" * 200] * 50}},
        {"routing": {"forbid": ["COMPLY", "REDIRECT", "CLARIFY", "NEGOTIATE", "REFUSE"]}},
        {"mix": {"memory_cards": 0, "corpus": 0, "recency_bias": 1, "similarity_threshold": -1}},
    ],
)  # fmt: skip
async def test_the_edge_of_what_fits_is_taken(client: httpx.AsyncClient, change: dict[str, Any]) -> None:
    assert (await client.post(PATH, json=ASK | change)).status_code == 200


async def test_a_lens_that_is_not_there_is_named(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """By the service, which knows them."""
    fakes.vantage.error = errors.InvalidField("the lenses are …", field="body.mix.lens_fm")
    problem = told(await client.post(PATH, json=ASK | {"mix": {"lens_fm": "rose"}}), 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == ["body.mix.lens_fm"]


@pytest.mark.parametrize("path", ["/vantage/policy"])
async def test_a_key_is_needed_once_there_is_one(client: httpx.AsyncClient, app: FastAPI, path: str) -> None:
    """The policy is for those who are answered by it."""
    app.state.services = Fakes(keys=FakeKeys({"k": Caller("acme", None)})).services()
    told(await client.get(path), 401, "unauthorized")
    assert (await client.get(path, headers={"authorization": "Bearer k"})).status_code == 200


@pytest.mark.parametrize(
    ("rag", "vantage", "shown"),
    [(None, False, False), (False, True, True), (True, False, True), (False, False, False)],
)
async def test_who_debugs_sees_the_prompt(
    fakes: Fakes, settings: Settings, rag: bool | None, vantage: bool, shown: bool
) -> None:
    """With RAG_DEBUG_MODE or VANTAGE_DEBUG; here a key exists, so that unset is off."""
    fakes.keys, fakes.debug = FakeKeys({"k": Caller("acme", None)}), rag
    seen = settings.model_copy(update={"vantage": Vantage(debug=vantage)})
    async with browsing(create_app(seen, fakes.services())) as client:
        await client.post(PATH, json=ASK, headers={"authorization": "Bearer k"})
    assert [ask.debug for ask in fakes.vantage.asks] == [shown]


async def test_feedback_is_rags(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """The same fields, the same reply, by the same service."""
    body = {"user_id": "ada", "message": "Thanks!", "answer_id": DOCUMENT_ID, "rating": "up"}
    response = await client.post("/vantage/feedback", json=body)
    assert fakes.feedback.remarks == [Remark(ADA, "Thanks!", DOCUMENT_ID, "up")]
    assert response.json()["persona_refreshed"]


async def test_the_policy_can_be_read(client: httpx.AsyncClient) -> None:
    """Version and hash, classes and rules in order; what it holds beside is there too."""
    response = await client.get("/vantage/policy")
    policy = PolicyDocument.model_validate(response.json())
    assert policy.classes == [str(kind) for kind in ResponseClass]
    assert policy.version.endswith(policy.sha256[:12])
    assert {"thresholds", "params", "contracts", "tables"} <= set(response.json())


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_the_policys(name: str) -> None:
    """What the body takes, the policy keeps as it is."""
    bounds = {type(one).__name__: one for one in LimitOptions.model_fields[name].metadata}
    assert (bounds["Ge"].ge, bounds["Le"].le) == BOUNDS[name]


@pytest.mark.parametrize("topic", ["!!!", "…", "— ?", "'"])
async def test_a_topic_without_a_word_is_refused(client: httpx.AsyncClient, topic: str) -> None:
    """No message could ever name it, and the asker would never know."""
    sent = {"user_id": "ada", "message": "Tell me", "limits": {"refuse": ["tax", topic]}}
    answer = await client.post("/vantage/query", json=sent)
    assert answer.status_code == 422
    assert [fault["field"] for fault in answer.json()["errors"]] == ["body.limits.refuse.1"]


PATHS = ("/vantage/cards", "/vantage/facts")
GIVEN = {"vantage_id": "clinic", "text": "Closed on Wednesdays.", "key": "opening hours"}
BY_ADA = {"Authorization": "Bearer ada-key"}


@pytest.fixture
def keyed(fakes: Fakes) -> Fakes:
    """With a key of Ada's and one of her tenant."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada"), "acme-key": Caller("acme", None)}
    return fakes


@pytest.mark.parametrize("path", PATHS)
async def test_a_row_is_kept_and_replaced(client: httpx.AsyncClient, fakes: Fakes, path: str) -> None:
    """201 and then 200, under one id; `shape` says which of both it is."""
    first = await client.post(path, json=GIVEN | {"weight": 0})
    second = await client.post(path, json=GIVEN | {"text": "Closed.", "weight": 1})
    assert [first.status_code, second.status_code] == [201, 200]
    assert [reply.json()["text"] for reply in (first, second)] == ["Closed on Wednesdays.", "Closed."]
    assert first.json()["id"] == second.json()["id"]
    kept = CardOut.model_validate(second.json())
    assert (kept.weight, kept.user_id, f"/vantage/{kept.shape}s") == (1.0, None, path)
    assert len(fakes.cards.rows) == 1


@pytest.mark.parametrize("path", PATHS)
async def test_rows_are_listed(client: httpx.AsyncClient, fakes: Fakes, path: str) -> None:
    """Of a namespace, of a user; those of the other kind are not among them."""
    for each in PATHS:
        await client.post(each, json=GIVEN)
    response = await client.get(path, params={"vantage_id": "clinic", "user_id": "ada", "limit": 7})
    assert response.status_code == 200
    found = CardPage.model_validate(response.json())
    assert [f"/vantage/{each.shape}s" for each in found.items] == [path]
    assert fakes.cards.scopes[-1] == Scope(user_id="ada", vantage_id="clinic")
    assert fakes.cards.pages == [(None, 7)]


@pytest.mark.parametrize(("path", "other"), [PATHS, PATHS[::-1]], ids=["cards", "facts"])
async def test_a_row_is_removed(client: httpx.AsyncClient, path: str, other: str) -> None:
    """By its own path alone, and once."""
    name = (await client.post(path, json=GIVEN)).json()["id"]
    told(await client.delete(f"{other}/{name}"), 404, "not-found")
    assert (await client.delete(f"{path}/{name}")).status_code == 204
    told(await client.delete(f"{path}/{name}"), 404, "not-found")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"vantage_id": None}, "body.vantage_id", id="no namespace"),
        pytest.param({"text": ""}, "body.text", id="no text"),
        pytest.param({"text": "a\x00b"}, "body.text", id="NUL"),
        pytest.param({"key": "  "}, "body.key", id="a blank key"),
        pytest.param({"key": "a\u2028b"}, "body.key", id="a key of two lines"),
        pytest.param({"key": "a\u0085b"}, "body.key", id="a key with a control character"),
        pytest.param({"key": "a\u202eb"}, "body.key", id="a key that turns around"),
        pytest.param({"key": "a\u200bb"}, "body.key", id="a key with what nobody sees"),
        pytest.param({"weight": 1.01}, "body.weight", id="too heavy"),
        pytest.param({"tenant": "other"}, "body.tenant", id="a field that is none"),
        pytest.param({"id": DOCUMENT_ID}, "body.id", id="an id of their own"),
    ],
)
async def test_what_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, change: dict[str, Any], field: str
) -> None:
    for path in PATHS:
        problem = told(await client.post(path, json=GIVEN | change), 422, "validation")
        assert [fault["field"] for fault in problem["errors"]] == [field]
    assert fakes.cards.rows == {}


async def test_a_key_may_be_spelt_as_its_language_is(client: httpx.AsyncClient) -> None:
    """Joiners are part of Persian words; blanks around are none of the key."""
    kept = await client.post(PATHS[1], json=GIVEN | {"key": " می\u200cخواهم "})
    assert (kept.status_code, kept.json()["key"]) == (201, "می\u200cخواهم")


@pytest.mark.parametrize("weight", ["NaN", "Infinity", "-Infinity", "1e400"])
async def test_no_weight_is_beyond_numbers(client: httpx.AsyncClient, fakes: Fakes, weight: str) -> None:
    """Python's JSON would take them."""
    body = f'{{"vantage_id": "v", "text": "t", "weight": {weight}}}'
    sent = {"content": body, "headers": {"content-type": "application/json"}}
    told(await client.post(PATHS[0], **sent), 422, "validation")  # type: ignore[arg-type] # content and headers
    assert fakes.cards.rows == {}


@pytest.mark.parametrize(
    ("body", "allowed"),
    [
        pytest.param({"user_id": "ada"}, True, id="her own"),
        pytest.param({"user_id": "bob"}, False, id="another's"),
        pytest.param({}, True, id="hers by the key"),
    ],
)
async def test_a_user_key_writes_for_its_user_alone(
    client: httpx.AsyncClient, keyed: Fakes, *, body: dict[str, str], allowed: bool
) -> None:
    """The key says whose it is; what all users are told is the tenant's to say."""
    response = await client.post(PATHS[0], json=GIVEN | body, headers=BY_ADA)
    if allowed:
        assert response.status_code == 201
    else:
        told(response, 403, "forbidden")
    assert bool(keyed.cards.rows) == allowed


async def test_a_user_key_sees_and_removes_its_own(client: httpx.AsyncClient, keyed: Fakes) -> None:
    """Everybody's it sees, and cannot remove; another user's it does not see."""
    tenant = {"Authorization": "Bearer acme-key"}
    ids = [
        (await client.post(PATHS[0], json=GIVEN | more, headers=tenant)).json()["id"]
        for more in ({"user_id": "ada"}, {}, {"user_id": "bob"})
    ]
    seen = (await client.get(PATHS[0], headers=BY_ADA)).json()["items"]
    assert [each["id"] for each in seen] == ids[:2]
    told(await client.get(f"{PATHS[0]}?user_id=bob", headers=BY_ADA), 403, "forbidden")
    assert (await client.delete(f"{PATHS[0]}/{ids[0]}", headers=BY_ADA)).status_code == 204
    told(await client.delete(f"{PATHS[0]}/{ids[1]}", headers=BY_ADA), 403, "forbidden")
    told(await client.delete(f"{PATHS[0]}/{ids[2]}", headers=BY_ADA), 404, "not-found")


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_a_store_that_is_away_is_told(client: httpx.AsyncClient, fakes: Fakes, method: str) -> None:
    """503, and nothing is said to be kept."""
    fakes.cards.error = errors.Unavailable()
    path = f"{PATHS[0]}/{DOCUMENT_ID}" if method == "DELETE" else PATHS[0]
    sent = {"json": GIVEN} if method == "POST" else {}
    told(await client.request(method, path, **sent), 503, "unavailable")  # type: ignore[arg-type] # a body


PATH_MIX = "/vantage/mix"
GIVEN_MIX: dict[str, Any] = {"answer_id": RULED.id, "mix": {}}


@pytest.fixture
def fakes() -> Fakes:
    """With an answer that has candidates."""
    made = Fakes()
    made.answers.answer = RULED
    return made


async def test_candidates_come_back_under_the_mix(client: httpx.AsyncClient) -> None:
    """With what became of each, then and now."""
    response = await client.post(PATH_MIX, json=GIVEN_MIX | {"mix": {"recency_bias": 1, "corpus": 0}})
    assert response.status_code == 200
    found = MixReply.model_validate(response.json())
    assert found.mix.model_dump() == asdict(Mix(corpus=0, recency_bias=1))
    assert (found.top_k, found.split.model_dump(), found.threshold) == (8, {"personal": 8, "corpus": 0}, 0.3)
    told_of = [(each.id, each.place, each.was.place, each.moved, each.verdict) for each in found.candidates]
    assert told_of == [
        ("m2", 1, 2, True, "packed"),
        ("m1", 2, 1, True, "packed"),
        ("c1", None, 3, True, "over_limit"),
        ("c2", None, None, False, "below_threshold"),
    ]
    first = found.candidates[0]
    assert (first.recency, first.boosts, first.score) == (1.1, {"recency": 1.1}, 0.78 * 1.1)


@pytest.mark.parametrize(
    ("mix", "field"),
    [
        pytest.param({"memory_cards": -0.1}, "body.mix.memory_cards", id="less than nothing"),
        pytest.param({"memory_cards": 1.1}, "body.mix.memory_cards", id="more than all"),
        pytest.param({"similarity_threshold": 1.5}, "body.mix.similarity_threshold", id="no cosine"),
        pytest.param({"conversation": -1}, "body.mix.conversation", id="fewer turns than none"),
        pytest.param({"lens_fm": "rose"}, "body.mix.lens_fm", id="no lens of that name"),
        pytest.param({"rose": 1}, "body.mix.rose", id="a field that is none"),
    ],
)
async def test_a_mix_that_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, mix: dict[str, Any], field: str
) -> None:
    """And no answer is looked for."""
    problem = told(await client.post(PATH_MIX, json=GIVEN_MIX | {"mix": mix}), 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == [field]
    assert fakes.answers.scopes == []


async def test_another_s_answer_is_not_found(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """As one that is not there."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    fakes.answers.answer = None
    sent = {"json": GIVEN_MIX, "headers": {"Authorization": "Bearer ada-key"}}
    told(await client.post(PATH_MIX, **sent), 404, "not-found")  # type: ignore[arg-type] # a body and a header
    assert fakes.answers.scopes[0].owner == "ada"


async def test_an_answer_of_chat_has_no_mix(client: httpx.AsyncClient, fakes: Fakes) -> None:
    fakes.answers.answer = replace(RULED, endpoint="/api/chat", ruling=None)
    problem = told(await client.post(PATH_MIX, json=GIVEN_MIX), 422, "validation")
    assert "/api/chat" in problem["detail"]
