"""How fast a run was, apart from its figures."""

import time
from io import StringIO

from rich.console import Console

from app.cli.pace import Pace, Spent, clock, measured, percentile, spending, stages, told

RESULT = {"set": "b[1]", "split": "dev", "source": "corpus", "texts": 90, "stored": 80, "queries": 7}
TOOK = [{"total": float(n), "fusion": 1.0, "reach": 2.0} for n in range(1, 101)]


def test_wall_and_processor_are_two_things() -> None:
    """To wait takes time, and no processor."""
    spent = Spent()

    with measured(spent):
        time.sleep(0.1)

    assert spent.seconds >= 0.1


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


def test_a_pace_is_told_and_shown() -> None:
    """Texts a second, what was really embedded, and a column a stage, in eighty columns."""
    pace = Pace(Spent(30.0, 12.0), Spent(2.0, 1.0), Spent(40.0, 15.0), {"texts": 80, "questions": 1})

    found = told(RESULT, pace, TOOK)
    out = StringIO()
    Console(file=out, width=80).print(clock(found))

    assert (found["texts_s"], found["timed"], found["seconds"]["whole"]) == (3.0, 100, 40.0)
    assert found["processor"] == {"texts": 12.0, "questions": 1.0, "whole": 15.0}
    first, second = spending(found).splitlines()
    assert first == "b[1]: 3 texts a second, embedded 80 texts, 1 question"
    assert second == "time (processor): texts 30 s (12 s), questions 2 s (1 s), whole 40 s (15 s)"
    head, *lines = [line.split() for line in out.getvalue().splitlines()]
    assert head == ["ms", "of", "100", "questions", "reach", "fusion", "total"]
    assert lines == [["p50", "2.0", "1.0", "50.0"], ["p95", "2.0", "1.0", "95.0"]]
