"""Files that a command writes: whole, or as they were."""

import json
import os
import threading
from pathlib import Path

import pytest

from app.cli.written import distinct, lines, wanted, writable
from app.errors import BadInput


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


def test_a_file_that_nobody_named_is_none(tmp_path: Path) -> None:
    """What is named is written as any other."""
    with wanted(None) as nothing, wanted(tmp_path / "x") as file:
        lines(nothing, [{"a": 1}])
        lines(file, [{"b": 2}])

    assert (tmp_path / "x").read_text() == '{"b": 2}\n'


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
    """Before minutes of work: a folder, a folder that is a file, a name too long, links in a circle."""
    (tmp_path / "file").write_text("")
    (tmp_path / "round").symlink_to(tmp_path / "round")

    with pytest.raises(BadInput, match="cannot be written: it is a folder"), writable(tmp_path):
        pass
    for place in (tmp_path / "file" / "x", tmp_path / ("x" * 256), tmp_path / "round"):
        with pytest.raises(BadInput, match=f"{place} cannot be written"), writable(place):
            pass


def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path) -> None:
    """Even if it names nothing yet."""
    link, there = tmp_path / "link", tmp_path / "folder" / "x"
    link.symlink_to(there)

    with writable(link) as file:
        file.write("new")

    assert link.is_symlink()
    assert there.read_text() == "new"
    assert [each.name for each in there.parent.iterdir()] == ["x"]


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    """Who reads at its other end gets the lines."""
    pipe, read = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()

    with writable(pipe) as file:
        file.write("new")
    reader.join(10)

    assert read == ["new"]
    assert pipe.is_fifo()


def test_two_runs_may_write_the_same_file(tmp_path: Path) -> None:
    """The last one to end is kept, whole."""
    path = tmp_path / "x"

    with writable(path) as first, writable(path) as second:
        first.write("first")
        second.write("second")

    assert path.read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_two_options_may_not_name_one_file(tmp_path: Path) -> None:
    """By whatever name; what is thrown away may be shared."""
    (tmp_path / "link").symlink_to(tmp_path / "x")

    with pytest.raises(BadInput, match="--queries and --times name the same file"):
        distinct({"--queries": tmp_path / "x", "--picture": None, "--times": tmp_path / "link"})
    distinct({"--queries": tmp_path / "x", "--picture": None, "--times": tmp_path / "y"})
    distinct({"--queries": Path("/dev/null"), "--picture": None, "--times": Path("/dev/null")})
