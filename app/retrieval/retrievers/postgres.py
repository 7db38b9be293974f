"""pgvector: the nearest rows of a part (projects), by an exact scan.

Every row of the part is compared and no index of neighbours is asked, so that no filter ever makes a result
short (0.1 s for 50,000 rows of 384 dimensions). The rows are the record itself: there is nothing to write.
"""

from app.db.pool import Pool, retrieval_faults
from app.retrieval.project_tables import DISTANCE, FAR, ProjectPart, ProjectTable
from app.types import Embedding, Space

NEAREST = """
    SELECT id::text AS id, distance FROM (
        SELECT {id} AS id, {distance} AS distance FROM {table} WHERE {where} AND ({shown}) ORDER BY 2, 1
        LIMIT {limit}
    ) AS every WHERE distance < {far}
"""


async def nearest(  # noqa: PLR0917 - what is searched, and for what
    pool: Pool, space: Space, table: ProjectTable, part: ProjectPart, vector: Embedding, limit: int
) -> list[tuple[str, float]]:
    """Ids and cosines, best first, ties by id; rows with nothing to show, or without a vector of the space,
    are left out."""
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
