"""The body of /vantage/query: its examples are taken, one shows every field, bounds are the policy's."""

import httpx
import pytest

from app.answering.mix import lens_name
from app.api.inquiry import QUERY, LimitsBody, RoutingBody, VantageBody
from app.api.mix import MixBody
from app.settings import Enable, Settings
from app.vantage.overlay import BOUNDS
from app.vantage.terms import Limits, ResponseClass, Routing


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """With the routes of /vantage."""
    return settings.model_copy(update={"enable": Enable(vantage_endpoints=True)})


@pytest.mark.parametrize("name", QUERY)
async def test_every_example_is_taken(client: httpx.AsyncClient, name: str) -> None:
    """Copied from the page, it works."""
    value = QUERY[name]["value"]
    body = VantageBody.model_validate(value)
    lens_name((body.mix or MixBody()).lens_fm)
    assert (await client.post("/vantage/query", json=value)).status_code == 200


def test_one_of_them_shows_every_field() -> None:
    """Nothing is left to guess."""
    every = QUERY["everything"]["value"]
    assert set(every) == set(VantageBody.model_fields)
    for name, body in (("limits", LimitsBody), ("routing", RoutingBody), ("mix", MixBody)):
        assert set(every[name]) == set(body.model_fields)


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_the_policys(name: str) -> None:
    """What the body takes, the policy keeps as it is."""
    bounds = {type(one).__name__: one for one in LimitsBody.model_fields[name].metadata}
    assert (bounds["Ge"].ge, bounds["Le"].le) == BOUNDS[name]


def test_nothing_said_is_nothing_set() -> None:
    """The defaults of both are the policy's own."""
    assert (LimitsBody().limits(), RoutingBody().routing()) == (Limits(), Routing())


@pytest.mark.parametrize("topic", ["!!!", "…", "— ?", "'"])
async def test_a_topic_without_a_word_is_refused(client: httpx.AsyncClient, topic: str) -> None:
    """No message could ever name it, and the asker would never know."""
    sent = {"user_id": "ada", "message": "Tell me", "limits": {"refuse": ["tax", topic]}}
    answer = await client.post("/vantage/query", json=sent)
    assert answer.status_code == 422
    assert [fault["field"] for fault in answer.json()["errors"]] == ["body.limits.refuse.1"]


@pytest.mark.parametrize("kind", list(ResponseClass))
def test_every_class_can_be_named(kind: ResponseClass) -> None:
    """As JSON has it."""
    routing = RoutingBody.model_validate(
        {"force": str(kind), "forbid": [str(kind)], "redirect": {str(kind): str(kind)}}
    )
    assert routing.routing() == Routing(kind, (kind,), {kind: kind})
