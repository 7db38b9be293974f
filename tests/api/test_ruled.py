"""The examples of /vantage/query: replies of their schemas, as the service says."""

from typing import Any

import pytest

from app.api import ruled
from app.api.examples import EVENT, whole
from app.api.wire import encoded
from app.services.vantage import Inquiry
from app.vantage.policy import policy
from app.vantage.terms import ResponseClass, Routing
from tests.fakes.server import events
from tests.services.test_vantage import ADA, BOMB, SLEEP, House

SEEN = {"sd", "evidence", "rivals", "split", "timings", "prompt_sha256"}


def test_the_reply_is_of_its_schema() -> None:
    """As clients will read it."""
    ruled.VantageReply.model_validate(ruled.REPLY)
    ruled.PolicyReply.model_validate(ruled.POLICY)
    product = ruled.USED["relevance"]
    for factor in ruled.USED["boosts"].values():
        product *= factor
    assert product == pytest.approx(ruled.USED["score"], abs=1e-9)


def test_the_stream_is_shown_as_it_is_sent() -> None:
    """In the grammar that clients parse, with the data of each event."""
    found = events(whole(ruled.SAID))
    assert [event.name for event in found] == ["meta", "token", "citations", "done"]
    assert [event.data for event in found] == [dict(ruled.SAID[event.name]) for event in found]
    assert set(ruled.SAID) == set(EVENT["properties"]["event"]["enum"])


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        pytest.param(SLEEP, {}, id="a question"),
        pytest.param("hey again!", {}, id="a greeting"),
        pytest.param(BOMB, {}, id="a refusal"),
        pytest.param(SLEEP, {"routing": Routing(ResponseClass.CLARIFY)}, id="a question back"),
        pytest.param(SLEEP, {"inspect_only": True}, id="nothing"),
    ],
)
async def test_the_service_says_what_the_page_shows(message: str, fields: dict[str, Any]) -> None:
    """The real reply is of the schema, and has the fields of the example: all of them, and no others."""
    whole = await House(shows=True).told(message, debug=True, **fields)
    ruled.VantageReply.model_validate(whole)
    assert set(whole) == set(ruled.REPLY) | {"debug", "system_prompt"}
    assert set(whole["meta"]) == set(ruled.META["meta"]) | SEEN
    assert set(whole["decision"]) == set(ruled.DECISION)
    assert set(whole["params"]) == set(ruled.PARAMS)
    assert whole["class_check"] is None or set(whole["class_check"]) == set(ruled.CHECK)
    for used in whole["memory_used"]:
        assert set(used) == set(ruled.USED)
        assert set(used["boosts"]) <= {*ruled.USED["boosts"], "tags"}


async def test_meta_and_done_have_the_fields_of_their_examples() -> None:
    """What was decided comes first, whether it held last."""
    reply = await House().vantage.prepare(Inquiry(ADA, SLEEP))
    assert set(reply.meta) == set(ruled.META)
    done = dict([event async for event in reply.events()])["done"]
    assert set(done) == set(ruled.ENDED)
    await reply.aclose()


def test_the_policy_is_of_its_schema() -> None:
    """The real one, rule by rule."""
    ruled.PolicyReply.model_validate_json(encoded(dict(policy())))
