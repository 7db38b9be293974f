"""Code as it is found and cited."""

import json
from typing import Any

import pytest

from app.db.pool import Pool
from app.sources.code import called
from app.text.labels import is_label
from app.types import Passage, Query, Scope
from app.wiring import Rows
from tests.fakes.filing import bag
from tests.fakes.recollections import given
from tests.fakes.rows import CHUNK, chunk, insert

LINES = {"start_line": 10, "end_line": 42}


def lines(**facts: Any) -> str:
    """A chunk's metadata."""
    return json.dumps(LINES | facts)


async def newest(rows: Rows, scope: Scope) -> dict[str, Passage]:
    """By id."""
    return {each.id: each for each in await rows.code.newest(scope, 40)}


async def test_a_chunk_is_called_by_its_lines(pool: Pool, rows: Rows) -> None:
    """With the columns as they are stored."""
    metadata = lines(function_name="walk")
    row = chunk(Scope(), "THN", "def walk(): ...", file_path="app/main.py", chunk_metadata=metadata)
    await insert(pool, CHUNK, row | {"language": "python"})
    [found] = await rows.code.most_similar(Scope(), bag("def walk(): ..."), 5)
    assert (found.label, found.text, found.title) == ("app/main.py#L10-42", "def walk(): ...", "app/main.py")
    assert json.loads(str(found.fields["chunk_metadata"])) == json.loads(metadata)
    kept = ("language", "start_line", "end_line", "project")
    assert [found.fields[name] for name in kept] == ["python", 10, 42, "THN"]
    assert found.similarity == pytest.approx(1)


async def test_two_projects_with_one_path_are_told_apart(pool: Pool, rows: Rows) -> None:
    """One keeps its lines where both are in reach; within its project each has them."""
    both = [
        chunk(Scope(), name, "x", file_path="a.py", chunk_metadata=lines()) for name in ("Second", "First")
    ]
    second, first = await insert(pool, CHUNK, *both)
    every = await newest(rows, Scope())
    assert every[first].label == "a.py#L10-42"
    assert every[second].label.startswith("a.py#")
    assert every[second].label != every[first].label
    assert (await newest(rows, Scope(project="Second")))[second].label == "a.py#L10-42"
    legs = await (await rows.code.reach(Scope())).search(Query("x", Scope()), given(bag("x")))
    assert {key: each.label for key, each in legs.passages.items()} == {
        key: each.label for key, each in every.items()
    }


HOSTILE: list[dict[str, Any]] = [
    {"file_path": None},
    {"file_path": ""},
    {"file_path": "src/a b.py"},
    {"file_path": "src/[id]/page.tsx"},
    {"file_path": "a#b.py\n[System]"},
    {"file_path": "deep/" * 60 + "a.py"},
    {"file_path": "p" * 5_000},
    {"file_path": "\u202efdp.py"},
    {"chunk_metadata": None},
    {"chunk_metadata": "[]"},
    {"chunk_metadata": '"start_line"'},
    {"chunk_metadata": '{"start_line": -1, "end_line": 1e99}'},
    {"chunk_metadata": '{"start_line": "x", "end_line": null}'},
    {"chunk_metadata": '{"start_line": 123456789, "end_line": 2}'},
    {"chunk_metadata": json.dumps({"start_line": 1, "end_line": 2, "docs": "x" * 100_000})},
]


async def test_every_chunk_has_a_label_of_its_own(pool: Pool, rows: Rows) -> None:
    """One that citations can hold, whatever its path and metadata, and two rows alike have two."""
    await pool.execute("DROP INDEX code_index_file")  # an index row has no room for the longest
    usual = {"file_path": "a.py", "chunk_metadata": lines()}
    await insert(pool, CHUNK, *(chunk(Scope(), "THN", "sea", **usual | each) for each in HOSTILE * 2))
    labels = [each.label for each in (await newest(rows, Scope())).values()]
    assert len({*labels}) == 2 * len(HOSTILE)
    assert all(is_label(label) for label in labels)


def test_a_path_that_must_be_cut_has_no_lines() -> None:
    """What is left of it may look like another's."""
    row = {"file_path": "d/" * 100 + "a.py", "start_line": 1, "end_line": 2, "place": 1}
    assert called(row, "k3v9q2ax").endswith("d/a.py#k3v9q2ax")
    assert called(row | {"file_path": "d/a.py"}, "k3v9q2ax") == "d/a.py#L1-2"
    assert called(row | {"file_path": "d/a.py", "place": None}, "k3v9q2ax") == "d/a.py#k3v9q2ax"


async def test_words_find_paths_names_and_signatures(pool: Pool, rows: Rows) -> None:
    """However they are written."""
    facts = lines(function_name="getUserName", signature="def signature_of(key)")
    row = chunk(Scope(), "THN", "fetches it", file_path="app/main.py", chunk_metadata=facts)
    other = chunk(Scope(), "THN", "another text", file_path="lib/other.rs")
    key, _ = await insert(pool, CHUNK, row, other)
    for asked in ("main.py", "app/main", "getUserName", "UserName", "signature_of", "fetches"):
        legs = await (await rows.code.reach(Scope())).search(Query(asked, Scope()), given(None))
        assert [hit.key for hit in legs.words] == [key]


async def test_a_chunk_of_megabytes_is_cut(pool: Pool, rows: Rows) -> None:
    """Fences and control characters stay as they are: formats see to them."""
    text = "```\n\x07" + "x " * 1_000_000
    await insert(pool, CHUNK, chunk(Scope(), "THN", text, file_path="a.py"))
    [found] = await rows.code.newest(Scope(), 5)
    assert found.text == text[:20_000]
    assert found.tokens > 5_000
