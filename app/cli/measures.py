"""The measures of `ibid eval` for each question, by ir-measures (trec_eval's own code).

A question for which nothing was found counts 0. Part of the `dev` extra, so asked for late. Raises
`StartError` where it is not installed.
"""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TypeAlias

from app.domain.benchmark import Benchmark
from app.errors import StartError
from app.services.evaluation import Run

NAMES = {"ndcg@10": "nDCG@10", "recall@5": "R@5", "recall@10": "R@10", "recall@20": "R@20", "mrr": "RR"}
"""Ours, and the library's."""

Figures: TypeAlias = Mapping[str, Mapping[str, float]]
"""By question, by measure: each in [0, 1]."""


def vendor() -> ModuleType:
    """The library; asked for before minutes of work are put into what could not be measured."""
    try:
        import ir_measures  # noqa: PLC0415 - of the dev extra alone
    except ImportError:
        raise StartError(
            "ibid eval measures with ir-measures; it comes with make install, or with ibid[dev]"
        ) from None
    return ir_measures


def measured(benchmark: Benchmark, run: Run) -> Figures:
    """Every question's figures, in the order of the questions."""
    library = vendor()
    grades = {question.id: question.grades for question in benchmark.questions}
    ours = {library.parse_measure(name): own for own, name in NAMES.items()}
    found = {question.id: dict.fromkeys(NAMES, 0.0) for question in benchmark.questions}
    for each in library.iter_calc(list(ours), grades, run):
        found[each.query_id][ours[each.measure]] = round(float(each.value), 6)
    return {name: {**each, "failure@20": round(1 - each["recall@20"], 6)} for name, each in found.items()}


def column(figures: Figures, measure: str, names: Sequence[str] | None = None) -> list[float]:
    """One measure of all questions, or of these."""
    return [figures[name][measure] for name in (figures if names is None else names)]
