"""What a run tells in JSON, what it writes down for the next one, and how two are compared."""

import json
from pathlib import Path

import pytest

from app.cli.figures import compared, earlier, result, rows, since, summary, ways
from app.domain.benchmark import ABLATIONS, MEASURES, Benchmark, Question
from app.errors import BadInput
from app.services.evaluation import Found

QUESTIONS = [Question("q1", "one?", {"a": 1}), Question("q2", "two?", {"b": 1})]
BENCHMARK = Benchmark("birds", "dev", [], QUESTIONS, unanswerable=2, dangling=1)


def found() -> Found:
    """Words find both, meaning the first, all the second in second place."""
    seen = Found(stored=7)
    seen.runs["words"].update({"q1": {"a": 0.0}, "q2": {"b": 0.0}})
    seen.runs["meaning"].update({"q1": {"a": 0.0}, "q2": {}})
    seen.runs["all"].update({"q1": {}, "q2": {"x": 0.0, "b": -1.0}})
    return seen


def test_a_result_has_the_service_s_figures_and_those_of_each_way() -> None:
    """The keys of docs/contract.md come first."""
    told = result(BENCHMARK, "corpus", found(), ways(BENCHMARK, found()))

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
    """Against each way, which single one is the better, and by groups where there are some."""
    told = result(BENCHMARK, "corpus", found(), ways(BENCHMARK, found()), "topic")

    assert told["beside"]["words"]["recall@5"]["difference"] == -0.5
    assert told["best"]["recall@5"] == "words"
    assert told["groups"]["-"]["queries"] == 2
    assert result(BENCHMARK, "corpus", found(), ways(BENCHMARK, found()))["groups"] == {}


def test_an_interval_stands_beside_every_mean() -> None:
    """To the same digits every time."""
    figures = ways(BENCHMARK, found())["meaning"]

    told = summary(figures)

    assert set(told["intervals"]) == set(told["metrics"]) == set(MEASURES)
    assert told["intervals"]["recall@5"] == [0.0, 1.0]
    assert told == summary(figures)


def test_what_is_written_down_is_read_again(tmp_path: Path) -> None:
    """A line a question, with what was found for it; the next run compares with what the service gave."""
    figures = ways(BENCHMARK, found())
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


def test_an_earlier_run_is_one_of_the_same_questions() -> None:
    """Of the same set, split and source; others are not compared with."""
    figures = ways(BENCHMARK, found())["all"]
    before = {("birds", "dev", "corpus"): {"q2": figures["q2"], "other": figures["q1"]}}

    assert since(before, BENCHMARK, "corpus") == {"q2": figures["q2"]}
    assert since(before, BENCHMARK, "memories") == {}


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A folder, say."""
    with pytest.raises(BadInput, match="cannot be read"):
        earlier(tmp_path)


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
