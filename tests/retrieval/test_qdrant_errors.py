"""Whose fault a fault of the engine is."""

import pytest

from app.errors import RetrievalError
from app.retrieval.retrievers.qdrant_engine import EngineError, vendor_errors


@pytest.mark.parametrize(
    ("said", "files"),
    [
        ("Service runtime error: IO Error: No space left on device (os error 28)", False),
        ("Service runtime error: Too many open files (os error 24)", False),
        ("Service runtime error: vector offset out of bounds", True),
    ],
    ids=["disk", "handles", "damage"],
)
def test_a_full_disk_is_no_damage(said: str, files: bool) -> None:
    """Nothing is put aside for it."""
    with pytest.raises(EngineError) as caught, vendor_errors:
        raise Exception(said)
    assert caught.value.files is files


@pytest.mark.parametrize(
    "said", ["Vector dimension error: expected dim: 8, got 9", "Not existing vector name error: x"]
)
def test_what_the_engine_refuses_is_no_failure(said: str) -> None:
    """The request is at fault."""
    with pytest.raises(RetrievalError) as caught, vendor_errors:
        raise Exception(said)
    assert caught.value.rejected


def test_our_own_errors_pass() -> None:
    """Only the vendor's are turned."""
    with pytest.raises(KeyError), vendor_errors:
        raise KeyError
