"""The /vantage routes as a client sees them: bodies, statuses, both forms of the answer, the gate."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app import errors
from app.api.ruled import PolicyReply
from app.db.keys import Caller
from app.main import create_app
from app.services.feedback import Remark
from app.services.vantage import Inquiry
from app.settings import Enable, Settings, Vantage
from app.types import Scope
from app.vantage.terms import Limits, Mix, ResponseClass, Routing
from tests.api.test_chat import EARLY, SOON, said
from tests.fakes.checks import told
from tests.fakes.server import browsing, connected, events, post
from tests.fakes.services import DOCUMENT_ID, FakeKeys, FakeReply, Fakes

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


async def test_an_answer_comes_whole_unless_events_are_asked_for(
    client: httpx.AsyncClient, fakes: Fakes
) -> None:
    """One JSON object by default; `stream: true` gives chat's events. The reply is closed either way."""
    whole = await client.post(PATH, json=ASK)
    streamed = await client.post(PATH, json=ASK | {"stream": True})
    assert whole.json() == {"answer_id": "answer-1", "answer": "Paper [memory#k3v9q2ax]."}
    assert [event.name for event in events(streamed.text)] == ["meta", "token", "token", "citations", "done"]
    assert fakes.vantage.reply.closings == 2


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
        Inquiry(
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


@pytest.mark.parametrize("nothing", [{}, {"limits": None, "routing": None, "mix": None, "overlay": None}])
async def test_what_is_left_out_has_its_default(
    client: httpx.AsyncClient, fakes: Fakes, nothing: dict[str, Any]
) -> None:
    """Null is left out, too."""
    await client.post(PATH, json=ASK | nothing)
    assert fakes.vantage.asks == [Inquiry(ADA, "What helped me sleep?", debug=True)]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        pytest.param({"message": " \n"}, "message", id="a blank message"),
        pytest.param({"message": "x" * 32_001}, "message", id="a long message"),
        pytest.param({"user_id": ""}, "user_id", id="nobody"),
        pytest.param({"top_k": 0}, "top_k", id="no passages"),
        pytest.param({"top_k": 51}, "top_k", id="many passages"),
        pytest.param({"overlay": {"mood": "glad"}}, "overlay", id="an unknown part of the overlay"),
        pytest.param({"limits": {"token_target": 15}}, "limits.token_target", id="too few tokens"),
        pytest.param({"limits": {"token_target": 4_001}}, "limits.token_target", id="too many tokens"),
        pytest.param({"limits": {"hedge_budget": -1}}, "limits.hedge_budget", id="a negative budget"),
        pytest.param({"limits": {"question_budget": 11}}, "limits.question_budget", id="many questions"),
        pytest.param({"limits": {"token_target": "400"}}, "limits.token_target", id="a number as text"),
        pytest.param({"limits": {"refuse": ["x"] * 51}}, "limits.refuse", id="many topics"),
        pytest.param({"limits": {"refuse": [" "]}}, "limits.refuse", id="a blank topic"),
        pytest.param({"limits": {"negotiate": ["x" * 201]}}, "limits.negotiate", id="a long topic"),
        pytest.param({"limits": {"tokens": 4}}, "limits.tokens", id="an unknown limit"),
        pytest.param({"limits": []}, "limits", id="no object"),
        pytest.param({"routing": {"force": "comply"}}, "routing.force", id="an unknown class"),
        pytest.param({"routing": {"forbid": ["MAYBE"]}}, "routing.forbid", id="another"),
        pytest.param({"routing": {"redirect": {"X": "COMPLY"}}}, "routing.redirect", id="from no class"),
        pytest.param({"routing": {"redirect": {"COMPLY": "X"}}}, "routing.redirect", id="to no class"),
        pytest.param({"routing": {"lift": True}}, "routing.lift", id="an unknown way"),
        pytest.param({"mix": {"memory_cards": 1.1}}, "mix.memory_cards", id="more than all"),
        pytest.param({"mix": {"corpus": -0.1}}, "mix.corpus", id="less than nothing"),
        pytest.param({"mix": {"recency_bias": 2}}, "mix.recency_bias", id="too recent"),
        pytest.param({"mix": {"similarity_threshold": 2}}, "mix.similarity_threshold", id="no similarity"),
        pytest.param({"mix": {"conversation": -1}}, "mix.conversation", id="negative turns"),
        pytest.param({"mix": {"weights": 1}}, "mix.weights", id="an unknown part of the mix"),
        pytest.param({"vantage_id": "a\nb"}, "vantage_id", id="a namespace of two lines"),
        pytest.param({"model": ""}, "model", id="no model"),
        pytest.param({"inspect_only": 1}, "inspect_only", id="a number for a switch"),
        pytest.param({"remember": True}, "remember", id="an unknown field"),
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
    """Bounds included."""
    assert (await client.post(PATH, json=ASK | change)).status_code == 200


@pytest.mark.parametrize(
    ("content", "kind", "status", "slug"),
    [
        pytest.param(b"{", "application/json", 400, "bad-request", id="broken"),
        pytest.param(b"", "application/json", 422, "validation", id="empty"),
        pytest.param(b"[]", "application/json", 422, "validation", id="no object"),
        pytest.param(b"\xff\xfe", "application/json", 400, "bad-request", id="no UTF-8"),
        pytest.param(b"[" * 15_000, "application/json", 400, "bad-request", id="nested"),
        pytest.param(b"{}", "text/plain", 415, "wrong-content-type", id="no JSON"),
        pytest.param(b" " * (5 << 20), "application/json", 413, "too-large", id="huge"),
    ],
)
async def test_what_is_no_body_is_told_so(
    client: httpx.AsyncClient, content: bytes, kind: str, status: int, slug: str
) -> None:
    """A problem each, and never a 500."""
    told(await client.post(PATH, content=content, headers={"content-type": kind}), status, slug)


@pytest.mark.parametrize(("error", "status"), EARLY.values(), ids=EARLY.keys())
@pytest.mark.parametrize("stream", [True, False])
async def test_a_fault_before_the_answer_is_a_status(
    client: httpx.AsyncClient, fakes: Fakes, error: errors.IbidError, status: int, stream: bool
) -> None:
    """As in chat (docs/contract.md, When the status is decided)."""
    fakes.vantage.error = error
    told(await client.post(PATH, json=ASK | {"stream": stream}), status, error.slug)


async def test_a_lens_that_is_not_there_is_named(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """By the service, which knows them."""
    fakes.vantage.error = errors.InvalidField("the lenses are …", field="body.mix.lens_fm")
    problem = told(await client.post(PATH, json=ASK | {"mix": {"lens_fm": "rose"}}), 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == ["body.mix.lens_fm"]


@pytest.mark.parametrize(("user", "status"), [("ada", 200), ("bob", 403)])
async def test_a_user_key_asks_for_its_own_user(
    client: httpx.AsyncClient, app: FastAPI, user: str, status: int
) -> None:
    """Keys and tenants; feedback likewise."""
    app.state.services = Fakes(keys=FakeKeys({"k": Caller("acme", "ada")})).services()
    for path in (PATH, "/vantage/feedback"):
        response = await client.post(
            path, json=ASK | {"user_id": user}, headers={"authorization": "Bearer k"}
        )
        assert response.status_code == status


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


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_ends_the_answer_at_once(address: str, fakes: Fakes, stream: bool) -> None:
    """The model's stream is closed within 500 ms, whichever form was asked for."""
    fakes.vantage.reply = FakeReply(tokens=["word "], pause=0.02, endless=True)
    async with connected(address) as wire:
        await wire.send(post(PATH, json.dumps(ASK | {"stream": stream}).encode()))
        await said(fakes.vantage.reply, 3)
        await wire.leave()
        async with asyncio.timeout(SOON):
            await fakes.vantage.reply.closed.wait()


async def test_a_client_that_leaves_before_the_answer_cancels_it(address: str, fakes: Fakes) -> None:
    """Nothing goes on without it."""
    fakes.vantage.delay = 30
    async with connected(address) as wire:
        await wire.send(post(PATH, json.dumps(ASK).encode()))
        while not fakes.vantage.asks:  # noqa: ASYNC110 - it is on its way
            await asyncio.sleep(0.01)
        await wire.leave()
        async with asyncio.timeout(SOON):
            await fakes.vantage.cancelled.wait()


async def test_feedback_is_rags(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """The same fields, the same reply, by the same service."""
    body = {"user_id": "ada", "message": "Thanks!", "answer_id": DOCUMENT_ID, "rating": "up"}
    response = await client.post("/vantage/feedback", json=body)
    assert fakes.feedback.remarks == [Remark(ADA, "Thanks!", DOCUMENT_ID, "up")]
    assert response.json()["persona_refreshed"]


async def test_the_policy_can_be_read(client: httpx.AsyncClient) -> None:
    """Version and hash, classes and rules in order; what it holds beside is there too."""
    response = await client.get("/vantage/policy")
    policy = PolicyReply.model_validate(response.json())
    assert policy.classes == [str(kind) for kind in ResponseClass]
    assert policy.version.endswith(policy.sha256[:12])
    assert {"thresholds", "params", "contracts", "tables"} <= set(response.json())
