"""Schemas of replies, held against what the service really says."""

from dataclasses import fields

from app.answer import Citation, Finish, Usage
from app.api.replies import ChatReply, CitationReply, DegradedReply, KeptRag, Rag, UsageReply, shown
from app.types import Degraded, Reason


def names(kind: type) -> set[str]:
    """Of a dataclass."""
    return {field.name for field in fields(kind)}


def test_nested_replies_have_the_fields_of_the_words_they_show() -> None:
    """They are sent as they are in the domain."""
    assert set(CitationReply.model_fields) == names(Citation)
    assert set(DegradedReply.model_fields) == names(Degraded)
    assert set(UsageReply.model_fields) == names(Usage)


def test_every_reason_and_finish_there_is_can_be_told() -> None:
    """A new one must be added to the document."""
    told, kept = (model.model_json_schema()["properties"]["reason"]["enum"] for model in (Rag, KeptRag))
    finishes = ChatReply.model_json_schema()["properties"]["finish_reason"]["enum"]

    assert set(kept) == {str(reason) for reason in Reason}
    assert set(told) == set(kept) - {str(Reason.CANCELLED), str(Reason.GREETING), str(Reason.UNASKED)}
    assert set(finishes) == {str(finish) for finish in Finish}


def test_a_status_is_shown_with_schema_and_example() -> None:
    """As `responses=` takes it."""
    found = shown(UsageReply, "Tokens", {"prompt_tokens": 1, "completion_tokens": 2})

    assert found["model"] is UsageReply
    assert found["description"] == "Tokens"
    assert found["content"]["application/json"]["example"]["prompt_tokens"] == 1
