"""Folders of collections: safe for any name, whole or not there after a crash."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.retrievers import qdrant_engine
from app.retrieval.retrievers.qdrant_engine import Shape

ROOT = Path("/root-of-all")
names = st.text(st.characters(codec=None), max_size=300)  # any, lone surrogates too


@given(names)
def test_a_folder_lies_in_the_root_whatever_the_name(name: str) -> None:
    """One plain entry of it, short enough and the same on a disk that knows no capitals."""
    place = qdrant_engine.folder_of(ROOT, name)
    assert place.parent == ROOT
    assert place.name == place.name.lower()
    assert place.name.isascii()
    assert len(place.name) < 80
    assert not set(place.name) & set('/\\:*?"<>|. ')


@given(names, names)
def test_two_names_have_two_folders(one: str, other: str) -> None:
    """`Notes` and `notes` too."""
    same = qdrant_engine.folder_of(ROOT, one) == qdrant_engine.folder_of(ROOT, other)
    assert same == (one == other)
    assert qdrant_engine.folder_of(ROOT, "Notes") != qdrant_engine.folder_of(ROOT, "notes")


@pytest.mark.parametrize("name", ["memory_raw", "..", "a/../b", "\ud800", "", "n" * 5_000], ids=ascii)
def test_the_true_name_is_kept(tmp_path: Path, name: str) -> None:
    """Beside the files."""
    shape = Shape(name, 8, ("kind",), ("tenant",), ("at",), turn=3)
    place = qdrant_engine.folder_of(tmp_path, name)
    qdrant_engine.write_shape(place, shape)
    assert qdrant_engine.read_shape(place) == shape
    assert list(qdrant_engine.shapes_in(tmp_path)) == [(place, shape)]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"name": 1}', '{"name": "x", "dim": "y"}', "\xff"])
def test_a_page_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    """Cut off, or another program's."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / qdrant_engine.PAGE).write_bytes(content.encode("latin-1"))
    assert qdrant_engine.read_shape(tmp_path / "x") is None
    assert list(qdrant_engine.shapes_in(tmp_path)) == []


def test_what_a_crash_left_is_swept(tmp_path: Path) -> None:
    """Half deleted, half built; what counts stays, and so does what was put aside."""
    place = qdrant_engine.folder_of(tmp_path, "n")
    qdrant_engine.write_shape(place, Shape("n", 8, turn=2))
    for number in "123":
        (place / number / "wal").mkdir(parents=True)
    (tmp_path / f"old{qdrant_engine.GONE}" / "1").mkdir(parents=True)
    (tmp_path / f"bad{qdrant_engine.ASIDE}").mkdir()

    qdrant_engine.sweep(tmp_path)

    assert sorted(each.name for each in place.iterdir()) == ["2", qdrant_engine.PAGE]
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(
        [f"bad{qdrant_engine.ASIDE}", place.name]
    )


def test_only_the_newest_is_kept_aside(tmp_path: Path) -> None:
    """And nothing once the collection is deleted: it holds texts."""
    place = qdrant_engine.folder_of(tmp_path, "n")
    for turn in (1, 2):
        qdrant_engine.write_shape(place, Shape("n", 8, turn=turn))
        qdrant_engine.set_aside(place)
    [aside] = tmp_path.iterdir()
    assert qdrant_engine.read_shape(aside) == Shape("n", 8, turn=2)
    qdrant_engine.delete_folder(place)
    assert list(tmp_path.iterdir()) == []


def test_fields_are_added_once() -> None:
    """In the order they came."""
    shape = Shape("n", 8, ("a",), ("t",)).also(("b", "a"), ("t",), ("at",))
    assert (shape.keys, shape.tenants, shape.times) == (("a", "b"), ("t",), ("at",))
