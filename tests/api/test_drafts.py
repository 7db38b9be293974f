"""What clients may send to be kept."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from app.api.drafts import FACT, CorpusBody, Memories, MemoryBody, read
from app.db.corpus import Given
from app.db.memories import ASSISTANT, CARDS, DAEMONS, DESIRE, GRAVITY, Draft

MEMORY = {"user_id": "ada", "text": "I moved."}
EITHER = TypeAdapter[Any](Memories)


def test_the_least_is_a_note_of_now() -> None:
    """Said by nobody in particular, in no thread."""
    assert MemoryBody.model_validate(MEMORY).draft() == Draft("I moved.")


def test_everything_reaches_the_service() -> None:
    """As it was sent."""
    sent = MEMORY | {
        "kind": "diary",
        "tags": ["home", "été"],
        "origin": "journal/app:1",
        "vantage_id": "work",
        "thread_id": "t1",
        "created_at": "2026-11-21T13:00:00.5+01:00",
    }
    at = datetime(2026, 11, 21, 12, 0, 0, 500_000, tzinfo=UTC)

    assert MemoryBody.model_validate(sent).draft() == Draft(
        "I moved.", "diary", ("home", "été"), "journal/app:1", "work", "t1", at
    )


@pytest.mark.parametrize("kind", CARDS)
def test_a_person_may_write_his_own_cards(kind: str) -> None:
    """Persona, style, preference."""
    assert MemoryBody.model_validate(MEMORY | {"kind": kind}).kind == kind


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((("origin", origin)) for origin in (ASSISTANT, *DAEMONS)),
        ("kind", GRAVITY),
        ("kind", DESIRE),
        ("kind", ""),
        ("kind", "a b"),
        ("kind", "x" * 101),
        ("origin", "\u0000"),
        ("text", ""),
        ("text", " \n\x1f"),
        ("text", "a\x00b"),
        ("text", "x" * 32_001),
        ("text", 5),
        ("tags", ["x"] * 51),
        ("tags", ["a\nb"]),
        ("thread_id", ""),
        ("created_at", "2026-11-21"),
        ("created_at", "2026-11-21T12:00:00"),
        ("created_at", "2026-02-30T12:00:00Z"),
        ("created_at", "1899-12-31T23:59:59Z"),
        ("created_at", "0001-01-01T00:00:00+23:59"),
        ("created_at", 1_700_000_000),
        ("more", 1),
    ],
)
def test_what_may_not_be_written_is_refused(field: str, value: object) -> None:
    """Words in other mouths, texts without one, times that nobody lived."""
    with pytest.raises(ValidationError):
        MemoryBody.model_validate(MEMORY | {field: value})


def test_a_clock_may_be_ahead_a_little() -> None:
    """A day; no more."""
    for ahead, fits in ((timedelta(hours=1), True), (timedelta(days=2), False)):
        sent = MEMORY | {"created_at": (datetime.now(UTC) + ahead).isoformat()}
        try:
            MemoryBody.model_validate(sent)
        except ValidationError:
            assert not fits
        else:
            assert fits


def test_times_finer_than_a_microsecond_are_cut() -> None:
    """As other languages write them."""
    assert read("2026-11-21t12:00:00.123456789z") == datetime(2026, 11, 21, 12, 0, 0, 123_456, tzinfo=UTC)


def test_one_or_several() -> None:
    """And the faults of what was sent alone."""
    assert EITHER.validate_python(MEMORY).text == "I moved."
    assert [each.text for each in EITHER.validate_python([MEMORY, MEMORY])] == ["I moved."] * 2
    for sent, place in (({"text": ""}, ("text",)), ([MEMORY, {"text": ""}], (1, "text"))):
        with pytest.raises(ValidationError) as refused:
            EITHER.validate_python(sent)
        assert [fault["loc"] for fault in refused.value.errors()] == [place]


@pytest.mark.parametrize("sent", [[], [MEMORY] * 501, "I moved.", None, 5], ids=str)
def test_no_other_form_is_taken(sent: object) -> None:
    """Nothing, too much, something else."""
    with pytest.raises(ValidationError):
        EITHER.validate_python(sent)


def test_texts_come_named_or_not() -> None:
    """Strings, or objects with what is known of them."""
    named = {
        "id": "a1",
        "text": "b",
        "title": "B",
        "metadata": {"n": 1, "ok": True, "tags": ["x"], "no": None},
    }

    given = CorpusBody.model_validate({"texts": ["a", named]}).given()

    assert given == [Given("a"), Given("b", "a1", "B", {"n": 1, "ok": True, "tags": ["x"], "no": None})]


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
    """Before anything is embedded."""
    with pytest.raises(ValidationError):
        CorpusBody.model_validate({"texts": texts})


@pytest.mark.parametrize(
    ("metadata", "place", "message"),
    [
        pytest.param({"x": {"deep": 1}, "y": {}}, ("x",), FACT, id="the first value"),
        pytest.param({"x": ["a", 1, 2]}, ("x",), FACT, id="a list"),
        pytest.param({"x": "\x00" * 3}, ("x",), FACT, id="NUL"),
        pytest.param({"\n": {}}, ("\n", "[key]"), "String should match pattern", id="a name"),
    ],
)
def test_wrong_metadata_of_a_text_are_one_fault(
    metadata: dict[str, object], place: tuple[str, ...], message: str
) -> None:
    """A body has room for 25,000 wrong values, of six kinds each."""
    with pytest.raises(ValidationError) as refused:
        CorpusBody.model_validate({"texts": ["a", {"text": "b", "metadata": metadata}]})

    [fault] = refused.value.errors()
    assert fault["loc"] == ("texts", 1, "metadata", *place)
    assert fault["msg"].startswith(message)
