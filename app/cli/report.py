"""The figures of `ibid eval` for people: a table of the four ways, one of two runs, and what to doubt."""

from collections.abc import Mapping
from typing import Any

from rich.markup import escape
from rich.table import Table

from app.cli.terminal import counted
from app.domain.benchmark import MEASURES, SERVED

COMPARED = ("ndcg@10", "recall@10")
"""Measures by which ways and groups are compared; by the others in `--json`."""


def table(result: Mapping[str, Any]) -> Table:
    """A folder: a line a way, and its 95 % intervals below."""
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
    """`.461`, and `[.43 .49]` below."""
    low, high = (short(each, 2) for each in found["intervals"][measure])
    return escape(f"{short(found['metrics'][measure], 3)}\n[{low} {high}]")


def short(value: float, digits: int) -> str:
    """A share without its nought: a line is only so long."""
    return f"{value:.{digits}f}".removeprefix("0")


def against(result: Mapping[str, Any]) -> Table:
    """What the service gives, against each other way; a `*` at the better of the single ones."""
    shown_as = Table(box=None, pad_edge=False)
    shown_as.add_column(f"{SERVED} against", no_wrap=True)
    for name in COMPARED:
        shown_as.add_column(name, justify="right", no_wrap=True)
        shown_as.add_column("", no_wrap=True)
    for way, found in result["beside"].items():
        cells = [part for name in COMPARED for part in (span(found[name]), found[name]["verdict"])]
        marked = [name for name in COMPARED if result["best"][name] == way]
        shown_as.add_row(f"{way}{' (best single)' if len(marked) == len(COMPARED) else ''}", *cells)
    return shown_as


def span(found: Mapping[str, Any]) -> str:
    """`+.010 [-.002 +.022]`."""
    low, high = found["interval"]
    return escape(f"{signed(found['difference'])} [{signed(low)} {signed(high)}]")


def grouped(result: Mapping[str, Any], measure: str) -> Table:
    """A measure by groups of questions, a line each; what the service gives against the best other way."""
    shown_as = Table(box=None, pad_edge=False)
    shown_as.add_column(measure, no_wrap=True)
    shown_as.add_column("questions", justify="right", no_wrap=True)
    for way in result["ablations"]:
        shown_as.add_column(way, justify="right", no_wrap=True)
    shown_as.add_column("", no_wrap=True)
    for group, found in result["groups"].items():
        ways = {way: each[measure] for way, each in found["ablations"].items()}
        best = max((way for way in ways if way != SERVED), key=lambda way: ways[way])
        told = found["beside"][best][measure]["verdict"]
        cells = (short(value, 3) for value in ways.values())
        shown_as.add_row(escape(group), f"{found['queries']:,}", *cells, told)
    return shown_as


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
