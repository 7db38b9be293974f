"""`ibid eval`: how well what is asked is found, measured on folders of texts, questions and grades.

Every folder gets fresh stores of its own, embedded and temporary; what is configured for the service
(POSTGRES_DSN, CHROMA_URL, QDRANT_URL, CACHE_URL) is left alone, the embedding model is the configured one.
What it has embedded is kept in the data folder for the next run.
"""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console

from app.cli.chart import picture as drawn
from app.cli.figures import Earlier, Ways, compared, earlier, result, rows, since, ways
from app.cli.measures import Figures, vendor
from app.cli.pace import Pace, clock, spending, told
from app.cli.pace import measured as spent
from app.cli.progress import shown
from app.cli.report import COMPARED, comparison, grouped, remarks, table
from app.cli.report import against as held
from app.cli.terminal import Json, as_json, configured, remark, run
from app.cli.written import distinct, lines, wanted
from app.db.embedded import read_lock
from app.domain.benchmark import SERVED, Benchmark
from app.errors import StartError
from app.ingest.plain import PlainParser, disguised
from app.models.embeddings import Patient
from app.models.memo import Memo, Pages, pages
from app.models.tokens import O200k
from app.services.benchmark import read
from app.services.cabinet import CodeShelf, ConversationShelf
from app.services.evaluation import Evaluation, Found
from app.services.memories import BATCH_SECONDS
from app.services.services import Services
from app.services.shelf import CorpusShelf, DocumentShelf, MemoryShelf, Shelf
from app.settings import Cache, Chroma, Postgres, Qdrant, Settings
from app.wiring import open_services

OURS = "ibid-eval-"
"""How folders of stores begin in the machine's folder of temporary files."""
LEGEND = (
    "fused: both legs by rank; all: as the service answers; [95 % of resamples]; better, worse: the "
    "difference to the other way (of groups: to the best one) is hardly chance, p below .05"
)
NEW = 60.0
"""Seconds in which a folder may be without its lock."""
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
By = Annotated[
    str | None,
    typer.Option(
        help="Tell groups of questions apart: by `scope`, or a field of their `meta`. Left out: by "
        "scope, if there are 2 to 20."
    ),
]
Times = Annotated[
    Path | None,
    typer.Option(dir_okay=False, help="Write how fast it went here, a JSON line a folder: it never repeats."),
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
    by: By = None,
    times: Times = None,
    cache: Vectors = None,
    json: Json = False,
) -> None:
    """Measure retrieval through the real write side and sources: recall, nDCG, reciprocal rank and failure,
    with 95 % intervals, for words alone, meaning alone, both fused by rank, and as the service answers."""
    distinct({"--queries": queries, "--picture": picture, "--times": times})
    config = configured(None)
    vendor()
    before = earlier(against) if against else {}
    every = [read(folder, split) for folder in folders]  # no work is put into one while another is broken
    results, paces = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
    with interruptible(), ExitStack() as opened:
        known = opened.enter_context(pages(cache or config.ibid.data_dir / KEPT))
        kept, drawing, clocked = map(opened.enter_context, map(wanted, (queries, picture, times)))
        for benchmark in every:
            place, pace = chosen(benchmark, source).value, Pace()
            was = past(before, against, benchmark, place)
            found, figures = run(evaluated(config, benchmark, Source(place), known, pace))
            held_to = {"against": compared(was, figures[SERVED])} if was else {}
            results.append(result(benchmark, place, found, figures, by) | held_to)
            paces.append(told(results[-1], pace, found.took))
            lines(kept, rows(benchmark, place, figures, found.runs[SERVED]))
            lines(clocked, paces[-1:])
            if json:
                as_json(results[-1])
        if drawing:
            drawing.write(drawn(results))
    tell_all(results, paces, json=json)


def past(before: Earlier, against: Path | None, benchmark: Benchmark, place: str) -> Figures:
    """The earlier run's figures of the same questions; where it has none, that is told before the work."""
    was = since(before, benchmark, place)
    if against and not was:
        remark(f"nothing in {against} to compare {benchmark.name} with")
    return was


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends what runs inside as Ctrl-C does: stores are closed, what is half written is removed. A
    shell starts jobs in the background with SIGINT ignored; here it gets Python's handler."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)  # the loop's own while one runs
        (handler if callable(handler) else signal.default_int_handler)(number, frame)

    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def tell_all(results: Sequence[Mapping[str, Any]], paces: Sequence[Mapping[str, Any]], *, json: bool) -> None:
    """The tables, and what to doubt."""
    if not json:
        console = Console()
        for each, pace in zip(results, paces, strict=True):
            console.print(table(each), "", held(each), "")
            for measure in COMPARED if each["groups"] else ():
                console.print(grouped(each, measure), "")
            if "against" in each:
                console.print(comparison(each), "")
            console.print(spending(pace), markup=False)
            console.print(clock(pace), "")
        console.print(LEGEND, markup=False)
    for each in results:
        for line in remarks(each):
            remark(line)


def chosen(benchmark: Benchmark, source: Source | None) -> Source:
    """What belongs to somebody is a memory, what belongs to nobody a reference text."""
    return source or (Source.MEMORIES if benchmark.scoped else Source.CORPUS)


async def evaluated(
    config: Settings, benchmark: Benchmark, source: Source, known: Pages, pace: Pace
) -> tuple[Found, Ways]:
    """One folder's runs and figures; how fast they came is written to `pace`."""
    parser = PlainParser(O200k().count) if source is Source.DOCUMENTS else None
    await asyncio.to_thread(sweep)
    with TemporaryDirectory(prefix=OURS) as folder, spent(pace.whole):
        own = apart(config, Path(folder))
        async with open_services(own, parser, lambda model: Memo(Patient(model), known)) as services:
            evaluation = Evaluation(services.retrieval, shelf(services, source, own.scratch), benchmark)
            before = known.written
            with shown(f"{benchmark.name}: texts", len(benchmark.texts)) as progress, spent(pace.texts):
                await evaluation.file(progress.add)
            between = known.written
            with (
                shown(f"{benchmark.name}: questions", len(benchmark.questions)) as progress,
                spent(pace.questions),
            ):
                await evaluation.ask(progress.add)
            pace.embedded = {"texts": between - before, "questions": known.written - between}
    return evaluation.found, await asyncio.to_thread(ways, benchmark, evaluation.found)


def sweep() -> None:
    """Remove the stores of runs that were killed: nobody holds their lock. One that is just being made has
    none yet."""
    for folder in Path(gettempdir()).glob(f"{OURS}*"):
        with suppress(OSError, StartError):
            made = folder.stat()
            if made.st_uid == os.getuid() and time.time() - made.st_mtime > NEW and not read_lock(folder):
                shutil.rmtree(folder, ignore_errors=True)


def apart(config: Settings, folder: Path) -> Settings:
    """The same configuration on stores of its own, without a cache, and with time to answer."""
    rag = config.rag.model_copy(update={"cache_ttl_seconds": 0, "timeout_seconds": BATCH_SECONDS})
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
