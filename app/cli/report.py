"""The figures of `ibid eval` for people: a table of the four ways, one of two runs, and what to doubt."""

from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from app.cli.terminal import counted
from app.domain.benchmark import MEASURES, SERVED

WITH_INTERVAL = ("ndcg@10", "recall@10")
"""Of the others the interval stands in `--json`."""


def table(result: Mapping[str, Any]) -> Table:
    """A folder: a line a way, 95 % intervals behind the two measures that are read first."""
    head = (
        f"{result['set']} ({result['split']}), {result['source']}, {counted(result['queries'], 'question')}"
    )
    shown_as = Table(box=None, title=escape(head), title_justify="left", pad_edge=False)
    shown_as.add_column("", no_wrap=True)
    for name in MEASURES:
        shown_as.add_column(name, justify="right", no_wrap=True)
    for way, found in result["ablations"].items():
        style = "bold" if way == SERVED else None
        shown_as.add_row(way, *(figure(found, name) for name in MEASURES), style=style)
    return shown_as


def figure(found: Mapping[str, Any], measure: str) -> str:
    """`.461`, or `.461 [.43 .49]`."""
    mean = short(found["metrics"][measure], 3)
    if measure not in WITH_INTERVAL:
        return mean
    low, high = (short(each, 2) for each in found["intervals"][measure])
    return escape(f"{mean} [{low} {high}]")


def short(value: float, digits: int) -> str:
    """A share without its nought: a line is only so long."""
    return f"{value:.{digits}f}".removeprefix("0")


def comparison(result: Mapping[str, Any]) -> Table:
    """Two runs of a folder, a line a measure."""
    against = result["against"]
    head = f"{result['set']} ({result['split']}), {counted(against['questions'], 'question')} of both runs"
    shown_as = Table(box=None, title=escape(head), title_justify="left", pad_edge=False)
    shown_as.add_column("", no_wrap=True)
    for name in ("before", "after", "difference", "95 %", "wins", "losses", "ties", "p"):
        shown_as.add_column(name, justify="right", no_wrap=True)
    for measure, found in against["measures"].items():
        low, high = found["interval"]
        shown_as.add_row(
            measure,
            *(short(found[name], 3) for name in ("before", "after")),
            signed(found["difference"]),
            f"{signed(low)} {signed(high)}",
            *(f"{found[name]:,}" for name in ("wins", "losses", "ties")),
            short(found["p"], 3),
        )
    return shown_as


def signed(value: float) -> str:
    """A difference: `+.010`."""
    return f"{value:+.3f}".replace("0.", ".", 1)


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
