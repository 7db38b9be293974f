"""A result survives the way through bytes to the last bit; anything else is a miss."""

import json
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.found import Found
from app.domain.passage import Candidate, Hit, Passage
from app.services.parcel import pack, unpack

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
figures = st.floats(allow_nan=False, allow_infinity=False)
hits = st.builds(Hit, texts, figures, figures, st.booleans())
passages = st.builds(
    Passage,
    source=texts,
    id=texts,
    text=texts,
    tokens=st.integers(0, 1 << 40),
    label=texts,
    similarity=st.none() | figures,
    score=figures,
    title=texts,
    fields=st.dictionaries(texts, st.none() | texts | st.integers(-(1 << 60), 1 << 60), max_size=3),
    created_at=st.none() | st.datetimes(timezones=st.just(UTC)).map(lambda at: at.replace(fold=0)),
)
candidates = st.lists(st.builds(Candidate, passages, st.none() | hits), max_size=2).map(tuple)
results = st.builds(
    Found,
    candidates=candidates,
    duplicates=candidates,
    stored=st.integers(0, 1 << 40),
    answered=st.integers(0, 9),
)

WHOLE = Found((Candidate(Passage("documents", "a:1", "Text.", 2, "a.pdf#1")),), stored=1, answered=1)


@given(results, figures)
@settings(max_examples=50)
def test_what_comes_back_is_what_was_packed(found: Found, made_at: float) -> None:
    """Every field, every float bit by bit, every kind: 0 stays no 0.0."""
    packed = pack(found, made_at)
    assert packed is not None
    back = unpack(packed)
    assert back == (found, made_at)
    assert repr(back) == repr((found, made_at))


def packed() -> dict[str, Any]:
    """A good parcel, open."""
    return dict(orjson.loads(pack(WHOLE, 1.0) or b""))


def changed(**facts: object) -> bytes:
    """One with something else in it."""
    return json.dumps(packed() | facts).encode()


def spoilt(position: int, value: object) -> bytes:
    """One whose candidate has another value at a position."""
    row = [*packed()["candidates"][0]]
    row[position] = value
    return changed(candidates=[row])


def test_a_parcel_that_nobody_spoilt_is_read() -> None:
    """So that the cases below fail for the reason they give."""
    assert unpack(changed()) == (WHOLE, 1.0)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x80\x04K\x01.", id="a pickle"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{}", id="no facts"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(changed(at="now"), id="time"),
        pytest.param(changed(stored=True), id="count"),
        pytest.param(changed(candidates=[[]]), id="short row"),
        pytest.param(changed(candidates=7), id="no rows"),
        pytest.param(spoilt(2, None), id="no text"),
        pytest.param(spoilt(3, 2.5), id="half a token"),
        pytest.param(spoilt(4, ["a"]), id="label"),
        pytest.param(spoilt(6, "high"), id="score"),
        pytest.param(spoilt(8, {"page": [1]}), id="field"),
        pytest.param(spoilt(8, [1]), id="fields"),
        pytest.param(spoilt(9, "yesterday"), id="date"),
        pytest.param(spoilt(10, ["a", 1.0, 1.0, "yes"]), id="hit"),
        pytest.param(spoilt(10, [1.0]), id="short hit"),
    ],
)
def test_what_cannot_be_read_is_a_miss(raw: bytes) -> None:
    """Whoever wrote it; it is never an error of the answer."""
    assert unpack(raw) is None


def test_what_json_cannot_say_is_not_packed() -> None:
    """A lone surrogate, an endless integer."""
    for passage in (Passage("d", "a", "\ud800", 1, "l"), Passage("d", "a", "t", 1 << 70, "l")):
        assert pack(Found((Candidate(passage),)), 1.0) is None


def test_times_keep_their_zone() -> None:
    """To the microsecond."""
    made = datetime(2026, 11, 21, 9, 30, 0, 123456, tzinfo=UTC)
    dated = Found((Candidate(Passage("d", "a", "t", 1, "l", created_at=made)),))
    assert unpack(pack(dated, 1.0) or b"") == (dated, 1.0)
