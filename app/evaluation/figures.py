"""Figures of benchmark runs: measures by ir-measures (trec_eval's code), bootstrap intervals, paired tests.

Intervals are 95 % percentile bootstrap over questions; p-values come from the paired randomisation test
(Smucker, Allan, Carterette 2007). Both are seeded, so the same run gives the same digits. Raises `StartError`
without ir-measures (it is in the `dev` extra), `BadInput` for an earlier run's file that cannot be read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, ValidationError

from app.errors import BadInput, StartError
from app.evaluation.data import ABLATIONS, MEASURES, SERVED, Benchmark
from app.evaluation.run import Measured, Run

NAMES = {"ndcg@10": "nDCG@10", "recall@5": "R@5", "recall@10": "R@10", "recall@20": "R@20", "mrr": "RR"}
"""Ours, and the library's."""
COMPARED = ("ndcg@10", "recall@10")
"""Measures of groups, and of the printed comparison of ways."""
DIGITS, SEED, RESAMPLES = 4, 17, 5_000
NOISE = 1e-9
"""Smaller differences come from the last bits of sums."""
FEWEST, CHANCE = 10, 0.05
"""Questions that a verdict needs, and the p-value above which a difference may be chance."""

Figures: TypeAlias = Mapping[str, Mapping[str, float]]
"""By question, by measure: each in [0, 1]."""
Ways: TypeAlias = Mapping[str, Figures]
"""By ablation."""
Earlier: TypeAlias = Mapping[tuple[str, str, str], Figures]
"""By set, split and source: an earlier run's figures of SERVED."""


def library() -> ModuleType:
    """ir-measures. Called before the work, too: minutes would be lost."""
    try:
        import ir_measures  # noqa: PLC0415 - only in the dev extra
    except ImportError:
        raise StartError(
            "ibid eval measures with ir-measures; it comes with make install, or with ibid[dev]"
        ) from None
    return ir_measures


def measured(benchmark: Benchmark, run: Run) -> Figures:
    """Every question's figures, in order; a question for which nothing was found counts 0."""
    grades = {question.id: question.rel for question in benchmark.questions}
    ours = {library().parse_measure(theirs): own for own, theirs in NAMES.items()}
    found = {question.id: dict.fromkeys(NAMES, 0.0) for question in benchmark.questions}
    for each in library().iter_calc(list(ours), grades, run):
        found[each.query_id][ours[each.measure]] = round(float(each.value), 6)
    return {name: {**each, "failure@20": round(1 - each["recall@20"], 6)} for name, each in found.items()}


def column(figures: Figures, measure: str, names: Iterable[str] | None = None) -> list[float]:
    return [figures[name][measure] for name in (figures if names is None else names)]


def mean(values: Sequence[float]) -> float:
    return round(sum(values) / max(1, len(values)), DIGITS)


def interval(values: Sequence[float]) -> list[float]:
    """Of the mean: [low, high]; [0, 0] without values."""
    if not values:
        return [0.0, 0.0]
    known, random = np.asarray(values, dtype=np.float64), np.random.default_rng(SEED)
    means = known[random.integers(0, len(known), (RESAMPLES, len(known)))].mean(axis=1)
    return [float(end) for end in np.percentile(means, (2.5, 97.5))]


def p_value(gains: NDArray[np.float64]) -> float:
    """How often random signs make a sum as large, either way; 1 where nothing differs."""
    moved = gains[np.abs(gains) > NOISE]
    if not len(moved):
        return 1.0
    random, least = np.random.default_rng(SEED), abs(moved.sum()) - NOISE
    sums = (random.choice((-1, 1), (RESAMPLES, len(moved))) * moved).sum(axis=1)
    return (int((np.abs(sums) >= least).sum()) + 1) / (RESAMPLES + 1)


def difference(measure: str, before: Figures, after: Figures, names: Sequence[str]) -> dict[str, Any]:
    """{before, after, difference, interval, wins, losses, ties, p} over the same questions. A win is a better
    figure; of `failure@20` that is a smaller one."""
    first, second = column(before, measure, names), column(after, measure, names)
    gains = np.subtract(second, first, dtype=np.float64)
    wins, losses = int((gains > NOISE).sum()), int((gains < -NOISE).sum())
    ties = len(gains) - wins - losses
    if measure.startswith("failure"):
        wins, losses = losses, wins
    return {
        "before": mean(first),
        "after": mean(second),
        "difference": round(float(gains.mean()) if len(gains) else 0.0, DIGITS),
        "interval": [round(end, DIGITS) for end in interval(gains.tolist())],
        "wins": wins,
        "losses": losses,
        "ties": ties,
        "p": round(p_value(gains), DIGITS),
    }


def verdict(found: Mapping[str, Any], questions: int, *, less_is_better: bool = False) -> str:
    """`better` or `worse` where 0 is outside the interval and chance is unlikely; else `inside`, or `too
    few`."""
    low, high = found["interval"]
    if questions < FEWEST:
        return "too few"
    if found["p"] >= CHANCE or low <= 0 <= high:
        return "inside"
    return "worse" if less_is_better == (low > 0) else "better"


def beside(ways: Ways) -> dict[str, Any]:
    """{way: {measure: {difference, interval, p, verdict}}} of SERVED against each other way."""
    names = list(ways[SERVED])
    found: dict[str, dict[str, Any]] = {}
    for way in ABLATIONS:
        if way == SERVED:
            continue
        found[way] = {}
        for measure in MEASURES:
            each = difference(measure, ways[way], ways[SERVED], names)
            less = measure.startswith("failure")
            kept = {name: each[name] for name in ("difference", "interval", "p")}
            found[way][measure] = kept | {"verdict": verdict(each, len(names), less_is_better=less)}
    return found


def summary(figures: Figures) -> dict[str, Any]:
    """{metrics: {measure: mean}, intervals: {measure: [low, high]}}."""
    columns = {measure: column(figures, measure) for measure in MEASURES}
    return {
        "metrics": {measure: mean(values) for measure, values in columns.items()},
        "intervals": {
            measure: [round(end, DIGITS) for end in interval(values)] for measure, values in columns.items()
        },
    }


def result(benchmark: Benchmark, source: str, found: Measured, ways: Ways) -> dict[str, Any]:
    """A folder's line of `--json`. `beside` compares what the service returns with each other way."""
    summaries = {way: summary(figures) for way, figures in ways.items()}
    groups = {
        name: {
            "queries": len(ids),
            "ablations": {
                way: {measure: mean(column(figures, measure, ids)) for measure in COMPARED}
                for way, figures in ways.items()
            },
        }
        for name, ids in benchmark.groups.items()
    }
    return {
        "set": benchmark.name,
        "split": benchmark.split,
        "source": source,
        "queries": len(benchmark.questions),
        **summaries[SERVED],
        "ablations": summaries,
        "beside": beside(ways),
        "groups": groups,
        "texts": len(benchmark.texts),
        "stored": found.stored,
        "searched": sorted(found.searched),
        "unanswerable": benchmark.unanswerable,
        "dangling": benchmark.dangling,
        "degraded": dict(found.degraded),
    }


def rows(benchmark: Benchmark, source: str, ways: Ways, run: Run) -> Iterator[dict[str, Any]]:
    """A line of `--queries` for each question, with the texts found as far as the measures look."""
    for question in benchmark.questions:
        metrics = {way: dict(figures[question.id]) for way, figures in ways.items()}
        names = {"set": benchmark.name, "split": benchmark.split, "source": source, "id": question.id}
        yield {**names, "metrics": metrics, "found": list(run[question.id])[:20]}


class Row(BaseModel, strict=True):
    """A line of `--queries`, as `--against` reads it."""

    set: str
    split: str
    source: str
    id: str
    metrics: dict[str, dict[str, float]] = Field()


def earlier(path: Path) -> Earlier:
    """What `--queries` wrote in another run."""
    found: dict[tuple[str, str, str], dict[str, Mapping[str, float]]] = {}
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    row = Row.model_validate_json(line)
                    served = {measure: row.metrics[SERVED][measure] for measure in MEASURES}
                except (ValidationError, KeyError):
                    served = {}
                if not served or not all(0 <= value <= 1 for value in served.values()):
                    raise BadInput(f"{path}, line {number}: not what ibid eval --queries writes")
                found.setdefault((row.set, row.split, row.source), {})[row.id] = served
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error}") from None
    if not found:
        raise BadInput(f"{path} holds no questions to compare with")
    return found


def compared(before: Figures, after: Figures) -> dict[str, Any]:
    """{questions, measures: {name: `difference`}} over the questions that both runs have."""
    shared = [name for name in after if name in before]
    return {
        "questions": len(shared),
        "measures": {measure: difference(measure, before, after, shared) for measure in MEASURES},
    }
