"""Bodies of requests: JSON on the wire, and which fields fit."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.answer import Finish
from app.api.bodies import Json, encoded
from app.api.schemas import METADATA_PHRASE, Body
from app.api.schemas.answers import CandidateOut
from app.api.schemas.chat import ChatReply, ChatRequest, RetrievalSummary
from app.api.schemas.corpus import NewTexts
from app.api.schemas.memories import NewMemory
from app.db.memories import ASSISTANT, DAEMONS, DESIRE, GRAVITY, Draft
from app.problems import field_error, phrase
from app.types import Reason, Verdict, moment


def fits(**fields: object) -> bool:
    """True if a question is taken."""
    try:
        ChatRequest.model_validate({"message": "hi", "session_id": "s"} | fields)
    except ValidationError:
        return False
    return True


@given(st.text(max_size=100))
def test_a_message_is_any_text_but_a_blank_one_and_nul(message: str) -> None:
    """Surrogates cannot be written; hypothesis makes none, the next test does."""
    assert fits(message=message) == (bool(message.strip()) and "\x00" not in message)


BLANKS = "".join(sign for sign in map(chr, range(0x3001)) if sign.isspace())


@given(st.text(alphabet=BLANKS, min_size=1, max_size=20), st.sampled_from(["?", "字", "\u200d", "\ud7ff"]))
def test_white_space_alone_asks_nothing(blank: str, sign: str) -> None:
    """Of any kind that Python strips; around a question it may stand."""
    assert not fits(message=blank)
    assert fits(message=f"{blank}{sign}{blank}")


def turns(count: int, length: int = 1) -> list[dict[str, str]]:
    return [{"role": "user", "content": "x" * length}] * count


@pytest.mark.parametrize(
    ("largest", "larger"),
    [
        ({"notes": ["x"] * 50}, {"notes": ["x"] * 51}),
        ({"notes": ["x" * 8_000]}, {"notes": ["x" * 8_001]}),
        ({"history": turns(1_000)}, {"history": turns(1_001)}),
        ({"history": turns(1, 100_000)}, {"history": turns(1, 100_001)}),
    ],
    ids=["notes", "note", "turns", "turn"],
)
def test_lists_and_their_texts_have_an_end(largest: dict[str, object], larger: dict[str, object]) -> None:
    """Exactly at the limit they are taken."""
    assert fits(**largest)
    assert not fits(**larger)


@pytest.mark.parametrize("field", ["message", "session_id", "user_id", "thread_id", "project", "model"])
@pytest.mark.parametrize("sign", ["\x00", "\ud800"], ids=["nul", "surrogate"])
def test_no_text_field_takes_what_postgres_cannot_keep(field: str, sign: str) -> None:
    """Else the store would fail on it, later and less clearly."""
    assert not fits(**{field: f"a{sign}b"})


MEMORY = {"user_id": "ada", "text": "I moved."}


def test_everything_reaches_the_service() -> None:
    sent = MEMORY | {
        "kind": "diary",
        "tags": ["home", "été"],
        "origin": "journal/app:1",
        "vantage_id": "work",
        "thread_id": "t1",
        "created_at": "2026-11-21T13:00:00.5+01:00",
    }
    at = datetime(2026, 11, 21, 12, 0, 0, 500_000, tzinfo=UTC)

    assert NewMemory.model_validate(sent).draft() == Draft(
        "I moved.", "diary", ("home", "été"), "journal/app:1", "work", "t1", at
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((("origin", origin)) for origin in (ASSISTANT, *DAEMONS)),
        ("kind", GRAVITY),
        ("kind", DESIRE),
        ("kind", "a b"),
        ("text", " \n\x1f"),
        ("tags", ["x"] * 51),
        ("tags", ["a\nb"]),
        ("created_at", "2026-11-21T12:00:00"),
        ("created_at", "2026-02-30T12:00:00Z"),
        ("created_at", "1899-12-31T23:59:59Z"),
        ("created_at", "0001-01-01T00:00:00+23:59"),
    ],
)
def test_what_may_not_be_written_is_refused(field: str, value: object) -> None:
    """Words in other mouths, texts without one, times that nobody lived."""
    with pytest.raises(ValidationError):
        NewMemory.model_validate(MEMORY | {field: value})


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param([], id="none"),
        pytest.param(["a"] * 501, id="too many"),
        pytest.param([" "], id="blank"),
        pytest.param([{"text": "a", "id": "a/b"}], id="an id that no path can hold"),
        pytest.param([{"text": "a", "metadata": {"x": float("nan")}}], id="no number"),
        pytest.param([{"text": "a", "metadata": {"x": {"deep": 1}}}], id="nested"),
        pytest.param([{"text": "a", "metadata": {"x": "\x00"}}], id="NUL"),
        pytest.param([{"text": "a", "metadata": {f"k{n}": n for n in range(51)}}], id="too much beside it"),
    ],
)
def test_texts_that_cannot_be_kept_are_refused(texts: list[object]) -> None:
    with pytest.raises(ValidationError):
        NewTexts.model_validate({"texts": texts})


@pytest.mark.parametrize(
    ("metadata", "place", "message"),
    [
        pytest.param({"x": {"deep": 1}, "y": {}}, ("x",), METADATA_PHRASE, id="the first value"),
        pytest.param({"x": ["a", 1, 2]}, ("x",), METADATA_PHRASE, id="a list"),
        pytest.param({"x": "\x00" * 3}, ("x",), METADATA_PHRASE, id="NUL"),
        pytest.param({"\n": {}}, ("\n", "[key]"), "must be one line", id="a name"),
    ],
)
def test_wrong_metadata_of_a_text_are_one_fault(
    metadata: dict[str, object], place: tuple[str, ...], message: str
) -> None:
    """A body has room for 25,000 wrong values, of six kinds each."""
    with pytest.raises(ValidationError) as refused:
        NewTexts.model_validate({"texts": ["a", {"text": "b", "metadata": metadata}]})

    [fault] = refused.value.errors()
    assert fault["loc"] == ("texts", 1, "metadata", *place)
    assert phrase(fault).startswith(message)


def test_every_reason_verdict_and_finish_can_be_told() -> None:
    """A new one must be added to the document."""
    kept = RetrievalSummary.model_json_schema()["properties"]["reason"]["enum"]
    verdicts = CandidateOut.model_json_schema()["properties"]["verdict"]["enum"]
    finishes = ChatReply.model_json_schema()["properties"]["finish_reason"]["enum"]

    assert set(kept) == {str(reason) for reason in Reason}
    assert set(verdicts) == {str(verdict) for verdict in Verdict}
    assert set(finishes) == {str(finish) for finish in Finish}


WRONG: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    float("inf"),
    10**30,
    "",
    " ",
    "a\nb",
    "\ud800",
    "x" * 101,
    [],
    [None],
    {},
    {"a": {}},
)


@pytest.mark.parametrize("kind", Body.__subclasses__(), ids=lambda kind: kind.__name__)
def test_every_error_is_told_in_plain_words(kind: type[Body]) -> None:
    """Whatever is sent for a field: a sentence about it, and neither pydantic's words nor the fallback."""
    for name in kind.model_fields:
        for value in (*WRONG, list(WRONG)):
            try:
                kind.model_validate({name: value, "more": 1})
            except ValidationError as error:
                said = [field_error({**fault, "loc": ("body", *fault["loc"])}) for fault in error.errors()]
            for each in said:
                assert not re.search("Input should|String should|is not valid$|is not allowed", each.message)
                assert each.message.startswith(each.field.removeprefix("body."))


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


@pytest.mark.parametrize("text", ["\ud83d", "x\udc00"])
def test_half_a_surrogate_pair_is_sent_as_its_escape(text: str) -> None:
    """UTF-8 has no form for it."""
    assert json.loads(encoded({"text": text})) == {"text": text}
    assert bytes(Json({"text": text}).body).isascii()


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
