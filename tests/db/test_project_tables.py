"""Tables of projects: who may see which rows, what is read of their columns and kept beside them, the
nearest rows by pgvector."""

from typing import Any

import pytest

from app.db.pool import Pool
from app.db.project_tables import (
    CHUNK,
    CONVERSATION,
    ProjectTable,
)
from tests.fakes.records import insert


async def read(pool: Pool, table: ProjectTable) -> dict[str, Any]:
    row = await pool.fetchrow(f"SELECT {table.columns} FROM {table.name}")  # noqa: S608 - ours
    assert row is not None
    return dict(row)


async def test_metadata_that_postgres_cannot_read_breaks_nothing(pool: Pool) -> None:
    """A column of `json` may hold the character that `jsonb` refuses."""
    await pool.execute("ALTER TABLE public.code_index ALTER COLUMN chunk_metadata TYPE json")
    await insert(pool, CHUNK.name, {"chunk_metadata": '{"function_name": "a\\u0000", "start_line": 1}'})
    row = await read(pool, CHUNK)
    assert "function_name" in row["chunk_metadata"]
    assert row["start_line"] is None


@pytest.mark.parametrize(
    "items",
    [
        "SELECT repeat('tag', 3000000)",
        "SELECT md5(n::text) FROM generate_series(1, 100000) n",
        "SELECT 'tag' FROM generate_series(1, 100000)",
    ],
    ids=["one", "many", "compressed"],
)
async def test_megabytes_of_json_show_nothing(pool: Pool, items: str) -> None:
    """However well they are compressed: to write them as text takes seconds, so it is not begun."""
    insert_all = """
        WITH many AS (SELECT jsonb_agg(item) AS list FROM ({items}) AS every (item)), list AS (
            INSERT INTO public.conversation_index (tags, key_entities) SELECT list, list FROM many)
        INSERT INTO public.code_index (chunk_metadata) SELECT jsonb_build_object('name', list) FROM many
    """
    await pool.execute(insert_all.format(items=items))
    talk, code = await read(pool, CONVERSATION), await read(pool, CHUNK)
    assert (talk["tags"], talk["key_entities"], code["chunk_metadata"]) == (None, None, None)
