"""What `ibid eval` prints of a folder: tables, and remarks about doubtful figures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from app.evaluation.data import MEASURES, SERVED
from app.evaluation.figures import COMPARED

LEGEND = (
    "words: lexical retrieval; meaning: dense retrieval; fused: both by rank; all: as the service answers; "
    "[95 % of resamples]; better, worse: the difference to the other way is hardly chance, p below .05"
)


def report(result: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The tables of a folder."""
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
        cells = [[span(found[name]), found[name]["verdict"]] for name in COMPARED]
        rows.append([way, *cells[0], *cells[1]])
    return table([f"{SERVED} against", *(part for name in COMPARED for part in (name, ""))], rows)


def grouped(result: Mapping[str, Any], measure: str) -> Table:
    """A line a group of questions, a column a way."""
    rows = [
        [group, f"{found['queries']:,}", *(short(each[measure], 3) for each in found["ablations"].values())]
        for group, found in result["groups"].items()
    ]
    return table([measure, "questions", *result["ablations"]], rows)


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
