"""Folders read as benchmarks, what is said of those that are none, and what texts say of themselves."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.evaluation.data import BadBenchmark, Benchmark, BenchmarkQuestion, CorpusText, read

TEXTS = [
    {"id": "a", "title": "T", "text": "one", "scope": "s", "meta": {"session": 1}},
    {"id": "b", "text": "two"},
]
QUESTION = {"id": "q", "text": "which?", "scope": "s", "rel": {"a": 2, "b": 0}}


def folder(place: Path, texts: list[object], questions: list[object]) -> Path:
    """A benchmark of these lines; what is text already is written as it is."""
    for name, rows in (("corpus.jsonl", texts), ("queries_dev.jsonl", questions)):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (place / name).write_text("\n".join(lines))
    return place


def test_texts_and_questions_are_read_as_they_stand(tmp_path: Path) -> None:
    """With scope, title and meta; empty lines do not count."""
    found = read(folder(tmp_path, [*TEXTS, ""], [QUESTION]), "dev")

    assert (found.name, found.split, len(found.texts)) == (tmp_path.name, "dev", 2)
    assert (found.texts[0].title, found.texts[0].scope, found.texts[0].thread) == ("T", "s", "1")
    assert found.questions[0].rel == {"a": 2, "b": 0}
    assert (found.unanswerable, found.dangling) == (0, 0)


@pytest.mark.parametrize(
    "question",
    [
        pytest.param({"id": "x", "text": "?", "rel": {}}, id="no grades"),
        pytest.param({"id": "x", "text": "?"}, id="no rel"),
        pytest.param({"id": "x", "text": "?", "rel": {"a": 0}}, id="only zero"),
        pytest.param({"id": "x", "text": "?", "rel": {"a": 1}, "meta": {"unanswerable": True}}, id="said so"),
    ],
)
def test_what_nothing_answers_is_left_out_and_counted(tmp_path: Path, question: dict[str, object]) -> None:
    """It has no recall."""
    found = read(folder(tmp_path, list(TEXTS), [QUESTION, question]), "dev")

    assert [item.id for item in found.questions] == ["q"]
    assert found.unanswerable == 1


def test_grades_of_texts_that_are_not_there_are_counted_and_stay(tmp_path: Path) -> None:
    """They count against recall."""
    found = read(folder(tmp_path, list(TEXTS), [QUESTION | {"rel": {"a": 1, "gone": 1}}]), "dev")

    assert found.dangling == 1
    assert "gone" in found.questions[0].rel


@pytest.mark.parametrize(
    ("texts", "questions", "said"),
    [
        pytest.param(['{"id": "a"', *TEXTS], [QUESTION], "corpus.jsonl, line 1: Invalid JSON", id="broken"),
        pytest.param([{"id": "a", "text": " "}], [QUESTION], "line 1: `text` String", id="blank"),
        pytest.param(
            [*TEXTS, "", TEXTS[0]], [QUESTION], "line 4: the id 'a' .* twice, first in line 1", id="twice"
        ),
        pytest.param([{"text": "x"}], [QUESTION], "corpus.jsonl, line 1: `id` Field required", id="no id"),
        pytest.param(
            TEXTS, [QUESTION | {"rel": {"a": 10**9}}], "less than or equal to 1000", id="vast grade"
        ),
        pytest.param(TEXTS, [QUESTION | {"rel": {"x": 1}}], "no graded text is in corpus", id="strangers"),
        pytest.param(
            TEXTS, [QUESTION | {"rel": {"a": 0.5}}], "`rel` `a` Input should be a valid integer", id="grade"
        ),
        pytest.param(TEXTS, [QUESTION | {"rel": {}}], "no question can be measured", id="none left"),
        pytest.param([], [QUESTION], "corpus.jsonl is empty", id="no texts"),
    ],
)
def test_a_bad_line_is_told_with_its_file_and_number(
    tmp_path: Path, texts: list[object], questions: list[object], said: str
) -> None:
    """So that it can be mended."""
    with pytest.raises(BadBenchmark, match=said):
        read(folder(tmp_path, texts, questions), "dev")


def test_a_folder_without_the_split_says_which_file_is_missing(tmp_path: Path) -> None:
    """As for a folder that is no benchmark at all."""
    with pytest.raises(BadBenchmark, match=r"queries_test\.jsonl is missing"):
        read(folder(tmp_path, list(TEXTS), [QUESTION]), "test")


def test_marks_line_ends_and_large_texts_of_other_systems_are_read(tmp_path: Path) -> None:
    """A byte order mark, CR LF, a separator inside a text, nulls for what is missing, eight megabytes."""
    folder(tmp_path, [], [QUESTION])
    large = {"id": "a", "title": None, "text": "wörd\u2028" * 1_000_000, "scope": None, "meta": None}
    line = json.dumps(large, ensure_ascii=False).encode()
    (tmp_path / "corpus.jsonl").write_bytes(b"\xef\xbb\xbf" + line + b'\r\n{"id": "b", "text": "x"}\r\n')

    found = read(tmp_path, "dev")

    assert [(text.id, text.title, text.scope) for text in found.texts] == [("a", "", None), ("b", "", None)]
    assert found.texts[0].text == large["text"]


def test_texts_of_another_scope_are_as_if_not_there(tmp_path: Path) -> None:
    """A question is asked in its own; what belongs to nobody is in everybody's reach."""
    found = read(folder(tmp_path, list(TEXTS), [QUESTION | {"scope": "t"}]), "dev")

    assert found.dangling == 1


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
    assert CorpusText("1", "words", meta=meta).thread == thread


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
    assert CorpusText("1", "words", meta={"date": date}).said_at == at


def asked(*fields: object) -> Benchmark:
    """A question a value, which is its scope."""
    questions = [
        BenchmarkQuestion(str(n), "?", {"a": 1}, None if value is None else str(value))
        for n, value in enumerate(fields)
    ]
    return Benchmark("b", "dev", [], questions)


def test_questions_are_told_apart_by_scope_where_that_is_a_few_groups() -> None:
    """In the order in which they come; one group, or more than are read, are none."""
    assert asked("en", "de", "en", None).groups == {"en": ["0", "2"], "de": ["1"], "-": ["3"]}
    assert asked("en", "en").groups == {}
    assert len(asked(*range(20)).groups) == 20
    assert asked(*range(21)).groups == {}
