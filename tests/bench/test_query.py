"""A question's time: passages whose vectors are planted, and the table of searches."""

import numpy as np

from bench.query import Planted, told
from tests.fakes.answering import FakeEmbedder

AROUND = np.eye(1_000, 384, dtype=np.float32) + 0.01


async def test_rows_have_the_vectors_of_their_subjects_and_other_texts_their_own() -> None:
    """The same ones each time, of unit length."""
    planted = Planted(FakeEmbedder(), AROUND)
    planted.rows = {"first": 0, "second": 1}

    [second, first] = await planted.passages(["second", "first"])

    assert [first] == await planted.passages(["first"])
    assert first != second
    assert abs(float(np.linalg.norm(np.frombuffer(first, "<f4"))) - 1) < 1e-5
    assert await planted.passages(["first", "new"]) == await FakeEmbedder().passages(["first", "new"])
    assert planted.space == FakeEmbedder().space


def test_the_table_has_a_row_a_search() -> None:
    times = {"p50": 1.0, "p95": 2.0}
    asked = {"documents": {"milliseconds": times, "processor": 3.5}}

    lines, rates = told({"asked": asked, "passages_s": {"corpus": 1234.5}}).rsplit("\n", 1)

    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines.splitlines()]
    assert ["documents", "1.00", "2.00", "3.50"] in cells
    assert rates.endswith("corpus 1,234")
