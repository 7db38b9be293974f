"""Memories as points and back, and who may see which."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients.points import Point
from app.domain.days import days
from app.domain.memory import UNTOLD
from app.domain.passage import Scope
from app.index.remembered import DAYS, LONG_AGO, memory, owned, passage, point, spot, tenants, told
from app.index.standing import Standing
from tests.fakes.filing import bag
from tests.fakes.recollections import ANN, THEN
from tests.fakes.recollections import memory as draft

WORDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)
ONE = Standing(1, frozenset())


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


def test_a_search_is_filtered_by_everything_that_the_scope_says() -> None:
    """Tenant, user, namespace; origins that are not told; the living of one who was erased."""
    where = told(Scope(tenant="t", user_id="u", vantage_id="v"), Standing(1, frozenset(), ("a",)))
    assert where.has == (("tenant", ("t",)), ("user_id", ("u",)))
    assert where.open == (("vantage_id", ("v",)),)
    assert where.lacks == (("source", UNTOLD),)
    assert where.ids == ("a",)
    assert told(ANN, ONE).ids is None
    assert owned(ANN, kinds=("style",)).has == (("user_id", ("ann",)), ("kind", ("style",)))


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


def test_only_a_place_in_a_thread_has_neighbours() -> None:
    """Neither alone is a place."""
    spots: list[dict[str, Any]] = [
        {"thread_id": "t", "place": 2},
        {"thread_id": "t"},
        {"place": 2},
        {"thread_id": "t", "place": 0},
    ]
    assert [spot(Point("a", facts)) for facts in spots] == [("t", 2), None, None, None]
    assert spot(point(ANN, draft(ANN, "a", thread_id="t", place=3, created_at=THEN), b"", "s")) == ("t", 3)


def test_the_days_that_it_speaks_of_are_written_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """And are not read again from a point that came back; one without them is."""
    wrote = point(ANN, draft(ANN, "I swam in May 2019"), b"", "s")
    held = json.loads(json.dumps(dict(wrote.payload)))
    fresh = passage(Point(wrote.id, {name: value for name, value in held.items() if name != DAYS}), "a", None)
    before = [*days(fresh)]
    assert len(before) == 2
    monkeypatch.setattr("app.domain.days.expressions", lambda text: pytest.fail("read again"))
    assert [*days(passage(Point(wrote.id, held), "a", None))] == before


def test_a_text_that_was_changed_by_another_tool_is_read_anew() -> None:
    """Its note is of the old one."""
    wrote = point(ANN, draft(ANN, "I swam in May 2019"), b"", "s")
    changed = passage(Point(wrote.id, {**wrote.payload, "text": "I swam in May 2018"}), "a", None)
    assert [span.start.year for span in days(changed)][1:] == [2018]
