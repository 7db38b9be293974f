"""Whether what the service gives is better than each single way, or may be so by chance; by groups, too.

Paired over the same questions: a difference is told with its 95 % interval; one whose interval holds 0, or
that chance makes oftener than once in twenty, lies inside it. Pure computing, to the same digits each time.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from app.cli.measures import Figures, column
from app.cli.resample import Paired, paired
from app.domain.benchmark import ABLATIONS, MEASURES, SERVED, Benchmark

DIGITS = 4
SINGLE = ("words", "meaning")
"""The ways that are one leg."""
GRADED = ("ndcg@10", "recall@10")
"""Measures that groups are told with."""
FEWEST = 10
"""Questions that a verdict needs: of fewer, resamples are too much alike."""
CHANCE = 0.05


def beside(figures: Mapping[str, Figures], names: Sequence[str], measures: Iterable[str]) -> dict[str, Any]:
    """{way: {measure: {difference, interval, p, verdict}}} of SERVED against each other way."""
    return {
        way: {measure: held(figures[way], figures[SERVED], measure, names) for measure in measures}
        for way in ABLATIONS
        if way != SERVED
    }


def held(before: Figures, after: Figures, measure: str, names: Sequence[str]) -> dict[str, Any]:
    """One difference."""
    found = paired(column(before, measure, names), column(after, measure, names))
    return {
        "difference": round(found.difference, DIGITS),
        "interval": [round(found.low, DIGITS), round(found.high, DIGITS)],
        "p": round(found.p, DIGITS),
        "verdict": verdict(found, len(names), less=measure.startswith("failure")),
    }


def verdict(found: Paired, questions: int, *, less: bool = False) -> str:
    """`better` or `worse`, where the whole interval lies on one side of 0 and chance is unlikely, else
    `inside`; `too few` where nobody can tell."""
    if questions < FEWEST:
        return "too few"
    if found.p >= CHANCE or found.low <= 0 <= found.high:
        return "inside"
    return "worse" if less == (found.low > 0) else "better"


def best(metrics: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    """By measure, which single way has the better mean; of equal ones the first."""
    return {
        measure: (min if measure.startswith("failure") else max)(
            SINGLE, key=lambda way: metrics[way][measure]
        )
        for measure in MEASURES
    }


def groups(benchmark: Benchmark, figures: Mapping[str, Figures], by: str | None) -> dict[str, Any]:
    """{group: {queries, ablations: {way: {measure: mean}}, beside}}; nothing where there is nothing to tell
    apart."""
    return {
        name: {
            "queries": len(ids),
            "ablations": {way: means(each, ids) for way, each in figures.items()},
            "beside": beside(figures, ids, GRADED),
        }
        for name, ids in benchmark.groups(by).items()
    }


def means(figures: Figures, names: Sequence[str]) -> dict[str, float]:
    """Of GRADED, over some questions."""
    return {measure: round(sum(column(figures, measure, names)) / len(names), DIGITS) for measure in GRADED}
