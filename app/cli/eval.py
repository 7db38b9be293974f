"""`ibid eval`: measures retrieval on folders of texts, questions and grades.

Every folder gets fresh, temporary, embedded stores; POSTGRES_DSN, CHROMA_URL, QDRANT_URL and CACHE_URL are
not used, the embedding model is the configured one. Vectors are cached in the data folder.
"""

import json as jsonlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from sqlite3 import Connection
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table

from app.cli.terminal import Json, as_json, configured, counted, progress, remark, run
from app.evaluation import data, figures
from app.evaluation.data import ABLATIONS, MEASURES, SERVED, Benchmark
from app.evaluation.figures import COMPARED
from app.evaluation.run import VECTORS, Evaluation, Measured, Place, copied, open_target, open_vectors
from app.settings import Settings

LEGEND = (
    "words: lexical retrieval; meaning: dense retrieval; fused: both by rank; all: as the service answers; "
    "[95 % of resamples]; better, worse: the difference to the other way is hardly chance, p below .05"
)


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
        Place | None,
        typer.Option(
            help="Where the texts are stored. A scope is then a user (memories), a tenant (corpus), a "
            "session (documents) or a project (code, conversations).",
            show_default="memories if the texts name scopes, else corpus",
        ),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(dir_okay=False, writable=True, help="Write every question's figures here, a line each."),
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
    benchmarks = [data.read(folder, split) for folder in folders]  # all, before the first is measured
    results = list[Mapping[str, Any]]()
    with lines_of(queries) as lines, open_vectors(config.ibid.data_dir / VECTORS) as vectors:
        for benchmark in benchmarks:
            place = source or (Place.MEMORIES if benchmark.scoped else Place.CORPUS)
            found = run(measured(config, benchmark, place, vectors))
            results.append(judged(benchmark, place, found, before, lines))
            if against and "against" not in results[-1]:
                remark(f"nothing in {against} to compare {benchmark.name} with")
            if json:
                as_json(results[-1])
    if not json:
        print_reports(results)
    for line in chain.from_iterable(map(remarks, results)):
        remark(line)


@contextmanager
def lines_of(file: Path | None) -> Iterator[TextIO | None]:
    """A file for lines, made with its folder; None without one."""
    if file is None:
        yield None
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", errors="backslashreplace") as opened:
        yield opened


def judged(
    benchmark: Benchmark, place: Place, found: Measured, before: Mapping[Any, Any], lines: TextIO | None
) -> dict[str, Any]:
    """The figures of a folder, compared with `before`; each question's go to `lines`."""
    ways = {way: figures.measured(benchmark, found.runs[way]) for way in ABLATIONS}
    result = figures.result(benchmark, place.value, found, ways)
    if known := before.get((benchmark.name, benchmark.split, place.value)):
        result["against"] = figures.compared(known, ways[SERVED])
    if lines:
        for row in figures.rows(benchmark, place.value, ways, found.runs[SERVED]):
            lines.write(jsonlib.dumps(row, ensure_ascii=False) + "\n")
        lines.flush()
    return result


def print_reports(results: Iterable[Mapping[str, Any]]) -> None:
    console = Console()
    for part in chain.from_iterable(map(report, results)):
        console.print(part)
    console.print(LEGEND, markup=False)


async def measured(config: Settings, benchmark: Benchmark, source: Place, vectors: Connection) -> Measured:
    async with open_target(config, source, vectors) as (services, target):
        evaluation = Evaluation(services.retrieval, target, benchmark)
        with progress(f"{benchmark.name}: texts", len(benchmark.texts)) as bar:
            await evaluation.put(bar.add)
        await copied(services)
        with progress(f"{benchmark.name}: questions", len(benchmark.questions)) as bar:
            await evaluation.ask(bar.add)
    return evaluation.found


def report(result: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield from (ways(result), "", against(result), "")
    for measure in COMPARED if result["groups"] else ():
        yield from (grouped(result, measure), "")
    if "against" in result:
        yield from (comparison(result), "")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> Table:
    """A plain table; numbers to the right, names and verdicts (empty heads) to the left."""
    made = Table(box=None, pad_edge=False, title=title and escape(title), title_justify="left")
    for place, name in enumerate(head):
        made.add_column(escape(name), justify="right" if place and name else "left", no_wrap=True)
    for row in rows:
        made.add_row(*map(escape, row), style="bold" if row[0] == SERVED else None)
    return made


def ways(result: Mapping[str, Any]) -> Table:
    """A line for each way of retrieval, its 95 % intervals below."""
    source, questions = result["source"], counted(result["queries"], "question")

    def cell(found: Mapping[str, Any], measure: str) -> str:
        low, high = (short(each, 2) for each in found["intervals"][measure])
        return f"{short(found['metrics'][measure], 3)}\n[{low} {high}]"

    rows = [[way, *(cell(each, name) for name in MEASURES)] for way, each in result["ablations"].items()]
    return table(["", *MEASURES], rows, f"{result['set']} ({result['split']}), {source}, {questions}")


def against(result: Mapping[str, Any]) -> Table:
    """The service's results against each other way."""
    rows = []
    for way, found in result["beside"].items():
        cells = [[span(found[name]), found[name]["verdict"]] for name in COMPARED]
        rows.append([way, *cells[0], *cells[1]])
    return table([f"{SERVED} against", *(part for name in COMPARED for part in (name, ""))], rows)


def grouped(result: Mapping[str, Any], measure: str) -> Table:
    """A line for each group of questions, a column for each way."""
    rows = [
        [group, f"{found['queries']:,}", *(short(each[measure], 3) for each in found["ablations"].values())]
        for group, found in result["groups"].items()
    ]
    return table([measure, "questions", *result["ablations"]], rows)


def comparison(result: Mapping[str, Any]) -> Table:
    """Two runs of a folder, a line for each measure."""
    found = result["against"]
    rows = [
        [
            measure,
            *(short(each[name], 3) for name in ("before", "after")),
            signed(each["difference"]),
            " ".join(map(signed, each["interval"])),
            *(f"{each[name]:,}" for name in ("wins", "losses", "ties")),
            short(each["p"], 3),
        ]
        for measure, each in found["measures"].items()
    ]
    head = ["", "before", "after", "difference", "95 %", "wins", "losses", "ties", "p"]
    questions = counted(found["questions"], "question")
    return table(head, rows, f"{result['set']} ({result['split']}), {questions} of both runs")


def short(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".removeprefix("0")


def signed(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".", 1)


def span(found: Mapping[str, Any]) -> str:
    return f"{signed(found['difference'])} [{' '.join(map(signed, found['interval']))}]"


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    """Caveats for readers of the figures."""
    name = result["set"]
    if result["unanswerable"]:
        yield f"{name}: {counted(result['unanswerable'], 'question')} without an answer left out"
    if result["dangling"]:
        yield f"{name}: {counted(result['dangling'], 'grade')} of texts that are not there"
    if result["degraded"]:
        failed = ", ".join(f"{why} ({count})" for why, count in result["degraded"].items())
        yield f"{name}: the figures are too low, searches failed: {failed}"
