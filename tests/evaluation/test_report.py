"""The tables of `ibid eval`, in eighty columns, and what is said beside them."""

from io import StringIO

from rich.console import Console
from rich.table import Table

from app.evaluation.data import ABLATIONS, MEASURES
from app.evaluation.report import (
    against,
    comparison,
    grouped,
    remarks,
    signed,
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
    """With interval and verdict."""
    result = {
        "beside": {way: dict.fromkeys(MEASURES, HELD) for way in OTHERS},
    }

    head, *lines = printed(against({**RESULT, **result}))

    assert head == ["all", "against", "ndcg@10", "recall@10"]
    assert lines[0] == ["words", *["+.250", "[-.010", "+.500]", "inside"] * 2]
    assert [line[0] for line in lines] == OTHERS


def test_groups_have_a_line_each() -> None:
    means = {way: {"ndcg@10": n / 10} for n, way in enumerate(ABLATIONS)}
    groups = {"en[1]": {"queries": 1_200, "ablations": means}}

    head, line = printed(grouped({**RESULT, "groups": groups}, "ndcg@10"))

    assert head == ["ndcg@10", "questions", *ABLATIONS]
    assert line == ["en[1]", "1,200", ".000", ".100", ".200", ".300"]


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
