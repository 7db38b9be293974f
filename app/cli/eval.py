"""`ibid eval`: how well what is asked is found, measured on folders of texts, questions and grades.

Every folder gets fresh stores of its own, embedded and temporary; what is configured for the service
(POSTGRES_DSN, CHROMA_URL, QDRANT_URL, CACHE_URL) is left alone, the embedding model is the configured one.
"""

import asyncio
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from app.cli.measures import measured, vendor
from app.cli.progress import shown
from app.cli.terminal import Json, as_json, configured, counted, remark, run
from app.config import Cache, Chroma, Postgres, Qdrant, Settings
from app.domain.benchmark import MEASURES, Benchmark
from app.intake.plain import PlainParser, disguised
from app.models.tokens import O200k
from app.services.benchmark import read
from app.services.evaluation import Evaluation
from app.services.services import Services
from app.services.shelf import CorpusShelf, DocumentShelf, MemoryShelf, Shelf
from app.wiring import open_services

PATIENCE_SECONDS = 60.0
"""For a search: quality is measured here, whatever else the machine does."""


class Source(StrEnum):
    """What can be measured."""

    MEMORIES = "memories"
    CORPUS = "corpus"
    DOCUMENTS = "documents"


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
            help="Where the texts go. A scope is then a user (memories), a tenant (corpus) or a session "
            "(documents). Left out: memories if the texts name scopes, else corpus."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Measure retrieval: recall, nDCG and reciprocal rank, through the real write side and sources."""
    config = configured(None)
    vendor()
    results = []
    for folder in folders:
        benchmark = read(folder, split)
        results.append(run(evaluated(config, benchmark, chosen(benchmark, source))))
        if json:
            as_json(results[-1])
    if not json:
        Console().print(table(results))
    for result in results:
        for line in remarks(result):
            remark(line)


def chosen(benchmark: Benchmark, source: Source | None) -> Source:
    """What belongs to somebody is a memory, what belongs to nobody a reference text."""
    return source or (Source.MEMORIES if benchmark.scoped else Source.CORPUS)


async def evaluated(config: Settings, benchmark: Benchmark, source: Source) -> dict[str, Any]:
    """One folder's figures."""
    parser = PlainParser(O200k().count) if source is Source.DOCUMENTS else None
    with TemporaryDirectory(prefix="ibid-eval-") as folder:
        own = apart(config, Path(folder))
        async with open_services(own, parser) as services:
            evaluation = Evaluation(services.retrieval, shelf(services, source, own.scratch), benchmark)
            with shown(f"{benchmark.name}: texts", len(benchmark.texts)) as progress:
                await evaluation.file(progress.add)
            with shown(f"{benchmark.name}: questions", len(benchmark.questions)) as progress:
                await evaluation.ask(progress.add)
    found = evaluation.found
    return {
        "set": benchmark.name,
        "split": benchmark.split,
        "source": source.value,
        "queries": len(benchmark.questions),
        "metrics": dict(await asyncio.to_thread(measured, benchmark, found.run)),
        "texts": len(benchmark.texts),
        "stored": found.stored,
        "unanswerable": benchmark.unanswerable,
        "dangling": benchmark.dangling,
        "degraded": dict(found.degraded),
    }


def apart(config: Settings, folder: Path) -> Settings:
    """The same configuration on stores of its own, without a cache, and with time to answer."""
    rag = config.rag.model_copy(update={"cache_ttl_seconds": 0, "timeout_seconds": PATIENCE_SECONDS})
    own = {"postgres": Postgres(), "chroma": Chroma(), "qdrant": Qdrant(), "cache": Cache()}
    ibid = config.ibid.model_copy(update={"data_dir": folder, "workers": max(1, config.ibid.workers)})
    return config.model_copy(update={**own, "ibid": ibid, "rag": rag})


def shelf(services: Services, source: Source, folder: Path) -> Shelf:
    """Where the texts go; `folder` is for files on their way."""
    if source is Source.MEMORIES:
        return MemoryShelf(services.memories)
    if source is Source.CORPUS:
        return CorpusShelf(services.corpus)
    return DocumentShelf(services.documents, folder, disguised)


def table(results: Sequence[Mapping[str, Any]]) -> Table:
    """A line a folder."""
    shown_as = Table(box=None)
    shown_as.add_column("Set", overflow="fold")
    shown_as.add_column("Source")
    for title in ("Questions", *MEASURES):
        shown_as.add_column(title, justify="right")
    for result in results:
        figures = [f"{result['metrics'][name]:.3f}" for name in MEASURES]
        name = f"{result['set']} ({result['split']})"
        shown_as.add_row(name, result["source"], f"{result['queries']:,}", *figures)
    return shown_as


def remarks(result: Mapping[str, Any]) -> list[str]:
    """What a reader of the figures must know."""
    name, told = result["set"], []
    if result["unanswerable"]:
        told.append(f"{name}: {counted(result['unanswerable'], 'question')} without an answer left out")
    if result["dangling"]:
        told.append(f"{name}: {counted(result['dangling'], 'grade')} of texts that are not there")
    if result["degraded"]:
        failed = ", ".join(f"{why} ({count})" for why, count in result["degraded"].items())
        told.append(f"{name}: the figures are too low, searches failed: {failed}")
    return told
