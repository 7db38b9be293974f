"""Memories as points and back, and who may see which."""

import json

from hypothesis import given
from hypothesis import strategies as st

from app.clients.points import Point
from app.index.remembered import LONG_AGO, memory, point, tenants
from app.types import Scope
from tests.fakes.filing import bag
from tests.fakes.recollections import ANN
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
    wrote = point(ANN, kept, bag(text), "bag@32")
    assert memory(Point(wrote.id, json.loads(json.dumps(dict(wrote.payload))))) == kept


def test_what_is_not_there_is_not_in_the_payload() -> None:
    """A filter lets a memory pass that has no namespace; one of "" would not be without."""
    assert (
        not {"vantage_id", "thread_id", "fields", "tags"}
        & point(ANN, draft(ANN, "a"), b"", "s").payload.keys()
    )


def test_the_default_tenant_has_what_names_none() -> None:
    """Of others, only what names them."""
    assert tenants(Scope()).open == (("tenant", ("default",)),)
    assert tenants(Scope(tenant="t")).has == (("tenant", ("t",)),)


def test_a_card_of_an_older_tool_keeps_what_it_holds() -> None:
    """Its payload's own keys are its fields."""
    card = memory(
        Point("7", {"user_id": "ann", "kind": "gravity_profile", "weights": {"fm": 1}, "text": "t"})
    )
    assert (card.fields, card.kind, card.created_at) == (
        {"weights": {"fm": 1}},
        "gravity_profile",
        LONG_AGO,
    )
