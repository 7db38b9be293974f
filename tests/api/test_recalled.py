"""The examples of /rag/query: bodies that are taken, replies of their schemas; both as the service says."""

import httpx
import pytest

from app.api import recalled
from app.api.bodies import RagBody
from app.api.examples import EVENT, whole
from app.db.memories import Moment
from app.services.rag import Question
from tests.fakes.remembering import FakeTemporal
from tests.fakes.server import events
from tests.services.test_rag import ADA, House


@pytest.mark.parametrize("name", recalled.QUERY)
async def test_every_question_is_taken(client: httpx.AsyncClient, name: str) -> None:
    """Copied from the page, it works."""
    value = recalled.QUERY[name]["value"]
    RagBody.model_validate(value)
    assert (await client.post("/rag/query", json=value)).status_code == 200


def test_one_of_them_shows_every_field() -> None:
    """Nothing is left to guess."""
    assert set(recalled.QUERY["everything"]["value"]) == set(RagBody.model_fields)


def test_the_reply_is_of_its_schema() -> None:
    """As clients will read it."""
    recalled.RagReply.model_validate(recalled.REPLY)
    product = recalled.USED["relevance"]
    for factor in recalled.USED["boosts"].values():
        product *= factor
    assert product == pytest.approx(recalled.USED["score"], abs=1e-9)


def test_the_stream_is_shown_as_it_is_sent() -> None:
    """In the grammar that clients parse, with the data of each event."""
    found = events(whole(recalled.SAID))
    assert [event.name for event in found] == ["meta", "token", "citations", "done"]
    assert [event.data for event in found] == [dict(recalled.SAID[event.name]) for event in found]
    assert set(recalled.SAID) == set(EVENT["properties"]["event"]["enum"])


@pytest.mark.parametrize("message", ["what helped me sleep", "hey again!"], ids=["a question", "a greeting"])
async def test_the_service_says_what_the_page_shows(message: str) -> None:
    """The real reply is of the schema, and has the fields of the example: all of them, and no others."""
    whole = await House().told(message, debug=True)
    recalled.RagReply.model_validate(whole)
    shown = set(recalled.REPLY) | {"debug", "system_prompt"}
    assert set(whole) == shown
    assert set(whole["meta_explanation"]) == set(recalled.EXPLANATION)
    for used in whole["memory_used"]:
        assert set(used) == set(recalled.USED)


async def test_meta_has_the_fields_of_its_example() -> None:
    """And a part that is not known is null."""
    reply = await House(temporal=FakeTemporal(Moment("new"))).rag.prepare(Question(ADA, "what helped me"))
    assert set(reply.meta) == set(recalled.META)
    await reply.aclose()
