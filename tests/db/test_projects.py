"""What of the projects' tables is embedded, asked of a real Postgres."""

import asyncpg
import pytest

from app.db.pool import Pool
from app.db.project_text import CODE_INPUT, CONVERSATION_INPUT, MOST, Kept

SILENT = [
    (CONVERSATION_INPUT, {}),
    (CONVERSATION_INPUT, {"title": " \n\t", "tags": "[]", "key_entities": "null"}),
    (CONVERSATION_INPUT, {"tags": '[[], {}, "", " , "]'}),
    (CODE_INPUT, {"file_path": "a.py"}),
    (CODE_INPUT, {"chunk_text": "  ", "chunk_metadata": '{"name": "f"}'}),
]
SAYING = [
    (CONVERSATION_INPUT, {"memory_snippet": "x"}, "x"),
    (CONVERSATION_INPUT, {"tags": '["海"]'}, "Tags: 海"),
    (CONVERSATION_INPUT, {"key_entities": "7"}, "Key entities: 7"),
    (CODE_INPUT, {"file_path": "a.py", "chunk_text": "x = 1"}, "a.py\nx = 1"),
]


async def read(pool: Pool, kept: Kept, facts: dict[str, str]) -> asyncpg.Record:
    """A row of these columns, as those who embed it see it."""
    names, values = ", ".join(facts) or kept.id, [f"${n}" for n in range(1, len(facts) + 1)]
    given = ", ".join(values) or "gen_random_uuid()"
    await pool.execute(f"INSERT INTO {kept.table} ({names}) VALUES ({given})", *facts.values())  # noqa: S608
    row = await pool.fetchrow(f"SELECT {kept.says} AS says, {kept.columns} FROM {kept.table}")  # noqa: S608
    assert row
    return row


def named(given: Kept | dict[str, str] | str) -> str:
    """A case's name, the same in every process."""
    return given.kind if isinstance(given, Kept) else str(given)


@pytest.mark.parametrize(("kept", "facts"), SILENT, ids=named)
async def test_a_row_without_a_word_says_nothing(pool: Pool, kept: Kept, facts: dict[str, str]) -> None:
    """Nulls, white space, empty JSON; a path alone is no code."""
    assert not (await read(pool, kept, facts))["says"]


@pytest.mark.parametrize(("kept", "facts", "text"), SAYING, ids=named)
async def test_a_row_with_a_word_is_embedded(
    pool: Pool, kept: Kept, facts: dict[str, str], text: str
) -> None:
    """In whichever column, of whichever writing."""
    row = await read(pool, kept, facts)
    assert row["says"]
    assert kept.text(row) == text


async def test_megabytes_are_cut_where_they_lie(pool: Pool) -> None:
    """They never leave Postgres."""
    row = await read(pool, CONVERSATION_INPUT, {"title": "t", "summary_detailed": "word " * 2_000_000})
    assert len(row["summary_detailed"]) == MOST
    assert len(CONVERSATION_INPUT.text(row)) <= MOST
