"""pgvector: the nearest rows of a part (projects), by an exact scan.

Compares every row of the part without an approximate index, so that a filter never returns too few rows (0.1
s for 50,000 rows of 384 dimensions).
"""

from app.db.pool import Pool, retrieval_faults
from app.db.project_tables import DISTANCE, FAR, ProjectPart, ProjectTable
from app.types import Embedding, Space

NEAREST = """
    SELECT id::text AS id, distance FROM (
        SELECT {id} AS id, {distance} AS distance FROM {table} WHERE {where} AND ({shown}) ORDER BY 2, 1
        LIMIT {limit}
    ) AS every WHERE distance < {far}
"""


async def nearest(  # noqa: PLR0917 - the parameters of the search
    pool: Pool, space: Space, table: ProjectTable, part: ProjectPart, vector: Embedding, limit: int
) -> list[tuple[str, float]]:
    """Ids and cosines, best first, ties by id; without rows that have nothing to show or no vector of the
    space."""
    where = part.where
    name, dim, asked, most = where.next(4)
    statement = NEAREST.format(
        id=table.id,
        distance=DISTANCE.format(space=name, dim=dim, vector=asked),
        table=table.name,
        where=where.sql,
        shown=table.shown,
        limit=most,
        far=FAR,
    )
    with retrieval_faults():
        rows = await pool.fetch(statement, *where.values, space.name, space.dim, vector, limit)
    return [(row["id"], 1 - row["distance"]) for row in rows]
