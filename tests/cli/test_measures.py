"""The measures, held against what they are defined to be."""

import sys
from math import log2

import pytest

from app.cli.measures import measured
from app.domain.benchmark import MEASURES, Benchmark, Question
from app.domain.errors import StartError


def asked(*grades: dict[str, int]) -> Benchmark:
    """Questions with these grades."""
    questions = [Question(f"q{n}", "?", given) for n, given in enumerate(grades)]
    return Benchmark("b", "dev", [], questions)


def ranked(*names: str) -> dict[str, float]:
    """Best first."""
    return {name: -float(rank) for rank, name in enumerate(names)}


def test_each_is_a_mean_over_all_questions() -> None:
    """One that found nothing counts 0; the order is the scores'."""
    found = measured(asked({"a": 1, "b": 1}, {"c": 1}), {"q0": ranked("x", "a"), "q1": {}})

    assert list(found) == list(MEASURES)
    assert found["recall@5"] == found["recall@20"] == pytest.approx(0.25)
    assert found["mrr"] == pytest.approx(0.25)
    assert found["ndcg@10"] == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)) / 2, abs=1e-4)


@pytest.mark.parametrize(
    ("place", "recalls"),
    [
        pytest.param(5, (1, 1, 1), id="the fifth"),
        pytest.param(6, (0, 1, 1), id="the sixth"),
        pytest.param(11, (0, 0, 1), id="the eleventh"),
        pytest.param(21, (0, 0, 0), id="the twenty-first"),
    ],
)
def test_recall_counts_to_its_rank(place: int, recalls: tuple[int, int, int]) -> None:
    """And no further; reciprocal rank goes on."""
    names = [f"x{n}" for n in range(1, place)] + ["a"]

    found = measured(asked({"a": 1}), {"q0": ranked(*names)})

    assert (found["recall@5"], found["recall@10"], found["recall@20"]) == recalls
    assert found["mrr"] == pytest.approx(1 / place, abs=1e-4)


def test_a_graded_zero_does_not_count() -> None:
    """It says that somebody looked and found it beside the point."""
    found = measured(asked({"a": 1, "b": 0}), {"q0": ranked("b", "a")})

    assert (found["recall@5"], found["mrr"]) == (1, 0.5)


def test_without_the_library_it_is_told_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes with the development tools alone."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)

    with pytest.raises(StartError, match="ir-measures"):
        measured(asked({"a": 1}), {})
