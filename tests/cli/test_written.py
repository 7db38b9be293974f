"""Files that a command writes: whole, or as they were."""

import json
from pathlib import Path

import pytest

from app.cli.written import lines, writable
from app.domain.errors import BadInput


def test_a_file_is_there_once_all_is_written(tmp_path: Path) -> None:
    """In a folder that is made; until then what stood there stays."""
    path = tmp_path / "out" / "x.jsonl"
    path.parent.mkdir()
    path.write_text("before")

    with writable(path) as file:
        lines(file, [{"a": "é"}, {"b": 1}])
        lines(None, [{"c": 1}])
        assert path.read_text() == "before"

    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == [{"a": "é"}, {"b": 1}]
    assert [each.name for each in path.parent.iterdir()] == ["x.jsonl"]


def test_what_fails_on_the_way_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """And nothing beside it."""
    path = tmp_path / "x"
    path.write_text("before")

    def fail() -> None:
        with writable(path) as file:
            lines(file, [{"half": 1}])
            lines(file, [{"no JSON": b""}])

    with pytest.raises(TypeError):
        fail()

    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_a_place_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    """Before minutes of work: a folder, and a folder that is a file."""
    (tmp_path / "file").write_text("")

    with pytest.raises(BadInput, match="cannot be written: it is a folder"), writable(tmp_path):
        pass
    with pytest.raises(BadInput, match="cannot be written"), writable(tmp_path / "file" / "x"):
        pass
