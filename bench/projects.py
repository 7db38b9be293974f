"""A project's context beside many rows: THN's, and the search of conversations and code, lexical and dense.

usage: IBID_DATA_DIR=… python -m bench.projects [CONVERSATIONS] [CHUNKS]. A folder without rows is filled
first, as another tool would write them. Prints JSON: `first_s` seconds of the first search, which loads the
indexes (and analyses the rows that were just written), `context` and `search` milliseconds, `changed` those
of a context and a search each after one more row was written.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from time import perf_counter

import numpy as np

from app.db.pool import Pool
from app.models.tokens import O200k
from app.retrieval.search import Retrieval
from app.services.projects import ProjectService
from app.settings import Settings, load
from app.types import Query, Scope
from app.wiring import open_resources
from bench.corpus import question, text
from bench.figures import spread

THN = Scope(project="THN")
QUESTIONS = 200
CHANGES = 10
BATCH = 2_000
CONVERSATIONS = """
    INSERT INTO public.conversation_index
        (project, title, tags, summary_detailed, space, embedding, indexed_at)
    SELECT 'THN', 'Talk ' || n, '["one", "two"]', said, $3, vector, now() - n * interval '1 min'
    FROM unnest($1::int[], $2::text[], $4::vector[]) AS given (n, said, vector)
"""
CHUNKS = """
    INSERT INTO public.code_index (project, file_path, language, chunk_text, chunk_metadata, space, embedding)
    SELECT 'THN', 'src/module' || n / 20 || '.py', 'python', said,
        jsonb_build_object('function_name', 'walk_' || n, 'start_line', n % 20, 'end_line', n % 20 + 1),
        $3, vector
    FROM unnest($1::int[], $2::text[], $4::vector[]) AS given (n, said, vector)
"""
CHUNK = "INSERT INTO public.code_index (project, chunk_text) VALUES ('THN', $1)"


async def fill(pool: Pool, statement: str, rows: int, dim: int, space: str) -> None:
    """Rows with random vectors."""
    chance = np.random.default_rng(7)
    for first in range(0, rows, BATCH):
        numbers = range(first, min(rows, first + BATCH))
        made = chance.standard_normal((len(numbers), dim)).astype("<f4")
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        vectors = [row.tobytes() for row in made]
        await pool.execute(statement, list(numbers), [text(n) for n in numbers], space, vectors)


async def filled(settings: Settings, conversations: int, chunks: int) -> None:
    """That many rows, unless there are some."""
    async with open_resources(settings) as parts:
        if not await parts.pool.fetchval("SELECT count(*) FROM public.code_index"):
            [space] = await parts.pool.fetch("SELECT name, dim FROM ibid.space WHERE current")
            await fill(parts.pool, CONVERSATIONS, conversations, space["dim"], space["name"])
            await fill(parts.pool, CHUNKS, chunks, space["dim"], space["name"])
            await parts.pool.execute("ANALYZE public.conversation_index, public.code_index")


async def timed(asked: Callable[[str], Awaitable[object]], numbers: range) -> list[float]:
    """Milliseconds of each question."""
    took = []
    for n in numbers:
        began = perf_counter()
        await asked(question(n))
        took.append((perf_counter() - began) * 1000)
    return took


async def main(conversations: int = 10_000, chunks: int = 50_000) -> None:
    """Everything."""
    settings, _ = load(None)
    await filled(settings, conversations, chunks)
    async with open_resources(settings) as parts:
        sources = parts.projects.by_name
        retrieval = Retrieval(sources, parts.embedder, seconds=settings.rag.timeout_seconds)
        service = ProjectService(sources, retrieval, O200k().count, threshold=0.2)

        async def context(asked: str) -> object:
            return await service.build_project_context("THN", asked)

        async def search(asked: str) -> object:
            return await retrieval.gather(Query(asked, THN), ["conversations", "code"])

        cold = await timed(context, range(1))
        first = await timed(search, range(1))
        told: dict[str, object] = {
            "cold_context_ms": round(cold[0]),
            "first_s": round(first[0] / 1000, 2),
            "context": spread((await timed(context, range(1, QUESTIONS)))[20:]),
            "search": spread((await timed(search, range(1, QUESTIONS)))[20:]),
        }
        changed: dict[str, list[float]] = {"context": [], "search": []}
        for n in range(CHANGES):
            for name, ask in (("context", context), ("search", search)):
                await parts.pool.execute(
                    "INSERT INTO code_index (project, chunk_text) VALUES ('THN', $1)", text(n)
                )
                changed[name] += await timed(ask, range(n, n + 1))
        told["changed"] = {name: spread(took) for name, took in changed.items()}
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
