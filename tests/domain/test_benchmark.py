"""What a benchmark's texts say of themselves."""

from datetime import UTC, datetime

import pytest

from app.domain.benchmark import Benchmark, Text


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
        pytest.param("2024-05-08T13:56:00", None, id="no zone"),
        pytest.param("1:56 pm on 8 May, 2024", None, id="in words"),
        pytest.param(None, None, id="null"),
    ],
)
def test_a_date_counts_where_it_is_a_time_with_its_zone(date: str | None, at: datetime | None) -> None:
    """Nothing is guessed."""
    assert Text("1", "words", meta={"date": date}).said_at == at


def test_a_title_stands_in_front() -> None:
    """Where there is one."""
    assert (Text("1", "words", "Title").whole, Text("1", "words").whole) == ("Title\nwords", "words")


def test_one_scope_makes_a_benchmark_scoped() -> None:
    """Then its texts belong to somebody."""
    texts = [Text("1", "a"), Text("2", "b", scope="s")]

    assert Benchmark("b", "dev", texts, []).scoped
    assert not Benchmark("b", "dev", texts[:1], []).scoped
