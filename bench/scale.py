"""One size of the corpus: how long a search takes, what loading costs, and how much of the truth is found.

usage: IBID_DATA_DIR=… python -m bench.scale ROWS, on a filed folder whose rows are all in reach. Prints JSON:
`search` milliseconds of a whole search without the query's embedding, `load_s` seconds of the first one,
`megabytes` it added to the process, `recall` of dense search against an exact search of all vectors.
"""

import asyncio
import json
import os
import sys
from time import perf_counter

import numpy as np

from app.settings import load
from app.types import Legs, Source
from app.wiring import open_resources
from bench import meter
from bench.corpus import question
from bench.figures import spread
from bench.layout import row_of
from bench.parts import search
from bench.vectors import Vectors, asked, centres, vectors

QUESTIONS = 200
LIMIT = 40
BLOCK = 10_000
"""Rows whose vectors are made at once: 15 MB."""


async def timed(source: Source, questions: list[str], near: Vectors) -> tuple[list[float], list[Legs]]:
    """Milliseconds and hits of each."""
    took, found = [], []
    for text, vector in zip(questions, near, strict=True):
        began = perf_counter()
        found.append(await search(source, text, vector.astype("<f4").tobytes()))
        took.append((perf_counter() - began) * 1000)
    return took, found


def truth(rows: int, near: Vectors) -> list[set[int]]:
    """The LIMIT nearest rows of each question."""
    around = centres()
    blocks = [range(first, min(rows, first + BLOCK)) for first in range(0, rows, BLOCK)]
    cosines = np.concatenate([near @ vectors(block, around).T for block in blocks], axis=1)
    return [set(row.tolist()) for row in np.argpartition(-cosines, LIMIT, axis=1)[:, :LIMIT]]


def rows_of(legs: Legs) -> set[int]:
    """The rows that dense search found."""
    found = [(legs.passages[hit.key], hit.key) for hit in legs.meaning]
    return {row_of(passage.label, int(key.rpartition(":")[2])) for passage, key in found}


async def main(rows: int) -> None:
    """Everything of one size."""
    settings, _ = load(None)
    questions = [question(n) for n in range(QUESTIONS)]
    near = await asyncio.to_thread(asked, questions)
    async with open_resources(settings) as held:
        before, began = meter.memory(os.getpid())["service"], perf_counter()
        await timed(held.documents, questions[:1], near[:1])
        loaded, after = perf_counter() - began, meter.memory(os.getpid())["service"]
        await timed(held.documents, questions[:20], near[:20])
        took, found = await timed(held.documents, questions, near)
    exact = await asyncio.to_thread(truth, rows, near)
    shares = [len(rows_of(legs) & best) / LIMIT for legs, best in zip(found, exact, strict=True)]
    told = {
        "rows": rows,
        "stored": found[0].stored,
        "search": spread(took, 2),
        "load_s": round(loaded, 2),
        "megabytes": round(after - before, 1),
        "recall": round(sum(shares) / len(shares), 4),
        "recall_worst": min(shares),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
