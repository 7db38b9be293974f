"""The tables of `ibid eval`, in eighty columns, and what is said beside them."""

from io import StringIO

from rich.console import Console
from rich.table import Table

from app.evaluation.data import ABLATIONS, MEASURES
from app.evaluation.report import (
    Speed,
    against,
    comparison,
    grouped,
    percentile,
    remarks,
    report,
    signed,
    stages,
    times,
    ways,
)

FIGURES = {
    "metrics": dict.fromkeys(MEASURES, 0.5),
    "intervals": {name: [0.25, 1.0] for name in MEASURES},
}
DIFFERENCE = {
    "before": 0.25,
    "after": 0.5,
    "difference": 0.25,
    "interval": [-0.01, 0.5],
    "wins": 1_200,
    "losses": 3,
    "ties": 2_000,
    "p": 0.031,
}
RESULT = {
    "set": "birds[1]",
    "split": "dev",
    "source": "memories",
    "queries": 1_200,
    "ablations": dict.fromkeys(ABLATIONS, FIGURES),
    "unanswerable": 0,
    "dangling": 0,
    "degraded": {},
}


def printed(shown: Table) -> list[list[str]]:
    """Its lines, in words."""
    out = StringIO()
    Console(file=out, width=80).print(shown)
    return [line.split() for line in out.getvalue().splitlines()]


def test_a_folder_has_a_line_a_way() -> None:
    """With every measure, its interval below; nothing is cut off."""
    title, head, *lines = printed(ways(RESULT))

    assert title == ["birds[1]", "(dev),", "memories,", "1,200", "questions"]
    assert head == list(MEASURES)
    assert [line[0] for line in lines[::2]] == list(ABLATIONS)
    assert lines[0][1:] == [".500"] * len(MEASURES)
    assert lines[1] == ["[.25", "1.00]"] * len(MEASURES)


def test_two_runs_have_a_line_a_measure() -> None:
    """Before, after, the difference with its interval, questions won and lost, and p."""
    against = {"questions": 1, "measures": dict.fromkeys(MEASURES, DIFFERENCE)}

    title, head, *lines = printed(comparison({**RESULT, "against": against}))

    assert title == ["birds[1]", "(dev),", "1", "question", "of", "both", "runs"]
    assert head[:3] == ["before", "after", "difference"]
    assert [line[0] for line in lines] == list(MEASURES)
    assert lines[0][1:] == [".250", ".500", "+.250", "-.010", "+.500", "1,200", "3", "2,000", ".031"]


HELD = {"difference": 0.25, "interval": [-0.01, 0.5], "p": 0.031, "verdict": "inside"}
OTHERS = [way for way in ABLATIONS if way != "all"]


def test_differences_have_a_line_a_way() -> None:
    """With interval and verdict; the better single way is marked."""
    result = {
        "best": dict.fromkeys(MEASURES, "words"),
        "beside": {way: dict.fromkeys(MEASURES, HELD) for way in OTHERS},
    }

    head, *lines = printed(against({**RESULT, **result}))

    assert head == ["all", "against", "ndcg@10", "recall@10"]
    assert lines[0] == ["words", "(best", "single)", *["+.250", "[-.010", "+.500]", "inside"] * 2]
    assert [line[0] for line in lines] == OTHERS


def test_groups_have_a_line_each() -> None:
    """Every way, and how the service compares with the best of the others."""
    means = {way: {"ndcg@10": n / 10} for n, way in enumerate(ABLATIONS)}
    held = {way: {"ndcg@10": {**HELD, "verdict": f"as {way}"}} for way in OTHERS}
    groups = {"en[1]": {"queries": 1_200, "ablations": means, "beside": held}}

    head, line = printed(grouped({**RESULT, "groups": groups}, "ndcg@10"))

    assert head == ["ndcg@10", "questions", *ABLATIONS]
    assert line == ["en[1]", "1,200", ".000", ".100", ".200", ".300", "as", "fused"]


def test_a_difference_has_its_sign() -> None:
    """And no nought, unless it is whole."""
    assert [signed(each) for each in (0.1, -0.1, 0.0, 1.0)] == ["+.100", "-.100", "+.000", "+1.000"]


def test_what_makes_figures_doubtful_is_told() -> None:
    """And nothing where there is nothing to tell."""
    doubtful = {"unanswerable": 2, "dangling": 1, "degraded": {"memories: timeout": 3}}

    told = " / ".join(remarks({**RESULT, **doubtful}))

    assert not list(remarks(RESULT))
    assert "2 questions" in told
    assert "1 grade " in told
    assert "memories: timeout (3)" in told


TIMED = {"set": "b[1]", "split": "dev", "source": "corpus", "texts": 90, "stored": 80, "queries": 7}
TOOK = [{"total": float(n), "fusion": 1.0, "reach": 2.0} for n in range(1, 101)]


def test_stages_come_in_their_order_and_those_that_were_not_are_left_out() -> None:
    """Nearest rank: a time that a question really took."""
    assert stages(TOOK) == {
        "reach": {"p50": 2.0, "p95": 2.0},
        "fusion": {"p50": 1.0, "p95": 1.0},
        "total": {"p50": 50.0, "p95": 95.0},
    }
    assert list(stages(TOOK)) == ["reach", "fusion", "total"]
    assert stages([]) == {}
    assert percentile([3.0], 0.95) == 3.0
    assert percentile([5.0, 1.0, 3.0], 0.5) == 3.0
    assert percentile([float(n) for n in range(1, 101)], 0.07) == 7.0


def test_speed_is_told_and_shown() -> None:
    """Texts a second, what was really embedded, and a column a stage, in eighty columns."""
    seconds, processor = (
        {"texts": a, "questions": b, "whole": c} for a, b, c in ((30.0, 2.0, 40.0), (12.0, 1.0, 15.0))
    )
    found = times(TIMED, Speed(seconds, processor, {"texts": 80, "questions": 1}), TOOK)
    out = StringIO()
    told = {**RESULT, "best": {}, "beside": {}, "groups": {}}
    for part in report(told, found):
        Console(file=out, width=80).print(part)

    assert (found["texts_s"], found["timed"], found["seconds"]["whole"]) == (3.0, 100, 40.0)
    assert found["processor"] == processor
    lines = [line for line in out.getvalue().splitlines() if line.strip()][-5:]
    assert lines[0] == "b[1]: 3 texts a second, embedded 80 texts, 1 question"
    assert lines[1] == "time (processor): texts 30 s (12 s), questions 2 s (1 s), whole 40 s (15 s)"
    assert lines[2].split() == ["ms", "of", "100", "questions", "reach", "fusion", "total"]
    assert [line.split() for line in lines[3:]] == [
        ["p50", "2.0", "1.0", "50.0"],
        ["p95", "2.0", "1.0", "95.0"],
    ]
