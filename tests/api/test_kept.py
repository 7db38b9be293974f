"""Examples and shapes of what is kept, held against the schemas."""

from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from app.api import kept
from app.api.drafts import CorpusBody, Memories
from app.db.corpus import Shelf
from app.db.memories import Outcome, Written
from tests.fakes.keeping import NOON, reference
from tests.fakes.keeping import kept as memory


@pytest.mark.parametrize(
    ("schema", "example"),
    [
        (kept.WrittenReply, kept.WRITTEN),
        (kept.WrittenReply, kept.ECHO),
        (kept.MemoryList, kept.MEMORIES),
        (kept.TextsReply, kept.KEPT_TEXTS),
        (kept.CollectionList, kept.COLLECTIONS),
    ],
)
def test_examples_of_replies_are_of_their_schemas(schema: type[BaseModel], example: Any) -> None:
    """Field for field."""
    assert set(schema.model_validate(example).model_dump()) == set(example)


def test_examples_of_bodies_are_taken() -> None:
    """One, several, texts."""
    for example in kept.POSTED.values():
        TypeAdapter[Any](Memories).validate_python(example["value"])
    for example in kept.TEXTS.values():
        CorpusBody.model_validate(example["value"])


def test_what_is_sent_is_of_the_schemas() -> None:
    """They are told by name alone, and not validated on their way out."""
    written = kept.written(Written(Outcome.CREATED, memory(tags=("a",), thread_id="t1")))
    assert kept.WrittenReply.model_validate(written).memory
    assert written["memory"]["created_at"] == "2026-11-21T12:00:00Z"
    kept.WrittenReply.model_validate(kept.written(Written(Outcome.ECHO)))
    kept.TextReply.model_validate(kept.text(reference(), fresh=False))
    kept.CollectionReply.model_validate(kept.collection(Shelf("sleep", 2, 18, NOON)))


def test_anything_new_makes_it_a_creation() -> None:
    """Else nothing was."""
    assert kept.created([Written(Outcome.ECHO), Written(Outcome.CREATED, memory())])
    assert not kept.created([Written(Outcome.ECHO), Written(Outcome.REPEATED, memory())])
