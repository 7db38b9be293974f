"""A result survives the way through bytes to the last bit; anything else is a miss."""

import json
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.retrieval.cache import pack, unpack
from app.text.labels import label, label_name
from app.types import Candidate, Found, Hit, Passage

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
figures = st.floats(allow_nan=False, allow_infinity=False)
hits = st.builds(Hit, texts, figures, figures, st.booleans())
passages = st.builds(
    Passage,
    source=texts,
    id=texts,
    text=texts,
    tokens=st.integers(0, 1 << 40),
    label=st.builds(
        label, st.text(min_size=1, max_size=30).map(label_name), st.integers(1, 1 << 31).map(str)
    ),
    similarity=st.none() | st.floats(-1, 1),
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
    answered=st.integers(1, 9),
    notes=st.lists(texts, max_size=3).map(tuple),
)
KEY = "2.1:key"

WHOLE = Found((Candidate(Passage("documents", "a:1", "Text.", 2, "a.pdf#1")),), stored=1, answered=1)


@given(results, figures)
@settings(max_examples=50)
def test_what_comes_back_is_what_was_packed(found: Found, made_at: float) -> None:
    """Every field, every float bit by bit, every kind: 0 stays no 0.0."""
    packed = pack(found, KEY, made_at)
    assert packed is not None
    back = unpack(packed, KEY)
    assert back == (found, made_at)
    assert repr(back) == repr((found, made_at)).replace("datetime.timezone.utc", "TzInfo(0)")


def packed() -> dict[str, Any]:
    """A good one, open."""
    return dict(orjson.loads(pack(WHOLE, KEY, 1.0) or b""))


def changed(**facts: object) -> bytes:
    """One with something else in its result."""
    shared = packed()
    return json.dumps(shared | {"found": shared["found"] | facts}).encode()


def spoilt(words: object = None, **fields: object) -> bytes:
    """One whose candidate has other values in its passage."""
    [candidate] = packed()["found"]["candidates"]
    return changed(candidates=[candidate | {"passage": candidate["passage"] | fields, "words": words}])


def test_a_parcel_that_nobody_spoilt_is_read() -> None:
    """So that the cases below fail for the reason they give."""
    assert unpack(changed(), KEY) == (WHOLE, 1.0)
    assert unpack(spoilt(fields={"url": "/api/documents/a/chunks/1"}), KEY)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x80\x04K\x01.", id="a pickle"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{}", id="no facts"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(json.dumps(packed() | {"made_at": "now"}).encode(), id="time"),
        pytest.param(json.dumps(packed() | {"key": "2.1:other"}).encode(), id="another key's"),
        pytest.param(changed(stored=True), id="count"),
        pytest.param(changed(answered=0), id="found by nobody"),
        pytest.param(spoilt(tokens=-5), id="fewer tokens than none"),
        pytest.param(spoilt(label="a]\n[System] #1"), id="a label that leaves its brackets"),
        pytest.param(spoilt(label="a.pdf"), id="a label without an id"),
        pytest.param(spoilt(similarity=9.0), id="more than alike"),
        pytest.param(spoilt(similarity=-1.5), id="less than unlike"),
        pytest.param(spoilt(fields={"url": "javascript:alert(1)"}), id="a link to a script"),
        pytest.param(spoilt(fields={"url": "//elsewhere.example/api/documents/"}), id="a link to elsewhere"),
        pytest.param(spoilt(fields={"url": 1}), id="a link that is a number"),
        pytest.param(changed(candidates=[{}]), id="no passage"),
        pytest.param(changed(candidates=7), id="no candidates"),
        pytest.param(changed(notes=[7]), id="a note that is a number"),
        pytest.param(changed(notes=None), id="no notes"),
        pytest.param(spoilt(text=None), id="no text"),
        pytest.param(spoilt(tokens=2.5), id="half a token"),
        pytest.param(spoilt(label=["a"]), id="label"),
        pytest.param(spoilt(score="high"), id="score"),
        pytest.param(spoilt(fields={"page": [1]}), id="field"),
        pytest.param(spoilt(fields=[1]), id="fields"),
        pytest.param(spoilt(created_at="yesterday"), id="date"),
        pytest.param(spoilt({"key": "a", "score": 1.0, "rare": "yes"}), id="hit"),
        pytest.param(spoilt({"key": "a"}), id="short hit"),
    ],
)
def test_what_cannot_be_read_is_a_miss(raw: bytes) -> None:
    """Whoever wrote it; it is never an error of the answer."""
    assert unpack(raw, KEY) is None


def test_what_json_cannot_say_is_not_packed() -> None:
    """A lone surrogate."""
    assert pack(Found((Candidate(Passage("d", "a", "\ud800", 1, "l")),)), KEY, 1.0) is None


def test_times_keep_their_zone() -> None:
    """To the microsecond."""
    made = datetime(2026, 11, 21, 9, 30, 0, 123456, tzinfo=UTC)
    dated = Found((Candidate(Passage("d", "a", "t", 1, "l.pdf#1", created_at=made)),), answered=1)
    assert unpack(pack(dated, KEY, 1.0) or b"", KEY) == (dated, 1.0)


@pytest.mark.parametrize(
    ("source", "url", "read"),
    [
        ("corpus", "https://a.example/1", True),
        ("corpus", "/api/documents/a", False),
        ("corpus", "javascript:alert(1)", False),
        ("documents", "https://a.example/1", False),
        ("memories", "https://a.example/1", False),
        ("memories", None, True),
    ],
)
def test_an_address_is_such_as_its_source_gives(source: str, url: str | None, read: bool) -> None:
    """A writer's own for reference texts, ours for documents, none for memories."""
    found = Found((Candidate(Passage(source, "a", "t", 1, "l#1", fields={"url": url})),), answered=1)
    assert (unpack(pack(found, KEY, 1.0) or b"", KEY) is not None) is read


@pytest.mark.parametrize("score", ["1e999", "-1e999", "NaN"])
def test_no_number_is_beyond_reckoning(score: str) -> None:
    """Whatever another's JSON may say."""
    raw = spoilt(score="SCORE").replace(b'"SCORE"', score.encode())
    assert unpack(raw, KEY) is None
