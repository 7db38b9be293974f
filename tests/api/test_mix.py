"""POST /vantage/mix as a client sees it."""

from dataclasses import asdict, replace
from typing import Any

import httpx
import pytest

from app.api.mix import CANDIDATE, EXAMPLES, MIX, MIXED, MixBody, MixedReply, RemixBody, StandingReply
from app.db.keys import Caller
from app.settings import Enable, Settings
from app.types import Trace
from app.vantage.terms import LENSES, Mix
from tests.fakes.checks import told
from tests.fakes.services import Fakes
from tests.services.test_mixing import RULED

PATH = "/vantage/mix"
GIVEN: dict[str, Any] = {"answer_id": RULED.id, "mix": {}}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """With the routes of /vantage."""
    return settings.model_copy(update={"enable": Enable(vantage_endpoints=True)})


@pytest.fixture
def fakes() -> Fakes:
    """With an answer that has candidates."""
    made = Fakes()
    made.answers.answer = RULED
    return made


async def test_candidates_come_back_under_the_mix(client: httpx.AsyncClient) -> None:
    """With what became of each, then and now."""
    response = await client.post(PATH, json=GIVEN | {"mix": {"recency_bias": 1, "corpus": 0}})
    assert response.status_code == 200
    found = MixedReply.model_validate(response.json())
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


async def test_a_mix_left_out_is_the_default(client: httpx.AsyncClient) -> None:
    """As of a question that names none."""
    response = await client.post(PATH, json={"answer_id": RULED.id})
    assert response.status_code == 200
    assert response.json()["mix"] == {
        "memory_cards": 1.0,
        "corpus": 1.0,
        "similarity_threshold": None,
        "recency_bias": 0.0,
        "conversation": 0,
        "lens_fm": False,
    }
    assert not any(each["moved"] for each in response.json()["candidates"])


@pytest.mark.parametrize(
    ("mix", "field"),
    [
        pytest.param({"memory_cards": -0.1}, "body.mix.memory_cards", id="less than nothing"),
        pytest.param({"memory_cards": 1.1}, "body.mix.memory_cards", id="more than all"),
        pytest.param({"corpus": "1"}, "body.mix.corpus", id="a weight in words"),
        pytest.param({"corpus": True}, "body.mix.corpus", id="no number"),
        pytest.param({"recency_bias": 2}, "body.mix.recency_bias", id="too much bias"),
        pytest.param({"similarity_threshold": 1.5}, "body.mix.similarity_threshold", id="no cosine"),
        pytest.param({"similarity_threshold": -1.5}, "body.mix.similarity_threshold", id="nor this"),
        pytest.param({"conversation": -1}, "body.mix.conversation", id="fewer turns than none"),
        pytest.param({"conversation": 201}, "body.mix.conversation", id="too many"),
        pytest.param({"conversation": 1.5}, "body.mix.conversation", id="half a turn"),
        pytest.param({"lens_fm": "rose"}, "body.mix.lens_fm", id="no lens of that name"),
        pytest.param({"rose": 1}, "body.mix.rose", id="a field that is none"),
    ],
)
async def test_a_mix_that_does_not_fit_is_named(
    client: httpx.AsyncClient, fakes: Fakes, mix: dict[str, Any], field: str
) -> None:
    """And no answer is looked for."""
    problem = told(await client.post(PATH, json=GIVEN | {"mix": mix}), 422, "validation")
    assert [fault["field"] for fault in problem["errors"]] == [field]
    assert fakes.answers.scopes == []


@pytest.mark.parametrize("name", ["memory_cards", "corpus", "recency_bias", "similarity_threshold"])
@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
async def test_no_weight_is_beyond_numbers(client: httpx.AsyncClient, name: str, value: str) -> None:
    """Python's JSON would take them."""
    body = f'{{"answer_id": "{RULED.id}", "mix": {{"{name}": {value}}}}}'
    response = await client.post(PATH, content=body, headers={"content-type": "application/json"})
    told(response, 422, "validation")


async def test_a_lens_that_is_not_there_names_those_that_are(client: httpx.AsyncClient) -> None:
    """By name."""
    problem = told(await client.post(PATH, json=GIVEN | {"mix": {"lens_fm": "rose"}}), 422, "validation")
    assert all(name in problem["detail"] for name in LENSES)


async def test_another_s_answer_is_not_found(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """As one that is not there."""
    fakes.keys.known = {"ada-key": Caller("acme", "ada")}
    fakes.answers.answer = None
    sent = {"json": GIVEN, "headers": {"Authorization": "Bearer ada-key"}}
    told(await client.post(PATH, **sent), 404, "not-found")  # type: ignore[arg-type] # a body and a header
    assert fakes.answers.scopes[0].owner == "ada"


async def test_an_answer_without_candidates_has_none(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """200 with an empty list."""
    fakes.answers.answer = replace(RULED, trace=Trace(RULED.trace.reason))
    assert (await client.post(PATH, json=GIVEN)).json()["candidates"] == []


async def test_an_answer_of_chat_has_no_mix(client: httpx.AsyncClient, fakes: Fakes) -> None:
    """422, and why."""
    fakes.answers.answer = replace(RULED, endpoint="/api/chat", ruling=None)
    problem = told(await client.post(PATH, json=GIVEN), 422, "validation")
    assert "/api/chat" in problem["detail"]


def test_a_body_is_the_domain_s_mix() -> None:
    """Field by field, with the same defaults."""
    assert MixBody().mix() == Mix()
    given = Mix(0.5, 0.25, 0.1, 1.0, 3, "evidence")
    assert (
        MixBody.model_validate({name: getattr(given, name) for name in Mix.__dataclass_fields__}).mix()
        == given
    )


def test_the_examples_are_of_their_schemas() -> None:
    """All of them, and their figures agree."""
    for example in EXAMPLES.values():
        RemixBody.model_validate(example["value"])
    MixedReply.model_validate(MIXED)
    assert (set(MIXED), set(CANDIDATE)) == (set(MixedReply.model_fields), set(StandingReply.model_fields))
    assert set(MIX) == set(Mix.__dataclass_fields__)
    factors = CANDIDATE["boosts"]["feedback"] * CANDIDATE["boosts"]["recency"]
    assert CANDIDATE["score"] == pytest.approx(CANDIDATE["relevance"] * factors)
