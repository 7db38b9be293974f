"""A question's time beside 10,000 passages: `python -m bench.query [PASSAGES]`.

As many in each of documents, corpus and memories (of one session, tenant and user), in one process with its
embedded stores. One client asks each of them, and all at once, a question every PACE seconds, as the service
searches (`Retrieval.gather`) but without its cache. Questions are really embedded, and so are the first
memories, to tell passages a second; all other vectors are made up (`bench/vectors.py`). Milliseconds.
"""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from app.cli.serve import settle
from app.db.corpus import ReferenceDraft
from app.db.memories import Draft
from app.evaluation.run import BATCH, copied
from app.models.base import Embedder
from app.services.services import Services
from app.settings import Ibid, Rag, Settings
from app.types import Embedding, Query, Scope
from app.wiring import open_services
from bench import server
from bench.corpus import SESSION, question, text
from bench.figures import keep, machine, spread
from bench.table import table
from bench.vectors import Vectors, centres, vectors

ROWS, ASKED, WARM = 10_000, 150, 20
PACE = 0.2
"""Seconds between two questions: the processor's caches cool down meanwhile."""
LIMIT = 40
"""Passages a leg: RAG_TOP_K_MAX."""
EMBEDDED = 256
"""Memories that are really embedded."""
USER, COLLECTION = "bench", "bench"
WANTED = 60.0
"""Milliseconds, p95 of a whole search."""
ASKS: Mapping[str, Sequence[str]] = {
    "documents": ("documents",),
    "corpus": ("corpus",),
    "memories": ("memories",),
    "all three": ("documents", "corpus", "memories"),
}


class Planted:
    """An embedder that knows the vectors of rows. Keeps `ports.Embedder`."""

    def __init__(self, embedder: Embedder, around: Vectors) -> None:
        self._embedder = embedder
        self._around = around
        self.rows: dict[str, int] = {}

    @property
    def space(self) -> str:
        """The embedder's."""
        return self._embedder.space

    async def query(self, text: str) -> Embedding:
        """A question, really embedded."""
        return await self._embedder.query(text)

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Those of rows are made up."""
        if not all(each in self.rows for each in texts):
            return await self._embedder.passages(texts)
        made = await asyncio.to_thread(vectors, [self.rows[each] for each in texts], self._around)
        return [row.astype("<f4").tobytes() for row in made]


async def write(services: Services, texts: Sequence[str], what: str) -> float:
    """Through the write side of one source; passages a second."""
    began = time.perf_counter()
    for at in range(0, len(texts), BATCH):
        some = texts[at : at + BATCH]
        if what == "corpus":
            given = [ReferenceDraft(each, f"text-{at + n}") for n, each in enumerate(some)]
            await services.corpus.keep(Scope(), COLLECTION, given)
        else:
            await services.memories.remember(Scope(user_id=USER), [Draft(each) for each in some])
    return round(len(texts) / (time.perf_counter() - began), 1)


async def filled(services: Services, planted: Planted, rows: int) -> dict[str, float]:
    """Corpus and memories written; passages a second, with embedding and without."""
    real = await write(services, [text(-1 - row) for row in range(EMBEDDED)], "memories")
    texts = [text(row) for row in range(rows)]
    planted.rows = {each: row for row, each in enumerate(texts)}
    found = {"with embedding": real}
    for what, some in (("corpus", texts), ("memories", texts[: rows - EMBEDDED])):
        found[what] = await write(services, some, what)
    return found


async def one(services: Services, names: Sequence[str], n: int) -> float:
    """One question; milliseconds."""
    query = Query(question(n), Scope(session_id=SESSION, user_id=USER), limit=LIMIT)
    began = time.perf_counter()
    found = await services.retrieval.gather(query, names)
    if found.degraded or not found.candidates:
        raise SystemExit(f"nothing was found: {found.degraded}")
    return (time.perf_counter() - began) * 1000


async def asked(services: Services, names: Sequence[str], first: int) -> dict[str, Any]:
    """One client's questions, none of them asked before."""
    took, spent = list[float](), time.process_time()
    for n in range(WARM + ASKED):
        if n == WARM:
            spent = time.process_time()
        took.append(await one(services, names, first + n))
        await asyncio.sleep(PACE)
    processor = (time.process_time() - spent) / ASKED * 1000
    return {"milliseconds": spread(took[WARM:], 2), "processor": round(processor, 2)}


async def measure(rows: int = ROWS) -> dict[str, Any]:
    """All of it, in a folder of its own."""
    where, around = machine(), centres()
    with TemporaryDirectory(prefix="ibid-bench-") as folder:
        began = time.perf_counter()
        await server.run("filing", "ibid", folder, rows, "reach", IBID_DATA_DIR=folder)
        rates = {"documents": round(rows / (time.perf_counter() - began), 1)}
        settings = Settings(_env_file=None, ibid=Ibid(data_dir=Path(folder)), rag=Rag(cache_ttl_seconds=0))
        planted: list[Planted] = []

        def known(embedder: Embedder) -> Planted:
            planted.append(Planted(embedder, around))
            return planted[0]

        async with open_services(settings, None, known) as services:
            rates |= await filled(services, planted[0], rows)
            await copied(services)  # which needs the processor that questions need
            settle()  # as the service does when it has started
            found = {
                name: await asked(services, names, turn * (WARM + ASKED))
                for turn, (name, names) in enumerate(ASKS.items())
            }
    return {"machine": where, "rows": rows, "wanted": WANTED, "passages_s": rates, "asked": found}


def told(found: Mapping[str, Any]) -> str:
    """A row a search."""
    rows = [
        [name, each["milliseconds"]["p50"], each["milliseconds"]["p95"], each["processor"]]
        for name, each in found["asked"].items()
    ]
    rates = ", ".join(f"{name} {rate:,.0f}" for name, rate in found["passages_s"].items())
    return f"{table(['ms', 'p50', 'p95', 'processor'], rows)}\n\npassages a second, written: {rates}"


if __name__ == "__main__":
    figures = asyncio.run(measure(*map(int, sys.argv[1:2])))
    keep("query", figures)
    print(told(figures))
