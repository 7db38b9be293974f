"""The folder of the embedded Chroma: what the vendor leaves lying about is given back at the start."""

from pathlib import Path

import numpy as np
import pytest

from app.clients import collection as room
from app.clients.collection import Client, embedded, tidy

HUNDREDS = 4


def written(folder: Path, name: str, document: str) -> None:
    """Four hundred vectors of a document, by a client that is closed again."""
    client = Client(lambda: embedded(folder))
    rows = np.random.default_rng(1).normal(size=(100, 8)).astype(np.float32)
    for hundred in range(HUNDREDS):
        ids = [f"{document}:{100 * hundred + n}" for n in range(100)]
        metadatas = [{"document": document}] * 100
        client.collection(name).upsert(ids=ids, embeddings=rows, metadatas=metadatas)
    client.close()


def erased(folder: Path, name: str, documents: int) -> None:
    """The first hundreds of document `d` deleted again."""
    client = Client(lambda: embedded(folder))
    for hundred in range(documents):
        client.collection(name).delete(ids=[f"d:{100 * hundred + n}" for n in range(100)])
    client.close()


def counted(folder: Path, name: str) -> int:
    """Vectors that a client opened now finds."""
    client = Client(lambda: embedded(folder))
    count = client.collection(name).count()
    client.close()
    return count


def slots(folder: Path) -> int:
    """Places in the index's files."""
    return sum(path.stat().st_size for path in folder.glob("*/length.bin")) // 4


def test_a_folder_of_the_dead_is_made_anew(tmp_path: Path) -> None:
    """Vectors of deleted documents lie in the vendor's files until then, and no longer."""
    written(tmp_path, "ibid-a", "d")
    erased(tmp_path, "ibid-a", HUNDREDS)
    assert slots(tmp_path) >= 100 * HUNDREDS
    tidy(tmp_path)
    assert not tmp_path.exists()
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
    client = Client(lambda: embedded(tmp_path))
    client.forget("ibid-a")
    client.close()
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
