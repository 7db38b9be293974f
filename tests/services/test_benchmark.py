"""Folders read as benchmarks, and what is said of those that are none."""

import json
from pathlib import Path

import pytest

from app.services.benchmark import Unreadable, read

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
    assert found.questions[0].grades == {"a": 2, "b": 0}
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
    assert "gone" in found.questions[0].grades


@pytest.mark.parametrize(
    ("texts", "questions", "said"),
    [
        pytest.param(['{"id": "a"', *TEXTS], [QUESTION], "corpus.jsonl, line 1: no JSON", id="broken"),
        pytest.param([*TEXTS, "", "[]"], [QUESTION], "corpus.jsonl, line 4: no JSON object", id="a list"),
        pytest.param([{"id": 1, "text": "x"}], [QUESTION], "line 1: `id` is no text", id="id"),
        pytest.param([{"id": "a", "text": " "}], [QUESTION], "line 1: `text` is no text", id="blank"),
        pytest.param([{"id": "a", "text": "x", "scope": 3}], [QUESTION], "`scope` is no text", id="scope"),
        pytest.param([{"id": "a", "text": "x", "meta": []}], [QUESTION], "`meta` is no object", id="meta"),
        pytest.param(
            [*TEXTS, "", TEXTS[0]], [QUESTION], "line 4: the id 'a' .* twice, first in line 1", id="twice"
        ),
        pytest.param([{"text": "x"}], [QUESTION], "corpus.jsonl, line 1: there is no `id`", id="no id"),
        pytest.param([{"id": "a"}], [QUESTION], "line 1: there is no `text`", id="no text"),
        pytest.param(
            [{"id": "a\nb", "text": "x"}], [QUESTION], "`id` is longer .* line breaks", id="two lines"
        ),
        pytest.param([{"id": "a" * 501, "text": "x"}], [QUESTION], "`id` is longer than 500", id="long id"),
        pytest.param([{"id": "a", "text": "x\0"}], [QUESTION], "line 1: `text` holds a NUL", id="NUL"),
        pytest.param([{"id": "a", "text": "\ud800"}], [QUESTION], "half of a character", id="surrogate"),
        pytest.param(["[" * 100_000], [QUESTION], "line 1: no JSON", id="deep"),
        pytest.param([{"id": "a", "text": 10**400}], [QUESTION], "`text` is no text", id="a large number"),
        pytest.param(['{"id": ' + "9" * 5_000 + "}"], [QUESTION], "line 1: no JSON", id="a huge number"),
        pytest.param(TEXTS, [QUESTION | {"text": ""}], "dev.jsonl, line 1: `text` is no text", id="no words"),
        pytest.param(
            TEXTS, [QUESTION, QUESTION], "line 2: the id 'q' .* twice, first in line 1", id="asked twice"
        ),
        pytest.param(
            TEXTS, [QUESTION | {"rel": {"a": 10**9}}], "whole number from -1,000 to", id="vast grade"
        ),
        pytest.param(
            TEXTS, [QUESTION | {"rel": {"x": 1}}], "no text that has a grade is in corpus", id="strangers"
        ),
        pytest.param(TEXTS, [QUESTION | {"rel": ["a"]}], "line 1: `rel` is no object", id="rel"),
        pytest.param(TEXTS, [QUESTION | {"rel": {"a": 0.5}}], "no whole number", id="grade"),
        pytest.param(TEXTS, [QUESTION | {"rel": {"a": True}}], "no whole number", id="boolean"),
        pytest.param(TEXTS, [QUESTION | {"rel": {}}], "no question that can be measured", id="none left"),
        pytest.param([], [QUESTION], "corpus.jsonl is empty", id="no texts"),
        pytest.param(TEXTS, [""], "queries_dev.jsonl is empty", id="no questions"),
    ],
)
def test_a_bad_line_is_told_with_its_file_and_number(
    tmp_path: Path, texts: list[object], questions: list[object], said: str
) -> None:
    """So that it can be mended."""
    with pytest.raises(Unreadable, match=said):
        read(folder(tmp_path, texts, questions), "dev")


def test_a_folder_without_the_split_says_which_file_is_missing(tmp_path: Path) -> None:
    """As for a folder that is no benchmark at all."""
    with pytest.raises(Unreadable, match=r"queries_test\.jsonl is not there"):
        read(folder(tmp_path, list(TEXTS), [QUESTION]), "test")


def test_what_is_no_text_is_told_too(tmp_path: Path) -> None:
    """A line in another encoding."""
    folder(tmp_path, list(TEXTS), [QUESTION])
    (tmp_path / "corpus.jsonl").write_bytes(b'{"id": "a", "text": "x"}\n{"id": "\xff"}')

    with pytest.raises(Unreadable, match=r"corpus\.jsonl, line 2: no UTF-8: .* byte 9"):
        read(tmp_path, "dev")


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


def test_a_question_keeps_its_facts(tmp_path: Path) -> None:
    """Groups are told apart by them."""
    found = read(folder(tmp_path, list(TEXTS), [QUESTION | {"meta": {"category": 3}}]), "dev")

    assert found.questions[0].of("category") == "3"
