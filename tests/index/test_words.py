"""Words of single rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients.pool import Pool
from app.domain.passage import Scope
from app.index.posting import build
from app.index.table import CHUNK, CONVERSATION
from app.index.words import code_packed, conversations_packed, forget, keep, packed, readable, unpacked
from tests.fakes.rows import chunked, told

TEXT = st.text(alphabet="abc é1 ", max_size=40)
KEPT = "SELECT id FROM ibid.project_words WHERE kind = 'code' ORDER BY id"


@given(st.lists(TEXT, max_size=6))
def test_rows_together_are_a_segment_built_at_once(texts: list[str]) -> None:
    """Packed one by one and unpacked together: the same postings as of all texts analysed together."""
    found, expected = unpacked([packed(text) for text in texts]), build(texts)
    for ours, theirs in zip(found.arrays(), expected.arrays(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "data", [b"", b"IBW1" + b"\0" * 12, packed("a b")[:-1]], ids=["none", "other", "cut"]
)
def test_what_is_damaged_is_told_apart(data: bytes) -> None:
    """It is analysed anew."""
    assert not readable(data)
    assert readable(packed("a b"))


def test_writers_pack_rows_by_their_columns() -> None:
    """The same words as are made of a row that another tool wrote."""
    row = {"file_path": "a.py", "chunk_metadata": {"function_name": "walk"}, "chunk_text": "pass"}
    assert code_packed([row]) == [packed("a.py\nwalk\npass")]
    names = ("title", "tags", "key_entities", "summary_short", "summary_detailed", "memory_snippet")
    assert conversations_packed([dict.fromkeys(names, None) | {"title": "sea"}]) == [packed("sea")]


async def test_words_are_kept_with_the_revision_written(pool: Pool) -> None:
    """In the transaction of the row; of a row that is not there nothing is kept."""
    row, stranger = (await chunked(pool, Scope(), "THN", ["x"]))[0], "7" * 8 + "-7777" * 3 + "-" + "7" * 12
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("UPDATE public.code_index SET chunk_text = 'y' WHERE id = $1::uuid", row)
        await keep(connection, CHUNK, {row: packed("y"), stranger: packed("z")})
    seen = await pool.fetchval("SELECT xmin::text FROM public.code_index")
    assert [row["id"] for row in await pool.fetch(KEPT)] == [row]
    assert await pool.fetchval("SELECT seen FROM ibid.project_words") == seen


async def test_words_of_another_revision_are_not_kept(pool: Pool) -> None:
    """What was read before somebody changed the row."""
    row = (await chunked(pool, Scope(), "THN", ["x"]))[0]
    await keep(pool, CHUNK, {row: packed("x")}, {row: "1"})
    assert await pool.fetch(KEPT) == []


async def test_words_are_dropped_by_kind(pool: Pool) -> None:
    """Of rows that go."""
    chunk, talk = (
        (await chunked(pool, Scope(), "THN", ["x"]))[0],
        (await told(pool, Scope(), "THN", ["x"]))[0],
    )
    await keep(pool, CHUNK, {chunk: packed("x")})
    await keep(pool, CONVERSATION, {talk: packed("x")})
    await forget(pool, CHUNK, [chunk, talk])
    assert [row["kind"] for row in await pool.fetch("SELECT kind FROM ibid.project_words")] == [
        "conversations"
    ]
