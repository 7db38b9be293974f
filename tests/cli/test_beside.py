"""Whether what the service gives is better than another way, or may be so by chance."""

import pytest

from app.cli.beside import FEWEST, beside, best, groups, held, verdict
from app.cli.resample import Paired
from app.domain.benchmark import ABLATIONS, MEASURES, Benchmark, Question

NAMES = [str(n) for n in range(40)]


def figures(value: float) -> dict[str, dict[str, float]]:
    """Every question's, all alike."""
    return {name: dict.fromkeys(MEASURES, value) for name in NAMES}


FIGURES = {"words": figures(0.5), "meaning": figures(0.7), "fused": figures(0.6), "all": figures(0.6)}


@pytest.mark.parametrize(
    ("low", "high", "p", "less", "expected"),
    [
        pytest.param(0.01, 0.2, 0.01, False, "better", id="above"),
        pytest.param(-0.2, -0.01, 0.01, False, "worse", id="below"),
        pytest.param(-0.1, 0.1, 0.01, False, "inside", id="around"),
        pytest.param(0.0, 0.1, 0.01, False, "inside", id="from 0"),
        pytest.param(0.01, 0.2, 0.05, False, "inside", id="chance would, too"),
        pytest.param(0.01, 0.2, 0.01, True, "worse", id="more failures"),
        pytest.param(-0.2, -0.01, 0.01, True, "better", id="fewer failures"),
    ],
)
def test_a_verdict_needs_the_whole_interval_and_little_chance(
    low: float, high: float, p: float, less: bool, expected: str
) -> None:
    """On one side of 0; of failures fewer are better. Nothing is said of a handful of questions."""
    found = Paired((low + high) / 2, low, high, 1, 0, 0, p)

    assert verdict(found, FEWEST, less=less) == expected
    assert verdict(found, FEWEST - 1, less=less) == "too few"


def test_a_few_gains_among_many_questions_may_be_chance() -> None:
    """Four of twelve: the interval lies above 0, but flipped signs make as much every eighth time."""
    names = NAMES[:12]
    after = {**figures(0.5), **{name: figures(0.9)[name] for name in names[:4]}}

    told = held(figures(0.5), after, "mrr", names)

    assert told["interval"][0] > 0
    assert (told["p"] > 0.05, told["verdict"]) == (True, "inside")


def test_the_service_is_held_against_each_other_way() -> None:
    """In every measure, with interval and p."""
    found = beside(FIGURES, NAMES, MEASURES)

    assert list(found) == [way for way in ABLATIONS if way != "all"]
    assert {way: each["ndcg@10"]["verdict"] for way, each in found.items()} == {
        "words": "better",
        "meaning": "worse",
        "fused": "inside",
    }
    assert found["meaning"]["failure@20"]["verdict"] == "better"
    assert found["words"]["mrr"]["interval"] == [0.1, 0.1]
    assert found["words"]["mrr"]["p"] < 0.01 < found["fused"]["mrr"]["p"]


def test_the_better_single_way_has_fewer_failures() -> None:
    """Both legs together are no single way."""
    told = best({way: each["0"] for way, each in FIGURES.items()})

    assert (told["ndcg@10"], told["failure@20"]) == ("meaning", "words")


def test_groups_have_their_own_figures() -> None:
    """Means and verdicts over their own questions."""
    questions = [Question(name, "?", {"a": 1}, "en" if int(name) < 10 else "de") for name in NAMES]
    mixed = {**FIGURES, "all": {**figures(0.6), **{name: figures(0.9)[name] for name in NAMES[:10]}}}

    found = groups(Benchmark("b", "dev", [], questions), mixed, None)

    assert {name: each["queries"] for name, each in found.items()} == {"en": 10, "de": 30}
    assert [each["ablations"]["all"]["recall@10"] for each in found.values()] == [0.9, 0.6]
    assert [each["beside"]["meaning"]["ndcg@10"]["verdict"] for each in found.values()] == ["better", "worse"]
