"""pgvector: the nearest rows of a project, by an exact scan.

Every row of the filter is compared and no index of neighbours is asked, so that no filter ever makes a result
short (0.1 s for 50,000 rows of 384 dimensions). The rows are the record itself: there is nothing to write.
Raises `RetrievalError`.
"""

from app.clients.faults import retrieval_faults
from app.clients.pool import Pool
from app.domain.passage import Embedding
from app.domain.space import Space
from app.retrieval.project_tables import CHUNK, CONVERSATION, DISTANCE, FAR, OWNER, TENANT
from app.retrieval.retrievers import Filter, Near

TABLES = {table.kind: table for table in (CONVERSATION, CHUNK)}
FIELDS = {"tenant": TENANT, "owner": OWNER, "project": "left(coalesce(project::text, ''), 200)"}
"""What a filter may name. A project's name counts by its first 200 characters."""
NEAREST = """
    SELECT id::text AS id, distance FROM (
        SELECT {id} AS id, {distance} AS distance FROM {table} WHERE {where} ORDER BY 2, 1 LIMIT {limit}
    ) AS every WHERE distance < {far}
"""


class PostgresRetriever:
    """Keeps `Retriever`: collections are the kinds of the projects' tables."""

    def __init__(self, pool: Pool, space: Space) -> None:
        self._pool = pool
        self._space = space

    async def nearest(
        self, collection: str, vector: Embedding, where: Filter, limit: int, *, payload: bool = False
    ) -> list[Near]:
        """By cosine, ties by id; rows with nothing to show, or no vector of the space, are left out."""
        assert not payload  # noqa: S101 - the record is asked for what a row holds
        table = TABLES[collection]
        conditions, values = conditions_of(where)
        space, dim, asked, most = [f"${len(values) + n}" for n in range(1, 5)]
        statement = NEAREST.format(
            id=table.id,
            distance=DISTANCE.format(space=space, dim=dim, vector=asked),
            table=table.name,
            where=" AND ".join([*conditions, f"({table.shown})"]),
            limit=most,
            far=FAR,
        )
        with retrieval_faults():
            rows = await self._pool.fetch(
                statement, *values, self._space.name, self._space.dim, vector, limit
            )
        return [Near(row["id"], 1 - row["distance"]) for row in rows]


def conditions_of(where: Filter) -> tuple[list[str], list[object]]:
    """A filter as SQL, and its parameters."""
    equal, either, without = where.equal, where.equal_or_missing, where.not_equal
    values: list[object] = [*equal.values(), *either.values(), *map(list, without.values())]
    forms = (
        *(f"{FIELDS[name]} = ${{}}" for name in equal),
        *(f"({name} IS NULL OR {FIELDS[name]} = ${{}})" for name in either),
        *(f"({name} IS NULL OR {FIELDS[name]} <> ALL(${{}}::text[]))" for name in without),
    )
    return [form.format(n) for n, form in enumerate(forms, 1)], values
