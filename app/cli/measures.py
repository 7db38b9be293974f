"""The measures of `ibid eval`, by ir-measures (trec_eval's own code): the mean over all questions.

A question for which nothing was found counts 0. Part of the `dev` extra, so asked for late. Raises
`StartError` where it is not installed.
"""

from collections.abc import Mapping
from types import ModuleType

from app.domain.benchmark import MEASURES, Benchmark
from app.domain.errors import StartError
from app.services.evaluation import Run

NAMES = {"ndcg@10": "nDCG@10", "recall@5": "R@5", "recall@10": "R@10", "recall@20": "R@20", "mrr": "RR"}
"""Ours, and the library's."""


def vendor() -> ModuleType:
    """The library; asked for before minutes of work are put into what could not be measured."""
    try:
        import ir_measures  # noqa: PLC0415 - of the dev extra alone
    except ImportError:
        raise StartError(
            "ibid eval measures with ir-measures; it comes with make install, or with ibid[dev]"
        ) from None
    return ir_measures


def measured(benchmark: Benchmark, run: Run) -> Mapping[str, float]:
    """Each measure in [0, 1]."""
    library = vendor()
    grades = {question.id: question.grades for question in benchmark.questions}
    known = {name: library.parse_measure(NAMES[name]) for name in MEASURES}
    means = library.calc_aggregate(list(known.values()), grades, run)
    return {name: round(float(means[measure]), 4) for name, measure in known.items()}
