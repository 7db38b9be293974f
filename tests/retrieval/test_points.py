"""Memories and reference texts as points, and points of any tool as passages."""

import json

from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.points import (
    LONG_AGO,
    REFERENCE,
    memory_from_point,
    memory_to_point,
    tenants,
    text_point_passage,
    text_to_point,
)
from app.retrieval.retrievers.points import Point
from app.text.labels import is_label
from app.types import Scope
from tests.fakes.filing import bag
from tests.fakes.recollections import ANN, reference
from tests.fakes.recollections import memory as draft

WORDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)


@given(
    text=WORDS,
    kind=WORDS,
    origin=WORDS,
    tags=st.lists(WORDS, max_size=3).map(tuple),
    vantage_id=st.none() | WORDS,
    thread_id=st.none() | WORDS,
    place=st.integers(0, 9),
)
def test_what_was_written_comes_back(text: str, **facts: object) -> None:
    """Every field, through JSON."""
    kept = draft(ANN, text, **facts, fields={"weights": {"a": 0.5}})
    wrote = memory_to_point(ANN, kept, bag(text), "bag@32")
    assert memory_from_point(Point(wrote.id, json.loads(json.dumps(dict(wrote.payload))))) == kept


def test_what_is_not_there_is_not_in_the_payload() -> None:
    """A filter lets a memory pass that has no namespace; one of "" would not be without."""
    assert (
        not {"vantage_id", "thread_id", "fields", "tags"}
        & memory_to_point(ANN, draft(ANN, "a"), b"", "s").payload.keys()
    )


def test_the_default_tenant_has_what_names_none() -> None:
    """Of others, only what names them."""
    assert tenants(Scope()).open == (("tenant", ("default",)),)
    assert tenants(Scope(tenant="t")).has == (("tenant", ("t",)),)


def test_a_card_of_an_older_tool_keeps_what_it_holds() -> None:
    """Its payload's own keys are its fields."""
    card = memory_from_point(
        Point("7", {"user_id": "ann", "kind": "gravity_profile", "weights": {"fm": 1}, "text": "t"})
    )
    assert (card.fields, card.kind, card.created_at) == (
        {"weights": {"fm": 1}},
        "gravity_profile",
        LONG_AGO,
    )


def test_what_is_shown_lies_at_the_top() -> None:
    """Kind, origin, address and tags where any tool looks for them, all of the metadata beside; no blanks."""
    metadata = {"kind": "page", "tags": ["a"], "url": "", "more": {"x": 1}}
    wrote = text_to_point(Scope(tenant="t"), reference("words", metadata=metadata), b"", "s")
    assert wrote.payload["metadata"] == metadata
    assert (wrote.payload["kind"], wrote.payload["tags"], wrote.payload["tenant"]) == ("page", ["a"], "t")
    assert not {"url", "title"} & wrote.payload.keys()


def test_metadata_cannot_say_whose_a_text_is() -> None:
    """Its tenant, its text and its id are not for the writer's metadata to set."""
    forged = {"tenant": "other", "text": "forged", "id": "x", "tokens": 0}
    wrote = text_to_point(Scope(tenant="t"), reference("words", metadata=forged), b"", "s")
    assert (wrote.payload["tenant"], wrote.payload["text"], wrote.payload["tokens"]) == ("t", "words", 1)


def test_a_point_of_nothing_but_text_is_a_passage() -> None:
    """Everything else has a value that says so."""
    found = text_point_passage("a [strange] #name", Point("7", {"chunk": "words"}), "k3v9q2ax", None)
    assert (found.id, found.text, found.title) == ("a [strange] #name/7", "words", "")
    assert is_label(found.label)
    assert found.fields == {
        "id": "7",
        "metadata": None,
        "collection": "a [strange] #name",
        "kind": REFERENCE,
        "origin": "",
        "tags": "",
        "url": None,
    }
