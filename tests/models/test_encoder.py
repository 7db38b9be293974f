"""The bundled model itself."""

from pathlib import Path

import numpy as np
import pytest

from app.errors import StartError
from app.models import encoder as module
from app.models.encoder import DIM, SIZE, load


@pytest.mark.parametrize(
    "text", ["bridge", "", "\ud800", "a b " * 5_000], ids=["word", "empty", "half", "long"]
)
def test_a_vector_has_unit_length(text: str) -> None:
    """Little-endian float32, as many as the space has dimensions."""
    encode, _ = load()
    vector = encode(text)
    assert len(vector) == SIZE == 4 * DIM
    assert np.linalg.norm(np.frombuffer(vector, "<f4")) == pytest.approx(1, abs=1e-6)


def test_what_is_behind_the_last_piece_read_is_not_read() -> None:
    """512 word pieces, and 16,000 characters."""
    encode, _ = load()
    assert encode("road " * 600) == encode("road " * 4_000)


def test_an_altered_model_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with another hash than the measured ones."""
    (tmp_path / "model.onnx").write_bytes(b"another model")
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    monkeypatch.setattr(module, "shipped", lambda _package, name: tmp_path / Path(name).name)
    with pytest.raises(StartError, match=r"model\.onnx"):
        load()
