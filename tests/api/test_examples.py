"""The examples of the reference: the stream as it is sent, the bodies as they are taken."""

import httpx
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import ValidationError

from app.api import examples
from app.api.bodies import ChatBody, UploadBody
from app.api.replies import ChatReply, ChunkReply, DocumentList, DocumentReply, Readiness
from tests.fakes.server import events


@pytest.mark.parametrize("name", examples.CHAT)
def test_every_question_would_be_taken(name: str) -> None:
    """Copied from the page, it works."""
    ChatBody.model_validate(examples.CHAT[name]["value"])


def test_one_of_them_shows_every_field() -> None:
    """Nothing is left to guess."""
    assert set(examples.CHAT["everything"]["value"]) == set(ChatBody.model_fields)


async def test_every_question_gets_an_answer(client: httpx.AsyncClient) -> None:
    """From the app itself."""
    for example in examples.CHAT.values():
        assert (await client.post("/api/chat", json=example["value"])).status_code == 200


@pytest.mark.parametrize("name", examples.stream())
def test_every_event_is_shown_as_it_is_sent(name: str) -> None:
    """In the grammar that clients parse."""
    found = events(examples.stream()[name]["value"])

    assert [event.data for event in found] == [dict(examples.EVENTS[event.name]) for event in found]


def test_the_whole_stream_has_every_event_of_a_good_answer() -> None:
    """In their order, numbered."""
    found = events(examples.stream()["whole"]["value"])

    assert [event.name for event in found] == ["meta", "token", "citations", "done"]
    assert [event.id for event in found] == [f"{examples.ANSWER_ID}:{n}" for n in (1, 2, 3, 4)]


def test_the_replies_are_of_their_schemas() -> None:
    """As clients will read them."""
    ChatReply.model_validate(examples.CHAT_REPLY)
    DocumentReply.model_validate(examples.DOCUMENT)
    DocumentReply.model_validate(examples.PROCESSING)
    DocumentList.model_validate(examples.DOCUMENTS)
    ChunkReply.model_validate(examples.CHUNK)
    Readiness.model_validate(examples.NOT_READY)


@pytest.mark.parametrize("name", examples.EVENTS)
def test_an_event_is_as_the_document_describes_it(name: str) -> None:
    """Its id, its name, its data: no others, and each of its form."""
    fields = dict(line.split(": ", 1) for line in examples.event(name, 7).strip().splitlines())

    Draft202012Validator(examples.EVENT).validate(fields)
    assert set(fields) == set(examples.EVENT["properties"])


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        pytest.param({"session_id": "s"}, True, id="a session"),
        pytest.param({"scope": "global"}, True, id="all"),
        pytest.param({"session_id": "s", "scope": "global"}, False, id="both"),
        pytest.param({}, False, id="neither"),
    ],
)
def test_the_upload_is_described_as_it_is_taken(fields: dict[str, str], *, fits: bool) -> None:
    """One place for a document, in the schema as in the code."""
    [content] = examples.UPLOAD["content"].values()

    assert Draft202012Validator(content["schema"]).is_valid({"file": "x", **fields}) == fits
    try:
        UploadBody.model_validate(fields)
    except ValidationError:
        assert not fits
    else:
        assert fits
