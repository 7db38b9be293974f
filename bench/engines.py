"""Recall of the engines against the exact index: `python -m bench.engines FOLDER ... [--source NAME]`.

The texts of a folder (as for `ibid eval`) are written once. Every question is then asked twice: of the exact
index, and with EXACT_MAX_MB=0 of the engines alone. Printed is how many of the LIMIT nearest passages of the
exact index the engines find (`recall`), and how many questions an engine did not answer (`degraded`).
"""

import argparse
import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from sqlite3 import Connection
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from app.evaluation.data import Benchmark, read
from app.evaluation.run import (
    VECTORS,
    Evaluation,
    KeptEmbedder,
    Place,
    PlainParser,
    Target,
    isolated,
    open_vectors,
)
from app.models.embeddings import Patient
from app.models.tokens import O200k
from app.services.services import Services
from app.settings import Exact, Settings
from app.types import Query
from app.wiring import open_services
from bench.figures import OUT, keep, machine, spread

LIMIT = 40
"""The nearest that are compared."""
LOOK_SECONDS = 0.5

Nearest = Mapping[str, Sequence[str]]
"""Ids of passages by question, best first."""


async def followed(services: Services) -> None:
    """Wait until the engines have taken everything."""
    for probe in services.optional:
        if probe.name in {"qdrant", "chroma"}:
            while {"waiting", "refill"} & {*await probe.check()}:  # noqa: ASYNC110 - nobody tells us
                await asyncio.sleep(LOOK_SECONDS)


async def asked(services: Services, target: Target, benchmark: Benchmark) -> tuple[Nearest, int, list[float]]:
    """The nearest of each question, how many questions were degraded, and milliseconds of each."""
    nearest, degraded, took = dict[str, list[str]](), 0, list[float]()
    for question in benchmark.questions:
        query = Query(question.text, target.scope(question.scope), limit=LIMIT, threshold=-1.0)
        began = time.perf_counter()
        found, every = await services.retrieval.apart(query, [target.source])
        took.append(1_000 * (time.perf_counter() - began))
        degraded += bool(found.degraded)
        nearest[question.id] = [hit.key for legs in every for hit in legs.meaning[:LIMIT]]
    return nearest, degraded, took


async def compared(
    config: Settings, benchmark: Benchmark, source: Place, known: Connection
) -> dict[str, Any]:
    """The figures of one folder."""
    parser = PlainParser(O200k().count) if source is Place.DOCUMENTS else None
    runs, figures = list[Nearest](), dict[str, Any]()
    with TemporaryDirectory(prefix="ibid-bench-") as folder:
        own = isolated(config, Path(folder))
        for name, exact in (("exact", Exact()), ("engines", Exact(max_mb=0))):
            settings = own.model_copy(update={"exact": exact})
            async with open_services(
                settings, parser, lambda model: KeptEmbedder(Patient(model), known)
            ) as services:
                if not runs:
                    target = Target(services, source, own.scratch)
                    await Evaluation(services.retrieval, target, benchmark).put(lambda _: None)
                await followed(services)
                nearest, degraded, took = await asked(services, target, benchmark)
            runs.append(nearest)
            figures[name] = {"degraded": degraded, "ms": spread(took)}
    exact_run, engines = runs
    shares = [len({*engines[key]} & {*kept}) / len(kept) for key, kept in exact_run.items() if kept]
    return {
        "set": benchmark.name,
        "source": source.value,
        "questions": len(shares),
        "recall": round(float(np.mean(shares)), 4),
        "worst": round(min(shares), 3),
        **figures,
    }


async def measure(folders: Sequence[Path], source: Place | None, config: Settings) -> dict[str, Any]:
    """All folders, one after the other."""
    found = []
    with open_vectors(OUT / VECTORS) as known:
        for folder in folders:
            benchmark = read(folder, "dev")
            default = Place.MEMORIES if benchmark.scoped else Place.CORPUS
            found.append(await compared(config, benchmark, source or default, known))
            print(f"  {json.dumps(found[-1])}", flush=True)
    return {"machine": machine(), "sets": found}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.engines", description="Engines against exact.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--source", type=Place, choices=list(Place))
    given = parser.parse_args()
    keep("engines", asyncio.run(measure(given.folders, given.source, Settings())))
