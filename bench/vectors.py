"""The corpus's vectors: one really embedded text a subject, and rows scattered around it.

Embedding 10,000 passages would take minutes. So one text a subject is embedded, once, and kept in
`bench/out/`; every row of the subject is that vector and some noise, which leaves searches as
hard as real ones. Questions are always embedded for real. float32, unit length.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import numpy as np

from app.models.encoder import DIM, load
from bench.corpus import SUBJECTS, subject, text

OUT = Path(__file__).with_name("out")
NOISE = 0.5
"""Length of what is added to a subject's unit vector: a cosine of 1 / sqrt(1 + NOISE²) = 0.89 to it. Two real
texts of this corpus on one subject: 0.91."""

Vectors: TypeAlias = "np.ndarray[tuple[int, int], np.dtype[np.float32]]"


def embedded(encode: Callable[[str], bytes], texts: Sequence[str]) -> Vectors:
    """Texts through the bundled embedder, a row each; all cores."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        joined = b"".join(threads.map(encode, texts))
    return np.frombuffer(joined, dtype="<f4").reshape(len(texts), DIM).astype(np.float32)


def asked(questions: Sequence[str]) -> Vectors:
    """Vectors of questions, as the service makes them."""
    return embedded(load()[0], questions)


def centres() -> Vectors:
    """One really embedded text a subject; made in some 20 s, then read from its file."""
    texts = [text(-number - 1, number) for number in range(SUBJECTS)]
    kept = OUT / f"subjects-{hashlib.sha256(''.join(texts).encode()).hexdigest()[:8]}.npy"
    if not kept.is_file():
        OUT.mkdir(exist_ok=True)
        np.save(kept, embedded(load()[0], texts))
    found: Vectors = np.load(kept)
    return found


def vectors(rows: Sequence[int], around: Vectors) -> Vectors:
    """Unit vectors of rows, each near its subject's."""
    noise = np.stack([np.random.default_rng(row).standard_normal(DIM, dtype=np.float32) for row in rows])
    near = around[[subject(row) for row in rows]] + NOISE * noise / np.linalg.norm(
        noise, axis=1, keepdims=True
    )
    unit: Vectors = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    return unit
