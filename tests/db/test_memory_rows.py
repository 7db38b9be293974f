"""Rows of memories, read as they were written."""

from dataclasses import replace

import pytest

from app.db.memories import COLUMNS, WRITE, Draft, Memory, memory, new_memory, row_of
from app.db.pool import Pool
from tests.fakes.keeping import NOON, kept
from tests.fakes.uploads import SPACE, vector


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(kept(), id="plain"),
        pytest.param(
            kept(tags=("a", "b"), vantage_id="w", thread_id="t", place=7, kind="k"), id="all fields"
        ),
        pytest.param(kept(fields={"weights": {"sleep": 0.25}, "why": None}), id="a card"),
        pytest.param(kept("Ærø 兔 🐇"), id="any script"),
    ],
)
async def test_a_row_reads_back_as_the_memory(pool: Pool, given: Memory) -> None:
    """Field by field."""
    await pool.execute(WRITE, "acme", SPACE.name, *row_of(given), vector("x"), None, None)

    row = await pool.fetchrow(f"SELECT {COLUMNS} FROM ibid.memory")  # noqa: S608 - a constant of ours

    assert row is not None
    assert memory(row) == given


def test_what_postgres_cannot_hold_is_mended() -> None:
    """NUL and halves of pairs, as models and clients produce them."""
    draft = Draft("a\0b\ud800")

    made_of = new_memory(draft, "id", "ada", tokens=1, at=NOON, place=1)

    assert made_of == replace(kept("a\ufffdb\ufffd"), id="id", tokens=1)
