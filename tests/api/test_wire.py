"""JSON on the wire."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated

import pytest
from fastapi import APIRouter, FastAPI
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator
from starlette.responses import Response

from app import problems
from app.api.schemas import Body
from app.api.wire import BLOCK, Json, JsonRoute, encoded, is_json, parsed, values
from app.errors import BadInput
from app.types import moment
from tests.fakes.server import browsing

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES)
def test_what_is_sent_reads_back_the_same(value: object) -> None:
    """And is one line of UTF-8."""
    sent = encoded(value)

    assert json.loads(sent) == value
    assert b"\n" not in sent


@given(VALUES)
def test_what_is_received_is_what_was_meant(value: object) -> None:
    """However the sender escaped it."""
    for ascii_only in (True, False):
        assert parsed(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


def test_text_is_sent_as_itself() -> None:
    """Not as escapes: shorter, and readable in a terminal."""
    assert encoded({"text": "Größe 😀"}) == '{"text":"Größe 😀"}'.encode()


@pytest.mark.parametrize("text", ["\ud83d", "x\udc00"])
def test_half_a_surrogate_pair_is_sent_as_its_escape(text: str) -> None:
    """UTF-8 has no form for it."""
    assert json.loads(encoded({"text": text})) == {"text": text}
    assert bytes(Json({"text": text}).body).isascii()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_does_not_have_becomes_null(value: float) -> None:
    """Python would write NaN, which no browser reads."""
    assert encoded({"score": value}) == b'{"score":null}'


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "latin-1"])
def test_other_encodings_are_refused(encoding: str) -> None:
    with pytest.raises(BadInput, match="UTF-8"):
        parsed('{"text": "é"}'.encode(encoding))


def counted(word: str) -> str:
    VALIDATIONS[word] += 1
    return word


VALIDATIONS: Counter[str] = Counter()
Word = Annotated[str, AfterValidator(counted)]


class WordBody(Body):
    """A word of a length."""

    word: Word
    length: int = 0


@pytest.mark.parametrize(("length", "status"), [(3, 200), ("three", 422)])
async def test_a_body_is_validated_once(app: FastAPI, length: object, status: int) -> None:
    """Right or wrong: FastAPI takes what was validated as it is."""
    router = APIRouter(route_class=JsonRoute)

    @router.post("/words")
    async def words(body: WordBody) -> Response:
        return Json(body.model_dump())

    small = FastAPI(routes=router.routes)
    small.state = app.state
    problems.install(small)
    VALIDATIONS.clear()
    async with browsing(small) as client:
        response = await client.post("/words", json={"word": "one", "length": length})

    assert (response.status_code, VALIDATIONS) == (status, {"one": 1})


@pytest.mark.parametrize(
    ("content_type", "fits"),
    [
        ("application/json", True),
        ("application/json;charset=utf-8", True),
        (" Application/JSON ", True),
        ("application/jsonp", False),
        ("application/problem+json", False),
        ("text/json", False),
        ("text/plain; application/json", False),
        ("", False),
    ],
)
def test_json_is_known_by_its_media_type(content_type: str, fits: bool) -> None:
    """A form posted by a foreign page has one of three other types, and needs no leave of the browser."""
    assert is_json(content_type) is fits


EAST = timezone(timedelta(hours=5, minutes=30))


@pytest.mark.parametrize(
    ("at", "told"),
    [
        (datetime(2026, 11, 21, 9, 30, 1, 250_000, UTC), "2026-11-21T09:30:01.250000Z"),
        (datetime(2026, 11, 21, 9, 30, tzinfo=EAST), "2026-11-21T04:00:00Z"),
        (datetime(2026, 11, 21, 9, 30), "2026-11-21T09:30:00Z"),  # noqa: DTZ001 - a zone that was lost
    ],
    ids=["utc", "east", "none"],
)
def test_times_are_rfc_3339(at: datetime, told: str) -> None:
    """UTC, to the microsecond, with a Z, whatever zone they were sent in."""
    assert moment(at) == told


@given(
    value=st.recursive(
        st.none() | st.integers() | st.text(st.sampled_from('a,[{"\\é')),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.sampled_from('b,"\\')), inner),
        max_leaves=20,
    ),
    ahead=st.integers(0, 9),
)
async def test_values_are_counted_outside_of_strings(value: object, ahead: int) -> None:
    """By their commas and brackets, however large the text and wherever it is cut."""
    text = "," * (BLOCK - ahead)
    body = json.dumps([text, value], ensure_ascii=False).encode()

    assert await values(body) == 2 + separators(value)


def separators(value: object) -> int:
    """Brackets and commas that JSON writes for it."""
    if not isinstance(value, list | dict):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(len(value) - 1, 0) + sum(map(separators, inner))
