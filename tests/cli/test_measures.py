"""The measures, held against what they are defined to be."""

import sys
from math import log2

import pytest

from app.cli.measures import column, measured
from app.domain.benchmark import MEASURES, Benchmark, Question
from app.errors import StartError


def asked(*grades: dict[str, int]) -> Benchmark:
    """Questions with these grades."""
    questions = [Question(f"q{n}", "?", given) for n, given in enumerate(grades)]
    return Benchmark("b", "dev", [], questions)


def ranked(*names: str) -> dict[str, float]:
    """Best first."""
    return {name: -float(rank) for rank, name in enumerate(names)}


def test_each_question_has_its_own() -> None:
    """One that found nothing has 0; the order is the scores'."""
    found = measured(asked({"a": 1, "b": 1}, {"c": 1}, {"d": 1}), {"q0": ranked("x", "a"), "q1": {}})

    assert list(found) == ["q0", "q1", "q2"]
    assert list(found["q0"]) == sorted(MEASURES, key=list(found["q0"]).index)
    assert set(found["q0"]) == set(MEASURES)
    assert (found["q0"]["recall@5"], found["q0"]["recall@20"], found["q0"]["mrr"]) == (0.5, 0.5, 0.5)
    assert found["q0"]["ndcg@10"] == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)), abs=1e-6)
    assert found["q1"] == found["q2"] == {**dict.fromkeys(MEASURES, 0.0), "failure@20": 1.0}


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
    """And no further; reciprocal rank goes on, and failure is what recall leaves."""
    names = [f"x{n}" for n in range(1, place)] + ["a"]

    found = measured(asked({"a": 1}), {"q0": ranked(*names)})["q0"]

    assert (found["recall@5"], found["recall@10"], found["recall@20"]) == recalls
    assert found["failure@20"] == 1 - recalls[2]
    assert found["mrr"] == pytest.approx(1 / place, abs=1e-6)


def test_a_graded_zero_does_not_count() -> None:
    """It says that somebody looked and found it beside the point."""
    found = measured(asked({"a": 1, "b": 0}), {"q0": ranked("b", "a")})["q0"]

    assert (found["recall@5"], found["mrr"]) == (1, 0.5)


def test_a_column_is_in_the_order_that_is_asked_for() -> None:
    """Two runs are compared question by question."""
    figures = {"q0": {"mrr": 0.5}, "q1": {"mrr": 1.0}}

    assert column(figures, "mrr") == [0.5, 1.0]
    assert column(figures, "mrr", ["q1", "q0"]) == [1.0, 0.5]


def test_without_the_library_it_is_told_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes with the development tools alone."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)

    with pytest.raises(StartError, match="ir-measures"):
        measured(asked({"a": 1}), {})
