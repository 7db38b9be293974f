"""`ibid eval`: how well what is asked is found, measured on folders of texts, questions and grades.

Every folder gets fresh stores of its own, embedded and temporary; what is configured for the service
(POSTGRES_DSN, CHROMA_URL, QDRANT_URL, CACHE_URL) is left alone, the embedding model is the configured one.
What it has embedded is kept in the data folder for the next run.
"""

import asyncio
import json as notation
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console

from app.cli.chart import picture as drawn
from app.cli.figures import Earlier, Ways, compared, earlier, result, rows, ways
from app.cli.measures import vendor
from app.cli.progress import shown
from app.cli.report import comparison, remarks, table
from app.cli.terminal import Json, as_json, configured, remark, run
from app.config import Cache, Chroma, Postgres, Qdrant, Settings
from app.domain.benchmark import SERVED, Benchmark
from app.domain.errors import BadInput
from app.intake.plain import PlainParser, disguised
from app.models.memo import Memo, Pages, pages
from app.models.tokens import O200k
from app.services.benchmark import read
from app.services.cabinet import CodeShelf, ConversationShelf
from app.services.evaluation import Evaluation, Found
from app.services.services import Services
from app.services.shelf import CorpusShelf, DocumentShelf, MemoryShelf, Shelf
from app.wiring import open_services

PATIENCE_SECONDS = 60.0
"""For a search: quality is measured here, whatever else the machine does."""
LEGEND = "fused: both legs by rank; all: as the service answers; [95 % of resamples]"
KEPT = "eval"
"""Under the data folder: what was embedded."""


class Source(StrEnum):
    """What can be measured."""

    MEMORIES = "memories"
    CORPUS = "corpus"
    DOCUMENTS = "documents"
    CODE = "code"
    CONVERSATIONS = "conversations"


Folders = Annotated[
    list[Path],
    typer.Argument(
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Folders with corpus.jsonl {id, text, title?, scope?, meta?} and queries_SPLIT.jsonl "
        "{id, text, scope?, rel: {id: grade}}.",
    ),
]
Split = Annotated[str, typer.Option(help="Which questions: queries_SPLIT.jsonl.")]
Put = Annotated[
    Source | None,
    typer.Option(
        help="Where the texts go. A scope is then a user (memories), a tenant (corpus), a session "
        "(documents) or a project (code, conversations). Left out: memories if the texts name scopes, "
        "else corpus."
    ),
]
Queries = Annotated[
    Path | None, typer.Option(dir_okay=False, help="Write every question's figures here, a line each.")
]
Against = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="Compare with what --queries wrote in another run."),
]
Picture = Annotated[Path | None, typer.Option(dir_okay=False, help="Draw the figures here, as SVG.")]
Vectors = Annotated[
    Path | None,
    typer.Option(
        file_okay=False, help="Where vectors are kept for the next run; the data folder if left out."
    ),
]


def evaluate(
    folders: Folders,
    *,
    split: Split = "dev",
    source: Put = None,
    queries: Queries = None,
    against: Against = None,
    picture: Picture = None,
    cache: Vectors = None,
    json: Json = False,
) -> None:
    """Measure retrieval through the real write side and sources: recall, nDCG, reciprocal rank and failure,
    with 95 % intervals, for words alone, meaning alone, both fused by rank, and as the service answers."""
    config = configured(None)
    vendor()
    before = earlier(against) if against else {}
    results: list[Mapping[str, Any]] = []
    with ExitStack() as opened:
        known = opened.enter_context(pages(cache or config.ibid.data_dir / KEPT))
        told = opened.enter_context(writable(queries)) if queries else None
        for folder in folders:
            benchmark = read(folder, split)
            place = chosen(benchmark, source)
            found, figures = run(evaluated(config, benchmark, place, known))
            results.append(summed(benchmark, place, found, figures, before))
            if told:
                lines = rows(benchmark, place.value, figures, found.runs[SERVED])
                told.writelines(notation.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            if json:
                as_json(results[-1])
    tell_all(results, picture, json=json)


def summed(
    benchmark: Benchmark, source: Source, found: Found, figures: Ways, before: Earlier
) -> dict[str, Any]:
    """A folder's result, held against an earlier run of it where there is one."""
    told = result(benchmark, source.value, found, figures)
    known = before.get((benchmark.name, benchmark.split, source.value))
    return {**told, "against": compared(known, figures[SERVED])} if known else told


def tell_all(results: Sequence[Mapping[str, Any]], picture: Path | None, *, json: bool) -> None:
    """The tables, the picture, and what to doubt."""
    if not json:
        console = Console()
        for each in results:
            console.print(table(each), "")
            if "against" in each:
                console.print(comparison(each), "")
        console.print(LEGEND, markup=False)
    if picture:
        with writable(picture) as file:
            file.write(drawn(results))
    for each in results:
        for line in remarks(each):
            remark(line)


def writable(path: Path) -> TextIO:
    """A file to write; told plainly where it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None


def chosen(benchmark: Benchmark, source: Source | None) -> Source:
    """What belongs to somebody is a memory, what belongs to nobody a reference text."""
    return source or (Source.MEMORIES if benchmark.scoped else Source.CORPUS)


async def evaluated(
    config: Settings, benchmark: Benchmark, source: Source, known: Pages
) -> tuple[Found, Ways]:
    """One folder's runs and figures."""
    parser = PlainParser(O200k().count) if source is Source.DOCUMENTS else None
    with TemporaryDirectory(prefix="ibid-eval-") as folder:
        own = apart(config, Path(folder))
        async with open_services(own, parser, partial(Memo, pages=known)) as services:
            evaluation = Evaluation(services.retrieval, shelf(services, source, own.scratch), benchmark)
            with shown(f"{benchmark.name}: texts", len(benchmark.texts)) as progress:
                await evaluation.file(progress.add)
            with shown(f"{benchmark.name}: questions", len(benchmark.questions)) as progress:
                await evaluation.ask(progress.add)
    return evaluation.found, await asyncio.to_thread(ways, benchmark, evaluation.found)


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
    if source is Source.CODE:
        return CodeShelf(services.code)
    if source is Source.CONVERSATIONS:
        return ConversationShelf(services.conversations)
    return DocumentShelf(services.documents, folder, disguised)
