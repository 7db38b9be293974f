"""`ibid eval`: how well questions find their texts, measured on folders of texts, questions and grades.

Every folder gets fresh, temporary, embedded stores; POSTGRES_DSN, CHROMA_URL, QDRANT_URL and CACHE_URL are
not used, the embedding model is the configured one. Vectors are kept in the data folder for the next run.
"""

import json as jsonlib
import os
from pathlib import Path
from sqlite3 import Connection
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console

from app.cli.terminal import Json, as_json, configured, progress, remark, run
from app.errors import BadInput
from app.evaluation import data, figures
from app.evaluation.data import ABLATIONS, SERVED, Benchmark
from app.evaluation.report import LEGEND, remarks, report
from app.evaluation.run import VECTORS, Evaluation, Found, Source, open_target, open_vectors
from app.settings import Settings


def evaluate(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="Folders with corpus.jsonl {id, text, title?, scope?, meta?} and queries_SPLIT.jsonl "
            "{id, text, scope?, rel: {id: grade}}.",
        ),
    ],
    *,
    split: Annotated[str, typer.Option(help="Which questions: queries_SPLIT.jsonl.")] = "dev",
    source: Annotated[
        Source | None,
        typer.Option(
            help="Where the texts are stored. A scope is then a user (memories), a tenant (corpus), a "
            "session (documents) or a project (code, conversations).",
            show_default="memories if the texts name scopes, else corpus",
        ),
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write every question's figures here, a line each.")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Compare with what --queries wrote in another run."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure retrieval through the real write side and search: recall, nDCG, reciprocal rank and failure,
    with 95 % intervals, for lexical and dense retrieval alone, both fused by rank, and as the service
    answers."""
    config = configured(None)
    figures.library()
    before = figures.earlier(against) if against else {}
    benchmarks = [data.read(folder, split) for folder in folders]  # all, before work is put into the first
    results = list[dict[str, Any]]()
    with open_vectors(config.ibid.data_dir / VECTORS) as vectors, writable(queries) as file:
        for benchmark in benchmarks:
            place = source or (Source.MEMORIES if benchmark.scoped else Source.CORPUS)
            found = run(measured(config, benchmark, place, vectors))
            ways = {way: figures.measured(benchmark, found.runs[way]) for way in ABLATIONS}
            result = figures.result(benchmark, place.value, found, ways)
            if known := before.get((benchmark.name, benchmark.split, place.value)):
                result["against"] = figures.compared(known, ways[SERVED])
            elif against:
                remark(f"nothing in {against} to compare {benchmark.name} with")
            for row in figures.rows(benchmark, place.value, ways, found.runs[SERVED]):
                file.write(jsonlib.dumps(row, ensure_ascii=False) + "\n")
            results.append(result)
            if json:
                as_json(result)
    if not json:
        console = Console()
        for result in results:
            for part in report(result):
                console.print(part)
        console.print(LEGEND, markup=False)
    for result in results:
        for line in remarks(result):
            remark(line)


async def measured(config: Settings, benchmark: Benchmark, source: Source, vectors: Connection) -> Found:
    """One folder, on stores of its own."""
    async with open_target(config, source, vectors) as (services, target):
        evaluation = Evaluation(services.retrieval, target, benchmark)
        with progress(f"{benchmark.name}: texts", len(benchmark.texts)) as bar:
            await evaluation.put(bar.add)
        with progress(f"{benchmark.name}: questions", len(benchmark.questions)) as bar:
            await evaluation.ask(bar.add)
    return evaluation.found


def writable(path: Path | None) -> TextIO:
    """A file to write to, opened before any work; without a path one that keeps nothing."""
    try:
        return open(path or os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - closed by the caller
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None
