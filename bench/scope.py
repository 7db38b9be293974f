"""One large scope: a user's memories, up to a million: `python -m bench.scope [ROWS ...] [--dim N]`.

Vectors are given. For each number of rows: seconds until the engine holds them and until the first search is
answered whole (`load_s`), searches that find the index loaded (milliseconds), how many of the 40 nearest they
find (`recall`), and the memory of this process. Beyond EXACT_MAX_MB Qdrant is asked for the nearest.
"""

import argparse
import asyncio
import json
import os
import random
import time
import uuid
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.db.memories import BUMP, NAMES, Memory, row_of
from app.db.pool import Pool
from app.db.postgres import open_postgres
from app.retrieval.index import Matrix
from app.settings import Ibid, Settings
from app.text.terms import encode_terms
from app.types import Embedding, Legs, Query, Scope, Space
from app.wiring import QdrantParts, index_cache, open_qdrant
from bench import corpus, meter
from bench.figures import keep, machine, spread

ROWS, DIM, ASKED, LIMIT, BATCH = (50_000,), 384, 100, 40, 5_000
TEXTS, LETTERS = 20_000, 400
CENTRES, NOISE = 2_000, 0.5
"""Rows are scattered around so many directions, as texts about so many things."""
DRAINED_SECONDS = 7_200.0


class World:
    """Texts and vectors, the same on every run."""

    def __init__(self, dim: int) -> None:
        self.space = Space(f"made@{dim}", "made", dim, 0.0)
        chance = np.random.default_rng(7)
        self._centres = unit(chance.normal(size=(CENTRES, dim)))
        self._texts = [corpus.text(n)[:LETTERS] for n in range(TEXTS)]
        self._packed = [encode_terms(each) for each in self._texts]

    def vectors(self, rows: range) -> Matrix:
        """Float32 rows of unit length."""
        chance = np.random.default_rng(rows.start)
        noise = chance.normal(size=(len(rows), self.space.dim)) * NOISE / np.sqrt(self.space.dim)
        return unit(self._centres[[row * 2_654_435_761 % CENTRES for row in rows]] + noise)

    def question(self, n: int) -> Embedding:
        """Near one of the directions."""
        chance = np.random.default_rng(1_000_000_007 + n)
        noise = chance.normal(size=self.space.dim) * NOISE / np.sqrt(self.space.dim)
        return bytes(unit((self._centres[n % CENTRES] + noise)[np.newaxis]).tobytes())

    def records(self, rows: range) -> list[tuple[object, ...]]:
        """Rows of ibid.memory."""
        found = []
        for row, vector in zip(rows, self.vectors(rows), strict=True):
            name, when = (
                str(uuid.UUID(int=row * 2_654_435_761)),
                datetime.fromtimestamp(1_700_000_000 + row, UTC),
            )
            text = self._texts[row % TEXTS]
            memory = Memory(name, "user", text, len(text) // 4, when)
            found.append(
                ("default", self.space.name, *row_of(memory), vector.tobytes(), self._packed[row % TEXTS])
            )
        return found


def unit(rows: NDArray[np.floating]) -> Matrix:
    """As float32 rows of unit length."""
    made: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("<f4")
    return made


async def fill(pool: Pool, world: World, rows: range) -> None:
    """Write them to the record."""
    columns = ("tenant", "space", *NAMES, "embedding", "terms")
    for at in range(rows.start, rows.stop, BATCH):
        records = world.records(range(at, min(at + BATCH, rows.stop)))
        await pool.copy_records_to_table("memory", schema_name="ibid", columns=columns, records=records)
    await pool.execute(BUMP, "default", "user")


async def searches(kept: QdrantParts, world: World, rows: int) -> dict[str, Any]:
    """The first search that is whole, and later ones."""
    scope, began = Scope(user_id="user"), time.perf_counter()

    async def search(n: int) -> Legs:
        given: asyncio.Future[Embedding | None] = asyncio.get_running_loop().create_future()
        given.set_result(world.question(n))
        reached = await kept.memories.reach(scope)
        text = corpus.question(random.Random(n).randrange(TEXTS))
        return await reached.search(Query(text, scope, LIMIT), given)

    first = time.perf_counter()
    partial = (await search(-1)).partial
    answered = time.perf_counter() - first
    while (await search(-1)).partial:
        pass
    loaded = time.perf_counter() - began
    walls, found = [], []
    for n in range(ASKED):
        start = time.perf_counter()
        legs = await search(n)
        walls.append((time.perf_counter() - start) * 1000)
        found.append([hit.score for hit in legs.meaning])
    recall = await asyncio.to_thread(recalled, world, rows, found)
    return {
        "first_s": round(answered, 2),
        "first_partial": partial,
        "load_s": round(loaded, 2),
        **spread(walls, 2),
        "recall": round(recall, 4),
    }


def recalled(world: World, rows: int, found: list[list[float]]) -> float:
    """The share of the nearest that were found: those with scores like theirs."""
    questions = np.stack([np.frombuffer(world.question(n), dtype="<f4") for n in range(len(found))])
    best = np.full((len(found), 0), 0.0)
    for at in range(0, rows, BATCH):
        near = questions @ world.vectors(range(at, min(at + BATCH, rows))).T
        best = -np.sort(-np.concatenate([best, near], axis=1), axis=1)[:, :LIMIT]
    shares = [
        sum(score >= last - 1e-5 for score in some) / LIMIT
        for some, last in zip(found, best[:, -1], strict=True)
    ]
    return float(np.mean(shares))


async def measure(sizes: list[int], dim: int) -> dict[str, Any]:
    """All sizes, growing in one folder; for each the stores are opened again, as after a start."""
    world, found, filled = World(dim), [], 0
    with TemporaryDirectory(prefix="ibid-bench-") as name:
        settings = Settings(ibid=Ibid(data_dir=Path(name) / "data"))
        async with open_postgres(settings) as pool:
            for rows in sizes:
                async with (
                    aclosing(index_cache(settings, dim)) as indexes,
                    open_qdrant(settings, pool, world.space, indexes) as kept,
                ):
                    began = time.perf_counter()
                    await fill(pool, world, range(filled, rows))
                    written = time.perf_counter()
                    await kept.outbox.drain()
                    drained = time.perf_counter()
                    filled = rows
                async with (
                    aclosing(index_cache(settings, dim)) as indexes,
                    open_qdrant(settings, pool, world.space, indexes) as kept,
                ):
                    figures = await searches(kept, world, rows)
                    memory = {part: round(value) for part, value in meter.memory(os.getpid()).items()}
                found.append(
                    {
                        "rows": rows,
                        "written_s": round(written - began, 1),
                        "engine_s": round(drained - written, 1),
                    }
                    | figures
                    | {"megabytes": memory}
                )
                print(f"  {json.dumps(found[-1])}", flush=True)
    return {"machine": machine(), "dim": dim, "sizes": found}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.scope", description="One large scope.")
    parser.add_argument("rows", nargs="*", type=int, default=list(ROWS))
    parser.add_argument("--dim", type=int, default=DIM)
    asked = parser.parse_args()
    keep(f"scope-{asked.dim}", asyncio.run(measure(asked.rows, asked.dim)))
