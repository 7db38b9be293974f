"""What `ibid eval` tells of a run: means with their intervals, each question's figures, two runs compared.

All of it is JSON, without times, so that the same run says the same to the last digit. Raises `BadInput`
where an earlier run's file cannot be read.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from app.cli.beside import beside, best, groups
from app.cli.measures import Figures, column, measured
from app.cli.resample import interval, paired
from app.domain.benchmark import ABLATIONS, MEASURES, SERVED, Benchmark
from app.errors import BadInput
from app.services.evaluation import Found
from app.services.evaluation import Run as Ranked

DIGITS = 4
TOLD = 20
"""Texts of a question that are written down: as far as the measures look."""

Ways: TypeAlias = Mapping[str, Figures]
"""By ablation."""
Run: TypeAlias = tuple[str, str, str]
"""Set, split and source."""
Earlier: TypeAlias = Mapping[Run, Figures]
"""An earlier run's figures of SERVED."""


def ways(benchmark: Benchmark, found: Found) -> dict[str, Figures]:
    """Every question's figures, four ways."""
    return {name: measured(benchmark, found.runs[name]) for name in ABLATIONS}


def summary(figures: Figures) -> dict[str, Any]:
    """{metrics, intervals}: means over the questions, and where they lie in 95 of 100 resamples."""
    columns = {measure: column(figures, measure) for measure in MEASURES}
    intervals = {measure: list(map(rounded, interval(values))) for measure, values in columns.items()}
    means = {measure: rounded(sum(values) / max(1, len(values))) for measure, values in columns.items()}
    return {"metrics": means, "intervals": intervals}


def rounded(value: float) -> float:
    """As it is told."""
    return round(value, DIGITS)


def result(
    benchmark: Benchmark, source: str, found: Found, figures: Ways, by: str | None = None
) -> dict[str, Any]:
    """A folder's line of `--json`; `metrics` and `intervals` are those of what the service gives, `beside`
    holds it against each other way, and `best` names the better of the single ones."""
    told = {name: summary(each) for name, each in figures.items()}
    return {
        "set": benchmark.name,
        "split": benchmark.split,
        "source": source,
        "queries": len(benchmark.questions),
        **told[SERVED],
        "ablations": told,
        "best": best({name: each["metrics"] for name, each in told.items()}),
        "beside": beside(figures, [question.id for question in benchmark.questions], MEASURES),
        "groups": groups(benchmark, figures, by),
        "texts": len(benchmark.texts),
        "stored": found.stored,
        "unanswerable": benchmark.unanswerable,
        "dangling": benchmark.dangling,
        "degraded": dict(found.degraded),
    }


def rows(benchmark: Benchmark, source: str, figures: Ways, run: Ranked) -> Iterator[dict[str, Any]]:
    """A line a question for `--queries`, in the order of the questions."""
    for question in benchmark.questions:
        yield {
            "set": benchmark.name,
            "split": benchmark.split,
            "source": source,
            "id": question.id,
            "metrics": {name: dict(each[question.id]) for name, each in figures.items()},
            "found": list(run[question.id])[:TOLD],
        }


def earlier(path: Path) -> Earlier:
    """What `--queries` wrote."""
    found: dict[Run, dict[str, Mapping[str, float]]] = {}
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    run, question, figures = written(line, f"{path}, line {number}")
                    found.setdefault(run, {})[question] = figures
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from None
    if not found:
        raise BadInput(f"{path} holds no questions to compare with")
    return found


def written(line: str, where: str) -> tuple[Run, str, Mapping[str, float]]:
    """A line of `rows`: which run, which question, its figures of SERVED."""
    try:
        row = json.loads(line)
        figures = {measure: share(row["metrics"][SERVED][measure]) for measure in MEASURES}
        return (name(row["set"]), name(row["split"]), name(row["source"])), name(row["id"]), figures
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadInput(f"{where}: not what ibid eval --queries writes") from None


def share(value: object) -> float:
    """A figure from 0 to 1; `ValueError` for anything else, NaN too."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError
    return float(value)


def name(value: object) -> str:
    """Text; `ValueError` for anything else."""
    if not isinstance(value, str):
        raise ValueError
    return value


def since(before: Earlier, benchmark: Benchmark, source: str) -> Figures:
    """An earlier run's figures of those of a folder's questions that it had."""
    known = before.get((benchmark.name, benchmark.split, source), {})
    return {question.id: known[question.id] for question in benchmark.questions if question.id in known}


def compared(before: Figures, after: Figures) -> dict[str, Any]:
    """Two runs over the questions that both have: {questions, measures: {name: {before, after, difference,
    interval, wins, losses, ties, p}}}. A win is a better figure, for `failure@20` a smaller one."""
    shared = [name for name in after if name in before]
    return {
        "questions": len(shared),
        "measures": {name: one(name, before, after, shared) for name in MEASURES},
    }


def one(measure: str, before: Figures, after: Figures, shared: Sequence[str]) -> dict[str, Any]:
    """One measure of two runs."""
    values = [column(run, measure, shared) for run in (before, after)]
    found = paired(*values)
    wins, losses = (found.wins, found.losses)[:: -1 if measure.startswith("failure") else 1]
    return {
        "before": rounded(sum(values[0]) / max(1, len(shared))),
        "after": rounded(sum(values[1]) / max(1, len(shared))),
        "difference": rounded(found.difference),
        "interval": [rounded(found.low), rounded(found.high)],
        "wins": wins,
        "losses": losses,
        "ties": found.ties,
        "p": rounded(found.p),
    }
