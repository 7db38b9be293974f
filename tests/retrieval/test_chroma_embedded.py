"""The folder of the embedded Chroma: tidied and tried at the start, moved aside where it is broken."""

import os
from pathlib import Path

import numpy as np
import pytest

from app.retrieval.retrievers import chroma_child as room
from app.retrieval.retrievers.chroma_child import (
    CANARY,
    UNFILLED,
    ChromaFault,
    Engine,
    check_sizes,
    open_folder,
    put_aside,
    tidy,
)
from tests.fakes.chromas import DAMAGES

HUNDREDS = 4


def written(folder: Path, name: str, document: str) -> None:
    """Four hundred vectors of a document; the engine is closed again."""
    engine = Engine(folder)
    rows = np.random.default_rng(1).normal(size=(100, 8)).astype(np.float32)
    for hundred in range(HUNDREDS):
        ids = [f"{document}:{100 * hundred + n}" for n in range(100)]
        engine.upsert(name, rows, ids, [{"document": document}] * len(ids))
    engine.close()


def erased(folder: Path, name: str, documents: int) -> None:
    """The first hundreds of document `d` deleted again."""
    engine = Engine(folder)
    for hundred in range(documents):
        engine.delete(name, [f"d:{100 * hundred + n}" for n in range(100)])
    engine.close()


def counted(folder: Path, name: str) -> int:
    """Vectors that are found by an engine opened now, as the service opens it."""
    engine, _ = open_folder(folder)
    count = engine.count(name)
    engine.close()
    return count


def slots(folder: Path) -> int:
    """Places in the index's files."""
    return sum(path.stat().st_size for path in folder.glob("*/length.bin")) // 4


def test_a_folder_of_the_dead_is_made_anew(tmp_path: Path) -> None:
    """Vectors of deleted documents lie in the vendor's files until then, and no longer."""
    written(tmp_path, "ibid-a", "d")
    erased(tmp_path, "ibid-a", HUNDREDS)
    assert slots(tmp_path) >= 100 * HUNDREDS
    said = tidy(tmp_path)
    assert not tmp_path.exists()
    assert "made anew" in said
    assert counted(tmp_path, "ibid-a") == 0


@pytest.mark.parametrize("hundreds", [pytest.param(0, id="none"), pytest.param(1, id="a quarter")])
def test_a_folder_of_the_living_stays(tmp_path: Path, hundreds: int) -> None:
    """Few dead are no reason to write all others again."""
    written(tmp_path, "ibid-a", "d")
    erased(tmp_path, "ibid-a", hundreds)
    assert counted(tmp_path, "ibid-a") == 100 * (HUNDREDS - hundreds)


def test_a_large_folder_stays_whatever_is_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large parts are searched in Chroma alone: until it were full again they would find less."""
    monkeypatch.setattr(room, "REMADE_MOST", 10)
    written(tmp_path, "ibid-a", "d")
    written(tmp_path, "ibid-a", "e")
    erased(tmp_path, "ibid-a", HUNDREDS)
    written(tmp_path, "ibid-b", "d")
    erased(tmp_path, "ibid-b", HUNDREDS)
    assert counted(tmp_path, "ibid-a") == 100 * HUNDREDS


def test_files_of_a_dropped_collection_are_removed(tmp_path: Path) -> None:
    """The vendor leaves them; those of other collections stay."""
    written(tmp_path, "ibid-a", "d")
    written(tmp_path, "ibid-b", "d")
    engine = Engine(tmp_path)
    engine.forget("ibid-a")
    engine.close()
    assert len(list(tmp_path.glob("*/length.bin"))) == 2
    tidy(tmp_path)
    assert len(list(tmp_path.glob("*/length.bin"))) == 1
    assert counted(tmp_path, "ibid-b") == 100 * HUNDREDS


@pytest.mark.parametrize(
    "content", [pytest.param(b"", id="empty"), pytest.param(b"not a database" * 99, id="damaged")]
)
def test_a_folder_that_is_not_as_we_know_it_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """Nothing is removed on a guess."""
    (tmp_path / "segment").mkdir()
    (tmp_path / "segment" / "length.bin").write_bytes(bytes(4_000))
    (tmp_path / "chroma.sqlite3").write_bytes(content)
    tidy(tmp_path)
    assert (tmp_path / "segment" / "length.bin").exists()


def test_no_folder_is_no_error(tmp_path: Path) -> None:
    """The first start; and nothing is made by looking."""
    tidy(tmp_path / "chroma")
    assert not (tmp_path / "chroma").exists()


@pytest.mark.parametrize(
    ("filled", "anew"), [pytest.param(False, True, id="interrupted"), pytest.param(True, False, id="filled")]
)
def test_an_empty_folder_says_so_until_it_is_filled(tmp_path: Path, *, filled: bool, anew: bool) -> None:
    """At every start: one that ended in the middle of the filling is no reason to leave the rest out."""
    engine, told = open_folder(tmp_path)
    engine.close()
    assert told
    if filled:
        (tmp_path / UNFILLED).unlink()
    engine, told = open_folder(tmp_path)
    engine.close()
    assert told == anew


def test_who_only_looks_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No vector is tried, nothing tidied, no folder begun."""
    written(tmp_path, "ibid-a", "d")
    erased(tmp_path, "ibid-a", HUNDREDS - 1)
    monkeypatch.setattr(room, "probe_writes", None)  # calling it would fail
    engine, anew = open_folder(tmp_path, read_only=True)
    engine.close()
    assert (anew, slots(tmp_path) >= 100 * HUNDREDS) == (False, True)
    with pytest.raises(ChromaFault, match="missing"):
        open_folder(tmp_path / "none", read_only=True)
    assert list((tmp_path / "none").iterdir()) == []


def test_trying_a_collection_leaves_nothing_behind(tmp_path: Path) -> None:
    """Neither what a killed start left; all vectors are as they were."""
    written(tmp_path, "ibid-a", "d")
    engine = Engine(tmp_path)
    engine.upsert("ibid-a", np.ones((1, 8), np.float32), [CANARY], [{"document": CANARY}])
    engine.close()
    engine, _ = open_folder(tmp_path)
    ids = engine.get("ibid-a")["ids"]
    engine.close()
    assert sorted(ids) == sorted(f"d:{n}" for n in range(100 * HUNDREDS))


def test_what_fails_only_when_it_is_used_is_found_at_the_start(tmp_path: Path) -> None:
    """The vendor opens it without a word."""
    written(tmp_path, "ibid-a", "d")
    DAMAGES["the metadata are gone"](tmp_path)
    with pytest.raises(ChromaFault):
        open_folder(tmp_path)


@pytest.mark.parametrize("name", ["data_level0.bin", "link_lists.bin"])
@pytest.mark.parametrize("bytes_less", [1, 400])
def test_an_index_that_was_cut_is_found_by_its_header(tmp_path: Path, name: str, bytes_less: int) -> None:
    """However little is missing: it would open, answer, and find less. As it was written it passes."""
    written(tmp_path, "ibid-a", "d")
    [path] = tmp_path.glob(f"*/{name}")
    check_sizes(path.with_name("header.bin"))
    os.truncate(path, path.stat().st_size - bytes_less)
    with pytest.raises(ChromaFault, match=f"{name} is cut"):
        check_sizes(path.with_name("header.bin"))


def test_a_header_of_another_make_is_not_judged(tmp_path: Path) -> None:
    """A later version of the vendor may write another; trying it tells."""
    written(tmp_path, "ibid-a", "d")
    [header] = tmp_path.glob("*/header.bin")
    header.write_bytes(b"\x02" + header.read_bytes()[1:])
    header.with_name("link_lists.bin").write_bytes(b"")
    check_sizes(header)


@pytest.mark.parametrize("content", [pytest.param(None, id="a folder"), pytest.param("x", id="a file")])
def test_what_is_put_aside_keeps_its_content_and_the_newest_alone_is_kept(
    tmp_path: Path, content: str | None
) -> None:
    """Beside its place, under a name that says what it is; broken ones do not pile up."""
    place = tmp_path / "chroma"
    (tmp_path / "chroma.broken-20200101T000000").mkdir()
    if content is None:
        place.mkdir()
        (place / "file").write_text("y")
    else:
        place.write_text(content)
    put_aside(place)
    [aside] = tmp_path.glob("chroma.broken-*")
    assert not place.exists()
    assert (aside / "file" if content is None else aside).read_text() == (content or "y")


def test_nothing_to_put_aside_is_no_error(tmp_path: Path) -> None:
    """As when it was taken away by hand."""
    put_aside(tmp_path / "chroma")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_a_folder_is_the_machines_fault() -> None:
    """`OSError`, not `ChromaFault`: moving it would mend nothing."""
    with pytest.raises(OSError, match="proc"):
        open_folder(Path("/proc/none/chroma"))


def test_a_file_in_its_place_is_the_folders_fault(tmp_path: Path) -> None:
    """It can be moved."""
    (tmp_path / "chroma").write_text("not a folder")
    with pytest.raises(ChromaFault, match="no folder"):
        open_folder(tmp_path / "chroma")
