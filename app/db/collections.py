"""Collections of older tools that `ibid adopt` imported: where Ibid keeps its copy of each."""

from app.db.pool import Pool, postgres_faults
from app.db.rows import transaction
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
REFILL = "INSERT INTO ibid.outbox (engine) VALUES ('qdrant')"


async def read_imported_collections(pool: Pool) -> ImportedCollections:
    """Where the copies of imported collections are."""
    with postgres_faults():
        rows = await pool.fetch(HOMES)
    return ImportedCollections(
        {row["name"]: row["home"] for row in rows}, {row["name"]: row["space"] for row in rows}
    )


async def move_home(pool: Pool, name: str, home: str) -> None:
    """Qdrant holds our copy of `name` in `home` from now on, since another tool has the name."""
    async with transaction(pool) as connection:
        await connection.execute(MOVE_HOME, name, home, NOT_IMPORTED)
        await connection.execute(REFILL)


async def read_unimported(pool: Pool) -> list[str]:
    """Collections of older tools with a copy in Qdrant, of which no point is a row: as an earlier
    version adopted them, or a run that was ended at its first page left them."""
    with postgres_faults():
        return [row[0] for row in await pool.fetch(UNIMPORTED, NOT_IMPORTED)]
