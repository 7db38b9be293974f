"""Collections in Qdrant that other tools use: where Ibid keeps its own copy instead.

Imported ones (`ibid adopt`), and those with the name of one of ours whose vectors have another shape.
"""

from app.db.pool import Pool, postgres_faults
from app.db.rows import Connection
from app.retrieval.retrievers.qdrant import NOT_IMPORTED, ImportedCollections

HOMES = "SELECT name, home, space FROM ibid.collection_home"

UNIMPORTED = """
    SELECT name FROM ibid.collection_home
    WHERE space IS DISTINCT FROM $1 AND NOT EXISTS (SELECT FROM ibid.imported WHERE collection = name)
    ORDER BY name
"""
SET_HOME = """
    INSERT INTO ibid.collection_home (name, home, space) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET home = excluded.home, space = excluded.space
    RETURNING xmax = 0 AS fresh
"""


async def set_home(connection: Connection, name: str, home: str, space: str | None) -> bool:
    """Our copy is in `home` from now on: its rows have to be entered in the outbox. `space`: of the other
    tool's vectors, as in `ImportedCollections.spaces`. True if the copy had no home of its own before."""
    return bool(await connection.fetchval(SET_HOME, name, home, space))


async def read_imported_collections(pool: Pool) -> ImportedCollections:
    with postgres_faults():
        rows = await pool.fetch(HOMES)
    return ImportedCollections(
        {row["name"]: row["home"] for row in rows}, {row["name"]: row["space"] for row in rows}
    )


async def read_unimported(pool: Pool) -> list[str]:
    """Collections of older tools with a copy in Qdrant, of which no point is a row: as an earlier
    version adopted them, or a run that was ended at its first page left them."""
    with postgres_faults():
        return [row[0] for row in await pool.fetch(UNIMPORTED, NOT_IMPORTED)]
