"""Parts of an answer: the milliseconds of each stage as the service kept them, and its parts alone.

usage: IBID_DATA_DIR=… python -m bench.parts, on the folder of a service that has been measured and stopped.
Prints {stages: {load: {stage: {p50, p95}}}, alone: {embedding, search}}: the query's embedding and the whole
search (words, meaning, texts from Postgres), one after the other in a process that does nothing else.
"""

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from app.db.pool import Pool
from app.models.base import Embedder
from app.settings import load
from app.types import Embedding, Legs, Query, Scope, Source
from app.wiring import open_resources
from bench.corpus import SESSION, question
from bench.figures import spread

KEPT = "SELECT user_id, body -> 'timings' AS timings FROM ibid.answer WHERE user_id LIKE '%/%' ORDER BY id"
ASKED = 60
WARM = 20
PACE_SECONDS = 0.3
"""Between two questions, as one client leaves them: the processor's caches cool down meanwhile."""


async def stages(pool: Pool) -> dict[str, dict[str, dict[str, float]]]:
    """Of every load (`ibid/16`) and stage, p50 and p95 over its answers."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in await pool.fetch(KEPT):
        timings: Mapping[str, float] = json.loads(row["timings"])
        for stage, took in timings.items():
            found[row["user_id"]][stage].append(took)
    return {
        load: {stage: spread(values) for stage, values in timings.items()} for load, timings in found.items()
    }


async def alone(embedder: Embedder, source: Source) -> dict[str, dict[str, float]]:
    """A query's embedding, and a search that is given it."""
    embeddings, searches = [], []
    for n in range(-ASKED, WARM):  # numbers that no load has asked
        text = question(n)
        began = perf_counter()
        vector = await embedder.query(text)
        between = perf_counter()
        await search(source, text, vector)
        embeddings.append((between - began) * 1000)
        searches.append((perf_counter() - between) * 1000)
        await asyncio.sleep(PACE_SECONDS)
    return {"embedding": spread(embeddings[WARM:], 2), "search": spread(searches[WARM:], 2)}


async def search(source: Source, text: str, vector: Embedding) -> Legs:
    """Passages that the asking session finds, the vector being there already."""

    async def given() -> Embedding | None:
        return vector

    query = Query(text, Scope(session_id=SESSION))
    return await (await source.reach(query.scope)).search(query, given())


async def main() -> None:
    """Both, as JSON."""
    settings, _ = load(None)
    async with open_resources(settings) as held:
        told: dict[str, Any] = {"stages": await stages(held.pool)}
        told["alone"] = await alone(held.embedder, held.documents)
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
