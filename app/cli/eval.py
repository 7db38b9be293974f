"""`ibid eval`: how well questions find their texts, measured on folders of texts, questions and grades.

Every folder gets fresh, temporary, embedded stores; POSTGRES_DSN, CHROMA_URL, QDRANT_URL and CACHE_URL are
not used, the embedding model is the configured one. Vectors are kept in the data folder for the next run.
"""

import json as jsonlib
import os
import secrets
import signal
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from sqlite3 import Connection
from types import FrameType
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console

from app.cli.terminal import Json, as_json, configured, progress, remark, run
from app.errors import BadInput
from app.evaluation import data, figures
from app.evaluation.data import ABLATIONS, SERVED, Benchmark
from app.evaluation.report import LEGEND, Speed, remarks, report, times
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
    by: Annotated[
        str | None,
        typer.Option(
            help="Group the questions by `scope` or a field of their `meta`.",
            show_default="scope, if there are 2 to 20",
        ),
    ] = None,
    times_file: Annotated[
        Path | None,
        typer.Option("--times", dir_okay=False, help="Write how fast it was here, a JSON line a folder."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="Where vectors are kept for the next run.", show_default="the data folder"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Measure retrieval through the real write side and search: recall, nDCG, reciprocal rank and failure,
    with 95 % intervals, for lexical and dense retrieval alone, both fused by rank, and as the service
    answers."""
    distinct({"--queries": queries, "--times": times_file})
    config = configured(None)
    figures.library()
    before = figures.earlier(against) if against else {}
    benchmarks = [data.read(folder, split) for folder in folders]  # all, before work is put into the first
    results, paces = list[dict[str, Any]](), list[dict[str, Any]]()
    with interruptible(), ExitStack() as opened:
        vectors = opened.enter_context(open_vectors(cache or config.ibid.data_dir / VECTORS))
        kept = opened.enter_context(writable(queries)) if queries else None
        timed = opened.enter_context(writable(times_file)) if times_file else None
        for benchmark in benchmarks:
            place = source or (Source.MEMORIES if benchmark.scoped else Source.CORPUS)
            known = before.get((benchmark.name, benchmark.split, place.value), {})
            earlier = {each.id: known[each.id] for each in benchmark.questions if each.id in known}
            if against and not earlier:
                remark(f"nothing in {against} to compare {benchmark.name} with")
            found, speed = run(measured(config, benchmark, place, vectors))
            ways = {way: figures.measured(benchmark, found.runs[way]) for way in ABLATIONS}
            result = figures.result(benchmark, place.value, found, ways, by)
            if earlier:
                result["against"] = figures.compared(earlier, ways[SERVED])
            results.append(result)
            paces.append(times(result, speed, found.took))
            write(kept, figures.rows(benchmark, place.value, ways, found.runs[SERVED]))
            write(timed, paces[-1:])
            if json:
                as_json(result)
    if not json:
        console = Console()
        for result, pace in zip(results, paces, strict=True):
            for part in report(result, pace):
                console.print(part)
        console.print(LEGEND, markup=False)
    for result in results:
        for line in remarks(result):
            remark(line)


async def measured(
    config: Settings, benchmark: Benchmark, source: Source, vectors: Connection
) -> tuple[Found, Speed]:
    """One folder, on stores of its own."""
    speed, before = Speed(), vectors.total_changes
    with speed.part("whole"):
        async with open_target(config, source, vectors) as (services, target):
            evaluation = Evaluation(services.retrieval, target, benchmark)
            with progress(f"{benchmark.name}: texts", len(benchmark.texts)) as bar, speed.part("texts"):
                await evaluation.put(bar.add)
            between = vectors.total_changes
            total = len(benchmark.questions)
            with progress(f"{benchmark.name}: questions", total) as bar, speed.part("questions"):
                await evaluation.ask(bar.add)
            speed.embedded = {"texts": between - before, "questions": vectors.total_changes - between}
    speed.seconds["whole"] = speed.seconds.pop("whole")  # the last column
    return evaluation.found, speed


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends what runs inside as Ctrl-C does: stores are closed, partial files are removed. A shell
    starts background jobs with SIGINT ignored; here it gets Python's handler."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        handler = signal.getsignal(signal.SIGINT)  # the event loop's own, while one runs
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


@contextmanager
def writable(path: Path) -> Iterator[TextIO]:
    """A file that takes its place once everything is written; until then, and if anything fails, what is
    there stays. A link is followed; a pipe or a device is written to directly. Raises `BadInput` before any
    work."""
    beside = None
    try:
        kind = kind_of(path)
        place = Path(os.path.realpath(path))
        if kind in (0, stat.S_IFREG):
            place.parent.mkdir(parents=True, exist_ok=True)
            beside = place.with_name(f".ibid-{secrets.token_hex(8)}.part")
        file = (beside or path).open("w", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None
    try:
        with file:
            yield file
        if beside:
            beside.replace(place)
    finally:
        if beside:
            beside.unlink(missing_ok=True)


def kind_of(path: Path) -> int:
    """What is there, as `stat.S_IFMT`; 0 means nothing."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return 0


def distinct(options: Mapping[str, Path | None]) -> None:
    """Refuse two options that name one file."""
    seen = dict[str, str]()
    for option, path in options.items():
        try:
            if path and kind_of(path) in (0, stat.S_IFREG):
                first = seen.setdefault(os.path.realpath(path), option)
                if first != option:
                    raise BadInput(f"{first} and {option} name the same file, {path}")
        except OSError as error:
            raise BadInput(f"{path} cannot be written: {error.strerror}") from None


def write(file: TextIO | None, rows: Iterable[Mapping[str, Any]]) -> None:
    """JSON objects, a line each."""
    if file:
        file.writelines(jsonlib.dumps(row, ensure_ascii=False) + "\n" for row in rows)
