"""Points and their payloads as passages, and back; short forms of ids, stable, and no two alike."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval import payload, source
from app.retrieval.points import (
    REFERENCE,
    memory_from_point,
    memory_to_point,
    text_point_passage,
    text_to_point,
)
from app.retrieval.retrievers.points import Point
from app.retrieval.source import label_suffixes
from app.text.labels import is_label
from app.types import LONG_AGO, Scope
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
    kept = draft(ANN, text, **facts, fields={"weights": {"a": 0.5}})
    wrote = memory_to_point(ANN, kept, bag(text), "bag@32")
    assert memory_from_point(Point(wrote.id, json.loads(json.dumps(dict(wrote.payload))))) == kept


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


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


NAMES = st.sampled_from(
    ["text", "content", "chunk", "kind", "tags", "url", "created_at", "tokens", "metadata"]
)


PAYLOADS = st.dictionaries(NAMES, JSON)


@given(PAYLOADS)
def test_whatever_was_written_can_be_read(facts: dict[str, Any]) -> None:
    """Every reader gives a value of its kind."""
    text = payload.text(facts)
    assert isinstance(text, str)
    assert isinstance(payload.fact(facts, "kind"), str)
    assert "\n" not in payload.fact(facts, "kind")
    assert all(isinstance(tag, str) and tag for tag in payload.tags(facts))
    assert (payload.link(facts) or "https://").startswith(("https://", "http://"))
    assert payload.tokens(facts, text) >= 0
    moment = payload.moment(facts)
    assert moment is None or moment.tzinfo is UTC


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-11-01T09:30:00+00:00", datetime(2026, 11, 1, 9, 30, tzinfo=UTC)),
        ("2026-11-01T09:30:00Z", datetime(2026, 11, 1, 9, 30, tzinfo=UTC)),
        ("2026-11-01T09:30:00", datetime(2026, 11, 1, 9, 30, tzinfo=UTC)),
        ("2026-11-01T10:30:00+01:00", datetime(2026, 11, 1, 9, 30, tzinfo=UTC)),
        (60, datetime(1970, 1, 1, 0, 1, tzinfo=UTC)),
        (1e300, None),
        ("yesterday", None),
        (None, None),
        (float("nan"), None),
    ],
)
def test_times_of_several_kinds(value: object, moment: datetime | None) -> None:
    """RFC 3339, with or without its offset, or seconds; what is none of them is no time."""
    assert payload.moment({"created_at": value}) == moment


@pytest.mark.parametrize(
    ("facts", "day"),
    [
        pytest.param({"created_at": "2026-11-01T00:00:00Z"}, 1, id="written"),
        pytest.param({"updated_at": "2026-11-02T00:00:00Z"}, 2, id="changed"),
        pytest.param({"created_at": "2026-11-01T00:00:00Z", "updated_at": 1793577600}, 2, id="both"),
        pytest.param(
            {"created_at": "2026-11-03T00:00:00Z", "updated_at": "2026-11-02"}, 3, id="turned round"
        ),
        pytest.param({"created_at": "2026-11-01T00:00:00Z", "updated_at": "never"}, 1, id="no time"),
        pytest.param({}, None, id="neither"),
    ],
)
def test_a_text_is_of_when_it_last_changed(facts: dict[str, object], day: int | None) -> None:
    found = payload.dated(facts)
    assert (found.day if found else None) == day


def test_those_that_would_look_alike_are_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        source, "digest", lambda text: (b"x" if text[-1] in "ab" else b"y") * 5 + text[-1].encode() * 5
    )
    found = label_suffixes("s", "abc")
    assert found["a"][:8] == found["b"][:8] != found["c"]
    assert list(map(len, found.values())) == [16, 16, 8]
