"""The memory search beside 10,000 and 100,000 memories over 1,000 users: `python -m bench.memories`.

Embedded engine, in this process; vectors are given (random unit ones), so nothing is embedded. Two figures a
size: the engine's own search (both legs, each ranked among the other's, one call) and the source's whole one
(the record asked for how the user stands, the legs, labels and passages). Milliseconds; CPU of the process.
"""

import asyncio
import json
import random
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from app.clients.points import Ask, Where
from app.clients.postgres import open_postgres
from app.config import Ibid, Settings
from app.domain.memory import RAW, Memory
from app.domain.passage import Embedding, Query, Scope
from app.domain.space import Space
from app.index.sparse import question
from app.keeping import Kept, open_kept
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
    """Whose a row is."""
    return f"user-{row % USERS}"


async def fill(kept: Kept, rows: range, chance: np.random.Generator) -> None:
    """Write them, as the write side does."""
    for at in range(rows.start, rows.stop, BATCH):
        some = [memory(row) for row in range(at, min(at + BATCH, rows.stop))]
        await kept.memories.put(Scope(), some, [embedding(chance) for _ in some])


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


async def size(kept: Kept, rows: int, chance: np.random.Generator) -> dict[str, Any]:
    """Both searches beside so many."""
    users = [user(random.Random(n).randrange(USERS)) for n in range(ASKED)]

    async def raw(n: int) -> object:
        where = Where(has=(("tenant", ("default",)), ("user_id", (users[n],))))
        meaning = Ask(where, LIMIT, dense=embedding(chance))
        words = Ask(where, LIMIT, words=question(corpus.question(n)))
        among = (
            Ask(where, LIMIT, words=words.words, among=meaning),
            Ask(where, LIMIT, dense=meaning.dense, among=words),
        )
        return await kept.points.search(RAW, [meaning, words, *among])

    async def whole(n: int) -> object:
        scope = Scope(user_id=users[n])
        reached = await kept.memories.reach(scope)
        given: asyncio.Future[Embedding | None] = asyncio.get_running_loop().create_future()
        given.set_result(embedding(chance))
        return await reached.search(Query(corpus.question(n), scope, LIMIT), given)

    return {"rows": rows, "engine": await timed(raw), "source": await timed(whole)}


async def measure(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """All sizes, growing in one folder."""
    chance, found, filled = np.random.default_rng(7), [], 0
    with TemporaryDirectory(prefix="ibid-bench-") as name:
        settings = Settings(ibid=Ibid(data_dir=Path(name) / "data"))
        async with open_postgres(settings) as pool, open_kept(settings, pool, SPACE) as kept:
            for rows in sizes:
                began = time.perf_counter()
                await fill(kept, range(filled, rows), chance)
                seconds, filled = round(time.perf_counter() - began, 1), rows
                found.append(await size(kept, rows, chance) | {"filled_s": seconds})
                print(f"  {rows:7,} memories: {json.dumps(found[-1])}", flush=True)
    return {"machine": machine(), "users": USERS, "wanted": WANTED, "sizes": found}


if __name__ == "__main__":
    keep("memories", asyncio.run(measure()))
