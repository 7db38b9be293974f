"""What `ibid eval` prints and writes of a folder: tables, speed, and remarks about doubtful figures.

Speed never repeats, so it is kept apart from the figures. Processor seconds are this process's and those of
its children that have ended (Postgres, Chroma). Seconds; for questions, milliseconds.
"""

import math
import resource
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from app.evaluation.data import MEASURES, SERVED
from app.evaluation.figures import COMPARED
from app.evaluation.run import TOTAL
from app.stopwatch import STAGES, Took

LEGEND = (
    "words: lexical retrieval; meaning: dense retrieval; fused: both by rank; all: as the service answers; "
    "[95 % of resamples]; better, worse: the difference to the other way (of groups: to the best one) is "
    "hardly chance, p below .05"
)
PERCENTILES = {"p50": 0.5, "p95": 0.95}


@dataclass(slots=True)
class Speed:
    seconds: dict[str, float] = field(default_factory=dict)
    """By part: texts, questions, whole (with the start and end of the stores)."""
    processor: dict[str, float] = field(default_factory=dict)
    embedded: dict[str, int] = field(default_factory=dict)
    """Texts and questions that the model embedded; other vectors were kept from earlier runs."""

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Time what runs inside."""
        wall, processor = time.perf_counter(), used()
        try:
            yield
        finally:
            self.seconds[name], self.processor[name] = time.perf_counter() - wall, used() - processor


def used() -> float:
    """Processor seconds up to now."""
    every = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in every)


def times(result: Mapping[str, Any], speed: Speed, took: Sequence[Took]) -> dict[str, Any]:
    """A folder's line of `--times`."""
    return {
        **{name: result[name] for name in ("set", "split", "source", "texts", "stored", "queries")},
        "texts_s": round(result["texts"] / max(speed.seconds["texts"], 1e-9), 1),
        "embedded": speed.embedded,
        "timed": len(took),
        "milliseconds": stages(took),
        "seconds": {name: round(value, 1) for name, value in speed.seconds.items()},
        "processor": {name: round(value, 1) for name, value in speed.processor.items()},
    }


def stages(took: Sequence[Took]) -> dict[str, dict[str, float]]:
    """{stage: {p50, p95}}, in the order of the stages; stages that no question had are left out."""
    found = {name: [each[name] for each in took if name in each] for name in (*STAGES, TOTAL)}
    return {
        name: {told: round(percentile(values, share), 2) for told, share in PERCENTILES.items()}
        for name, values in found.items()
        if values
    }


def percentile(values: Sequence[float], share: float) -> float:
    rank = math.ceil(round(share * len(values), 9))  # 0.07 * 100 is a little more than 7
    return sorted(values)[max(rank, 1) - 1]


def report(result: Mapping[str, Any], pace: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The tables of a folder; `pace` is its line of `--times`."""
    yield from (ways(result), "", against(result), "")
    for measure in COMPARED if result["groups"] else ():
        yield from (grouped(result, measure), "")
    if "against" in result:
        yield from (comparison(result), "")
    yield escape(spent(pace))
    rows = [[name, *(f"{each[name]:.1f}" for each in pace["milliseconds"].values())] for name in PERCENTILES]
    yield from (table([f"ms of {counted(pace['timed'], 'question')}", *pace["milliseconds"]], rows), "")


def table(head: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> Table:
    """A plain table; numbers to the right, names and verdicts (empty heads) to the left."""
    made = Table(box=None, pad_edge=False, title=title and escape(title), title_justify="left")
    for place, name in enumerate(head):
        made.add_column(escape(name), justify="right" if place and name else "left", no_wrap=True)
    for row in rows:
        made.add_row(*map(escape, row), style="bold" if row[0] == SERVED else None)
    return made


def ways(result: Mapping[str, Any]) -> Table:
    """A line a way, its 95 % intervals below."""
    source, questions = result["source"], counted(result["queries"], "question")

    def cell(found: Mapping[str, Any], measure: str) -> str:
        low, high = (short(each, 2) for each in found["intervals"][measure])
        return f"{short(found['metrics'][measure], 3)}\n[{low} {high}]"

    rows = [[way, *(cell(each, name) for name in MEASURES)] for way, each in result["ablations"].items()]
    return table(["", *MEASURES], rows, f"{result['set']} ({result['split']}), {source}, {questions}")


def against(result: Mapping[str, Any]) -> Table:
    """What the service returns, against each other way."""
    rows = []
    for way, found in result["beside"].items():
        best = all(result["best"][name] == way for name in COMPARED)
        cells = [[span(found[name]), found[name]["verdict"]] for name in COMPARED]
        rows.append([f"{way}{' (best single)' if best else ''}", *cells[0], *cells[1]])
    return table([f"{SERVED} against", *(part for name in COMPARED for part in (name, ""))], rows)


def grouped(result: Mapping[str, Any], measure: str) -> Table:
    """A line a group of questions; what the service returns against the best other way."""
    rows = []
    for group, found in result["groups"].items():
        means = {way: each[measure] for way, each in found["ablations"].items()}
        best = max((way for way in means if way != SERVED), key=means.__getitem__)
        told = found["beside"][best][measure]["verdict"]
        rows.append([group, f"{found['queries']:,}", *(short(value, 3) for value in means.values()), told])
    return table([measure, "questions", *result["ablations"], ""], rows)


def comparison(result: Mapping[str, Any]) -> Table:
    """Two runs of a folder, a line a measure."""
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


def spent(pace: Mapping[str, Any]) -> str:
    """Texts a second, what was embedded, and what each part took."""
    made = ", ".join(counted(number, what.removesuffix("s")) for what, number in pace["embedded"].items())
    parts = (
        f"{name} {seconds:.0f} s ({pace['processor'][name]:.0f} s)"
        for name, seconds in pace["seconds"].items()
    )
    return (
        f"{pace['set']}: {pace['texts_s']:,.0f} texts a second, embedded {made}\n"
        f"time (processor): {', '.join(parts)}"
    )


def short(value: float, digits: int) -> str:
    """A share without its leading zero."""
    return f"{value:.{digits}f}".removeprefix("0")


def signed(value: float) -> str:
    return f"{value:+.3f}".replace("0.", ".", 1)


def span(found: Mapping[str, Any]) -> str:
    return f"{signed(found['difference'])} [{' '.join(map(signed, found['interval']))}]"


def counted(number: int, noun: str) -> str:
    """`1 page`, `1,200 pages`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def remarks(result: Mapping[str, Any]) -> Iterator[str]:
    """What a reader of the figures must know."""
    name = result["set"]
    if result["unanswerable"]:
        yield f"{name}: {counted(result['unanswerable'], 'question')} without an answer left out"
    if result["dangling"]:
        yield f"{name}: {counted(result['dangling'], 'grade')} of texts that are not there"
    if result["degraded"]:
        failed = ", ".join(f"{why} ({count})" for why, count in result["degraded"].items())
        yield f"{name}: the figures are too low, searches failed: {failed}"
