"""Collections in Qdrant that other tools use: where Ibid keeps its own copy instead.

Imported ones (`ibid adopt`), and those with the name of one of ours whose vectors have another shape.
"""

from app.db.pool import Pool, postgres_faults
from app.retrieval.retrievers.qdrant import NOT_IMPORTED, ImportedCollections

HOMES = "SELECT name, home, space FROM ibid.collection_home"

UNIMPORTED = """
    SELECT name FROM ibid.collection_home
    WHERE space IS DISTINCT FROM $1 AND NOT EXISTS (SELECT FROM ibid.imported WHERE collection = name)
    ORDER BY name
"""
MOVE_HOME = """
    INSERT INTO ibid.collection_home (name, home, space) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET home = excluded.home
"""
"""The copy is in another collection from now on; its rows have to be entered in the outbox."""


async def read_imported_collections(pool: Pool) -> ImportedCollections:
    """Where the copies of imported collections are."""
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
