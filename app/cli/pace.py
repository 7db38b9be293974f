"""How fast a run of `ibid eval` was: passages a second, a question's time stage by stage, processor seconds.

Apart from the figures, which repeat to the digit: these never do, and other work on the machine makes them
worse. Processor seconds are this process's, threads included, and those of the children that have ended
(Postgres, Chroma). Seconds, but for questions: milliseconds.
"""

import math
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

from app.cli.terminal import counted
from app.services.evaluation import TOTAL
from app.stopwatch import STAGES, Took

PERCENTILES = {"p50": 0.5, "p95": 0.95}


@dataclass(slots=True)
class Spent:
    """Of one part of the run."""

    seconds: float = 0.0
    processor: float = 0.0


@dataclass(slots=True)
class Pace:
    """Of one folder."""

    texts: Spent = field(default_factory=Spent)
    questions: Spent = field(default_factory=Spent)
    whole: Spent = field(default_factory=Spent)
    """With the stores' start and end, and their processes."""
    embedded: dict[str, int] = field(default_factory=dict)
    """Texts and questions that the model embedded; the others' vectors came from the cache."""


@contextmanager
def measured(spent: Spent) -> Iterator[None]:
    """What runs inside is that part."""
    wall, processor = time.perf_counter(), used()
    try:
        yield
    finally:
        spent.seconds, spent.processor = time.perf_counter() - wall, used() - processor


def used() -> float:
    """Processor seconds up to now."""
    every = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in every)


def told(result: Mapping[str, Any], pace: Pace, took: Sequence[Took]) -> dict[str, Any]:
    """A folder's line of `--times`."""
    named = {name: result[name] for name in ("set", "split", "source", "texts", "stored", "queries")}
    parts = {"texts": pace.texts, "questions": pace.questions, "whole": pace.whole}
    return {
        **named,
        "texts_s": round(result["texts"] / max(pace.texts.seconds, 1e-9), 1),
        "embedded": pace.embedded,
        "timed": len(took),
        "milliseconds": stages(took),
        "seconds": {name: round(part.seconds, 1) for name, part in parts.items()},
        "processor": {name: round(part.processor, 1) for name, part in parts.items()},
    }


def stages(took: Sequence[Took]) -> dict[str, dict[str, float]]:
    """{stage: {p50, p95}}, in the order in which stages come; what no question had is left out."""
    found = {name: [each[name] for each in took if name in each] for name in (*STAGES, TOTAL)}
    return {
        name: {told: round(percentile(values, share), 2) for told, share in PERCENTILES.items()}
        for name, values in found.items()
        if values
    }


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them do not exceed (nearest rank)."""
    rank = math.ceil(round(share * len(values), 9))  # 0.07 * 100 is a little more than 7
    return sorted(values)[max(rank, 1) - 1]


def clock(pace: Mapping[str, Any]) -> Table:
    """Milliseconds of a question, a column a stage."""
    shown = Table(box=None, pad_edge=False)
    shown.add_column(f"ms of {counted(pace['timed'], 'question')}", no_wrap=True)
    for name in pace["milliseconds"]:
        shown.add_column(name, justify="right")
    for name in PERCENTILES:
        shown.add_row(name, *(f"{each[name]:.1f}" for each in pace["milliseconds"].values()))
    return shown


def spending(pace: Mapping[str, Any]) -> str:
    """What the parts of the run took, and how much the model had to do."""
    seconds, processor = (pace[name] for name in ("seconds", "processor"))
    parts = ", ".join(f"{name} {seconds[name]:.0f} s ({processor[name]:.0f} s)" for name in seconds)
    return (
        f"{pace['set']}: {pace['texts_s']:,.0f} texts a second, embedded {embedded(pace)}\n"
        f"time (processor): {parts}"
    )


def embedded(pace: Mapping[str, Any]) -> str:
    """How much the model had to do: `1,200 texts, no questions`."""
    return ", ".join(counted(number, what.removesuffix("s")) for what, number in pace["embedded"].items())
