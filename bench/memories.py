"""The memory search beside 10,000 and 100,000 memories over 1,000 users: `python -m bench.memories`.

In this process; vectors are given (random unit ones), so nothing is embedded. `first`: searches of which many
load the index of their user; `later`: all indexes are in memory. Milliseconds; CPU of the process.
"""

import asyncio
import json
import random
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from app.db.memories import BUMP, NAMES, Memory, row_of
from app.db.pool import Pool
from app.db.postgres import open_postgres
from app.retrieval.memories import MemorySource
from app.settings import Ibid, Settings
from app.text.terms import encode_terms
from app.types import Embedding, Query, Scope, Space
from app.wiring import index_cache, open_qdrant
from bench import corpus
from bench.figures import keep, machine, spread

SIZES = (10_000, 100_000)
USERS, DIM, LIMIT, ASKED, BATCH = 1_000, 384, 8, 400, 2_000
LETTERS = 240
"""Of a memory: some fifty words."""
SPACE = Space("random@384", "random", DIM, 0.0)
WANTED = 25.0
"""Milliseconds, p95 of the source's search beside 100,000."""


def embedding(chance: np.random.Generator) -> Embedding:
    """A random unit vector."""
    row = chance.normal(size=DIM).astype("<f4")
    return bytes((row / np.linalg.norm(row)).astype("<f4").tobytes())


def memory(row: int) -> Memory:
    """A user's; the texts are nobody's."""
    text = corpus.text(row)[:LETTERS]
    when = datetime.fromtimestamp(1_700_000_000 + row, UTC)
    return Memory(str(uuid.UUID(int=row * 2_654_435_761)), user(row), text, len(text) // 4, when)


def user(row: int) -> str:
    """The user of a row."""
    return f"user-{row % USERS}"


async def fill(pool: Pool, rows: range, chance: np.random.Generator) -> None:
    """Write them to the record."""
    columns = ("tenant", "space", *NAMES, "embedding", "terms")
    for at in range(rows.start, rows.stop, BATCH):
        some = [memory(row) for row in range(at, min(at + BATCH, rows.stop))]
        records = [
            ("default", SPACE.name, *row_of(each), embedding(chance), encode_terms(each.text))
            for each in some
        ]
        await pool.copy_records_to_table("memory", schema_name="ibid", columns=columns, records=records)
    await pool.executemany(BUMP, [("default", f"user-{n}") for n in range(USERS)])


async def timed(work: Callable[[int], Awaitable[object]]) -> dict[str, float]:
    """One after the other, after some that do not count."""
    for n in range(20):
        await work(-n)
    walls, began = [], time.process_time()
    for n in range(ASKED):
        start = time.perf_counter()
        await work(n)
        walls.append((time.perf_counter() - start) * 1000)
    cpu = (time.process_time() - began) * 1000 / ASKED
    return {**spread(walls, 2), "cpu": round(cpu, 2)}


async def size(source: MemorySource, rows: int, chance: np.random.Generator) -> dict[str, Any]:
    """Searches of users' memories beside so many: first ones, which load their index, and later ones."""
    users = [user(random.Random(n).randrange(USERS)) for n in range(ASKED)]

    async def search(n: int) -> object:
        scope = Scope(user_id=users[n])
        reached = await source.reach(scope)
        given: asyncio.Future[Embedding | None] = asyncio.get_running_loop().create_future()
        given.set_result(embedding(chance))
        return await reached.search(Query(corpus.question(n), scope, LIMIT), given)

    return {"rows": rows, "first": await timed(search), "later": await timed(search)}


async def measure(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """All sizes, growing in one folder."""
    chance, found, filled = np.random.default_rng(7), [], 0
    with TemporaryDirectory(prefix="ibid-bench-") as name:
        settings = Settings(ibid=Ibid(data_dir=Path(name) / "data"))
        async with (
            open_postgres(settings) as pool,
            aclosing(index_cache(settings, DIM)) as indexes,
            open_qdrant(settings, pool, SPACE, indexes) as kept,
        ):
            for rows in sizes:
                began = time.perf_counter()
                await fill(pool, range(filled, rows), chance)
                seconds, filled = round(time.perf_counter() - began, 1), rows
                found.append(await size(kept.memories, rows, chance) | {"filled_s": seconds})
                print(f"  {rows:7,} memories: {json.dumps(found[-1])}", flush=True)
    return {"machine": machine(), "users": USERS, "wanted": WANTED, "sizes": found}


if __name__ == "__main__":
    keep("memories", asyncio.run(measure()))
