"""Vectors cross the wire as the domain's bytes, and come back the same."""

import asyncpg
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pgvector import Vector

from app.db.pool import Pool, decode, encode, open_pool
from app.types import Embedding

floats = st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=64)


def embedding(values: list[float]) -> Embedding:
    """As the domain keeps it."""
    return np.array(values, "<f4").tobytes()


@given(floats)
def test_what_goes_out_comes_back(values: list[float]) -> None:
    """Decoding what was encoded gives the same bytes."""
    assert decode(encode(embedding(values))) == embedding(values)


@given(floats)
def test_speaks_as_pgvector_does(values: list[float]) -> None:
    """The wire format is the one of pgvector's own client."""
    assert encode(embedding(values)) == Vector(values).to_binary()


async def test_server_agrees(pool: Pool) -> None:
    """PostgreSQL reads the numbers that were meant, and its numbers are read right."""
    assert await pool.fetchval("SELECT $1::vector::text", embedding([1.5, -2, 0.25])) == "[1.5,-2,0.25]"
    assert await pool.fetchval("SELECT '[1.5,-2,0.25]'::vector") == embedding([1.5, -2, 0.25])


async def test_copied_in_bulk(pool: Pool) -> None:
    """Binary COPY takes embeddings too, of any dimension beside each other."""
    rows = [("d", n, "text", 1, 1, "", 1, "s", embedding([n] * n)) for n in range(1, 30)]
    columns = (
        "document_id",
        "ordinal",
        "text",
        "page",
        "page_end",
        "heading",
        "tokens",
        "space",
        "embedding",
    )
    document = {"id": "d", "tenant": "t", "filename": "f", "name": "f", "sha256": "", "size": 1}
    await pool.copy_records_to_table(
        "document", schema_name="ibid", records=[tuple(document.values())], columns=tuple(document)
    )
    await pool.copy_records_to_table("chunk", schema_name="ibid", records=rows, columns=columns)
    found = await pool.fetch("SELECT embedding FROM ibid.chunk ORDER BY ordinal")
    assert [row["embedding"] for row in found] == [row[-1] for row in rows]


async def test_extension_in_a_schema_of_its_own(dsn: str) -> None:
    """Hosts that keep extensions elsewhere than in public are served as well."""
    admin = await asyncpg.connect(dsn.replace("ibid@", "postgres@"))
    name = await admin.fetchval("SELECT current_database()")
    await admin.execute("CREATE SCHEMA extensions; GRANT USAGE ON SCHEMA extensions TO ibid")
    await admin.execute("ALTER EXTENSION vector SET SCHEMA extensions")
    await admin.execute(f"ALTER DATABASE {name} SET search_path = public, extensions")
    await admin.close()
    async with open_pool(dsn) as pool:
        assert await pool.fetchval("SELECT $1::vector", embedding([1, 2])) == embedding([1, 2])
