"""What a benchmark's texts say of themselves."""

from datetime import UTC, datetime

import pytest

from app.domain.benchmark import Benchmark, Question, Text


@pytest.mark.parametrize(
    ("meta", "thread"),
    [
        pytest.param({"session": 3}, "3", id="session"),
        pytest.param({"thread": "t"}, "t", id="thread"),
        pytest.param({"session": "s", "thread": "t"}, "s", id="both"),
        pytest.param({}, None, id="none"),
    ],
)
def test_a_text_knows_the_conversation_it_was_said_in(meta: dict[str, object], thread: str | None) -> None:
    """As `meta.session` or `meta.thread` names it, in letters or digits."""
    assert Text("1", "words", meta=meta).thread == thread


@pytest.mark.parametrize(
    ("date", "at"),
    [
        pytest.param("2024-05-08T13:56:00Z", datetime(2024, 5, 8, 13, 56, tzinfo=UTC), id="rfc3339"),
        pytest.param("2024-05-08T13:56:00", datetime(2024, 5, 8, tzinfo=UTC), id="no zone"),
        pytest.param("1:56 pm on 8 May, 2024", datetime(2024, 5, 8, tzinfo=UTC), id="in words"),
        pytest.param("Mittwoch, 8. Mai 2024", datetime(2024, 5, 8, tzinfo=UTC), id="in other words"),
        pytest.param("8 May", None, id="any year's"),
        pytest.param("May 2024", None, id="a month"),
        pytest.param("yesterday", None, id="relative"),
        pytest.param(None, None, id="null"),
    ],
)
def test_a_date_is_a_time_with_its_zone_or_a_day_in_words(date: str | None, at: datetime | None) -> None:
    """The day at its beginning in UTC; what is no whole day with its year is no date."""
    assert Text("1", "words", meta={"date": date}).said_at == at


def test_a_title_stands_in_front() -> None:
    """Where there is one."""
    assert (Text("1", "words", "Title").whole, Text("1", "words").whole) == ("Title\nwords", "words")


def test_one_scope_makes_a_benchmark_scoped() -> None:
    """Then its texts belong to somebody."""
    texts = [Text("1", "a"), Text("2", "b", scope="s")]

    assert Benchmark("b", "dev", texts, []).scoped
    assert not Benchmark("b", "dev", texts[:1], []).scoped


def asked(*fields: object) -> Benchmark:
    """A question a value, which is its scope and its `meta.kind`."""
    questions = [
        Question(str(n), "?", {"a": 1}, None if value is None else str(value), {"kind": value})
        for n, value in enumerate(fields)
    ]
    return Benchmark("b", "dev", [], questions)


def test_questions_are_told_apart_by_scope_where_that_is_a_few_groups() -> None:
    """In the order in which they come; one group, or more than are read, are none."""
    assert asked("en", "de", "en", None).groups() == {"en": ["0", "2"], "de": ["1"], "-": ["3"]}
    assert asked("en", "en").groups() == {}
    assert len(asked(*range(20)).groups()) == 20
    assert asked(*range(21)).groups() == {}


def test_questions_are_told_apart_by_a_field_that_is_named() -> None:
    """However many groups it makes; what has no such field is a group too."""
    assert asked(2, 1, 2).groups("kind") == {"2": ["0", "2"], "1": ["1"]}
    assert asked(2, 1).groups("nothing") == {"-": ["0", "1"]}
    assert len(asked(*range(30)).groups("scope")) == 30
