"""Rows on the wire: bodies as drafts, rows as JSON."""

from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from app.api import talks
from app.api.talks import KeptReply, RowBody, RowList, RowReply
from app.db.conversations import Conversation, Draft, Outcome, Said

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
BARE = Conversation("7", "", None, (), (), None, None, None, None)


def test_a_body_becomes_a_draft() -> None:
    """What was not sent is None, what was sent empty is empty; a time is taken with its zone."""
    body = {
        "session_id": "a",
        "title": "",
        "tags": [],
        "indexed_at": "2026-11-21T14:00:00+02:00",
        "turns": [{"role": "user", "content": "Hello"}],
    }

    draft = RowBody.model_validate(body).draft()

    assert draft == Draft(id="a", title="", tags=(), indexed_at=NOON, said=(Said("user", "Hello"),))
    assert draft.key_entities is None


def test_a_row_of_another_tool_is_told() -> None:
    """Whatever it lacks."""
    RowReply.model_validate(talks.row(BARE))
    assert talks.row(BARE)["indexed_at"] is None
    assert talks.written((BARE, Outcome.UNCHANGED))["outcome"] == "unchanged"


@pytest.mark.parametrize(
    ("model", "example"),
    [(RowReply, talks.ROW), (KeptReply, talks.KEPT), (KeptReply, talks.AGAIN), (RowList, talks.ROWS)],
)
def test_examples_are_of_their_shape(model: type[BaseModel], example: dict[str, object]) -> None:
    """All of it, and nothing else."""
    assert model.model_validate(example).model_dump().keys() == example.keys()
