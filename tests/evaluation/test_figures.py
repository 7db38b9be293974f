"""Measures, intervals and tests of differences, against what they are defined to be; runs compared."""

import json
import sys
from collections.abc import Mapping, Sequence
from math import log2
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import BadInput, StartError
from app.evaluation.data import ABLATIONS, MEASURES, Benchmark, BenchmarkQuestion
from app.evaluation.figures import (
    FEWEST,
    RESAMPLES,
    beside,
    compared,
    difference,
    earlier,
    interval,
    measured,
    result,
    rows,
    verdict,
)
from app.evaluation.run import Measured

QUESTIONS = [BenchmarkQuestion("q1", "one?", {"a": 1}), BenchmarkQuestion("q2", "two?", {"b": 1})]
BENCHMARK = Benchmark("birds", "dev", [], QUESTIONS, unanswerable=2, dangling=1)


def found() -> Measured:
    """Words find both, meaning the first, all the second in second place."""
    seen = Measured(stored=7)
    seen.runs["words"].update({"q1": {"a": 0.0}, "q2": {"b": 0.0}})
    seen.runs["meaning"].update({"q1": {"a": 0.0}, "q2": {}})
    seen.runs["all"].update({"q1": {}, "q2": {"x": 0.0, "b": -1.0}})
    return seen


def ways() -> dict[str, Mapping[str, Mapping[str, float]]]:
    return {way: measured(BENCHMARK, found().runs[way]) for way in ABLATIONS}


def test_a_result_has_the_service_s_figures_and_those_of_each_way() -> None:
    """The keys that CONTRACT names stand at the top."""
    told = result(BENCHMARK, "corpus", found(), ways())

    assert {name: told[name] for name in ("set", "split", "source", "queries", "stored")} == {
        "set": "birds",
        "split": "dev",
        "source": "corpus",
        "queries": 2,
        "stored": 7,
    }
    assert list(told["ablations"]) == list(ABLATIONS)
    assert told["metrics"] == told["ablations"]["all"]["metrics"]
    assert [told["ablations"][name]["metrics"]["recall@5"] for name in ABLATIONS] == [1.0, 0.5, 0.0, 0.5]
    assert told["metrics"]["mrr"] == 0.25
    assert json.loads(json.dumps(told)) == told


def test_a_result_tells_what_may_be_chance() -> None:
    told = result(BENCHMARK, "corpus", found(), ways())

    assert told["beside"]["words"]["recall@5"]["difference"] == -0.5
    assert told["groups"] == {}


def test_what_is_written_down_is_read_again(tmp_path: Path) -> None:
    """A line a question, with what was found for it; the next run compares with what the service gave."""
    figures = ways()
    lines = list(rows(BENCHMARK, "corpus", figures, found().runs["all"]))
    path = tmp_path / "queries.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    known = earlier(path)

    assert [(line["id"], line["found"]) for line in lines] == [("q1", []), ("q2", ["x", "b"])]
    assert lines[0]["metrics"]["words"]["recall@5"] == 1
    assert known == {("birds", "dev", "corpus"): figures["all"]}


PERFECT = {"metrics": {"all": dict.fromkeys(MEASURES, 1)}}
ROW = {"set": "s", "split": "dev", "source": "corpus", "id": "q", **PERFECT}


def changed(**other: object) -> str:
    """A line that is as it should be but for what is given."""
    return json.dumps(ROW | other)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("no json", id="no JSON"),
        pytest.param("[]", id="no object"),
        pytest.param('{"set": "s", "metrics": {}}', id="another file"),
        pytest.param(changed(set=["s"]), id="a list of sets"),
        pytest.param(changed(id=["q"]), id="a list of ids"),
        pytest.param(changed(id=7), id="a number"),
        pytest.param("[" * 200_000, id="too deep"),
        *(
            pytest.param(changed(metrics={"all": dict.fromkeys(MEASURES, value)}), id=f"a figure of {value}")
            for value in (float("nan"), float("inf"), 1.5, -1, True, "1", None, [1])
        ),
    ],
)
def test_a_file_that_is_something_else_is_told(tmp_path: Path, text: str) -> None:
    """With its name and the line."""
    path = tmp_path / "x.jsonl"
    path.write_text(f"{changed()}\n{text}")

    with pytest.raises(BadInput, match=r"x\.jsonl, line 2: not what ibid eval --queries writes"):
        earlier(path)


def test_empty_lines_say_nothing(tmp_path: Path) -> None:
    """Beside others they do no harm; a file of them alone is told."""
    path = tmp_path / "x.jsonl"
    path.write_text(f"\n{changed()}\n \n")
    assert list(earlier(path)) == [("s", "dev", "corpus")]

    path.write_text("\n")
    with pytest.raises(BadInput, match="holds no questions to compare with"):
        earlier(path)


def test_two_runs_are_compared_over_what_both_asked() -> None:
    """More is a win, but less failure is."""
    before = {"q1": dict.fromkeys(MEASURES, 0.2), "q2": dict.fromkeys(MEASURES, 0.5), "gone": {}}
    after = {"q2": dict.fromkeys(MEASURES, 0.7), "q1": dict.fromkeys(MEASURES, 0.2), "new": {}}

    told = compared(before, after)

    assert told["questions"] == 2
    recall, failure = told["measures"]["recall@10"], told["measures"]["failure@20"]
    assert (recall["before"], recall["after"], recall["difference"]) == (0.35, 0.45, 0.1)
    assert (recall["wins"], recall["losses"], recall["ties"]) == (1, 0, 1)
    assert (failure["wins"], failure["losses"], failure["ties"]) == (0, 1, 1)
    assert (recall["p"], recall["interval"]) == (1.0, [0.0, 0.2])


def asked(*grades: dict[str, int]) -> Benchmark:
    """Questions with these grades."""
    questions = [BenchmarkQuestion(f"q{n}", "?", given) for n, given in enumerate(grades)]
    return Benchmark("b", "dev", [], questions)


def ranked(*names: str) -> dict[str, float]:
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


def test_without_the_library_it_is_told_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes with the development tools alone."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)

    with pytest.raises(StartError, match="ir-measures"):
        measured(asked({"a": 1}), {})


SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@settings(max_examples=20)
@given(SHARES)
def test_an_interval_lies_within_the_figures(values: list[float]) -> None:
    """And is the same every time, to the last bit."""
    low, high = interval(values)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert interval(values) == [low, high]


def paired(before: Sequence[float], after: Sequence[float], measure: str = "mrr") -> Mapping[str, float]:
    """The difference of two runs with these figures."""
    names = [str(n) for n in range(len(before))]
    first, second = (
        {name: {measure: value} for name, value in zip(names, values, strict=True)}
        for values in (before, after)
    )
    return difference(measure, first, second, names)


def test_wins_losses_and_ties_are_counted() -> None:
    """A difference in the last bit is none."""
    found = paired([0.1, 0.5, 0.5, 0.2], [0.3, 0.4, 0.5 + 1e-12, 0.9])
    assert (found["wins"], found["losses"], found["ties"]) == (2, 1, 1)
    assert found["difference"] == 0.2


def test_a_difference_that_chance_does_not_make_has_a_small_p() -> None:
    """Twenty gains in a row: 2 in 2^20 ways of signs. Ten gains and ten losses as large: any is as large."""
    assert paired([0.0] * 20, [0.1] * 20)["p"] == round(1 / (RESAMPLES + 1), 4)
    assert paired([0.0] * 20, [0.1, -0.1] * 10)["p"] == 1


NAMES = [str(n) for n in range(40)]


def alike(value: float) -> dict[str, dict[str, float]]:
    """Every question's, all alike."""
    return {name: dict.fromkeys(MEASURES, value) for name in NAMES}


FIGURES = {"words": alike(0.5), "meaning": alike(0.7), "fused": alike(0.6), "all": alike(0.6)}


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
    found = {"interval": [low, high], "p": p}

    assert verdict(found, FEWEST, less_is_better=less) == expected
    assert verdict(found, FEWEST - 1, less_is_better=less) == "too few"


def test_the_service_is_held_against_each_other_way() -> None:
    """In every measure, with interval and p."""
    found = beside(FIGURES)

    assert list(found) == [way for way in ABLATIONS if way != "all"]
    assert {way: each["ndcg@10"]["verdict"] for way, each in found.items()} == {
        "words": "better",
        "meaning": "worse",
        "fused": "inside",
    }
    assert found["meaning"]["failure@20"]["verdict"] == "better"
    assert found["words"]["mrr"]["interval"] == [0.1, 0.1]
    assert found["words"]["mrr"]["p"] < 0.01 < found["fused"]["mrr"]["p"]


def asked_by(scopes: Mapping[str, str]) -> Benchmark:
    questions = [BenchmarkQuestion(name, "?", {"a": 1}, scope) for name, scope in scopes.items()]
    return Benchmark("b", "dev", [], questions)


def test_groups_have_their_own_figures() -> None:
    scopes = {name: "en" if int(name) < 10 else "de" for name in NAMES}
    mixed = {**FIGURES, "all": {**alike(0.6), **{name: alike(0.9)[name] for name in NAMES[:10]}}}

    found = result(asked_by(scopes), "corpus", Measured(), mixed)["groups"]

    assert {name: each["queries"] for name, each in found.items()} == {"en": 10, "de": 30}
    assert [each["ablations"]["all"]["recall@10"] for each in found.values()] == [0.9, 0.6]
