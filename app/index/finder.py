"""Rows of a project's table: the newest, the nearest, and both legs of a search, each in one statement.

Exact: every row that may be seen is compared, no index of neighbours is asked, so that no filter ever makes a
result short (0.1 s for 50,000 rows of 384 dimensions, docs/decisions/0042). Raises `RetrievalError`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from app.clients.faults import retrieval_faults
from app.clients.pool import Pool
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding
from app.domain.space import Space
from app.index.table import DISTANCE, FAR, MOMENT, Table, Where

NEWEST = """
    SELECT id, NULL::float8 AS distance, false AS near,
        row_number() OVER (ORDER BY moment DESC NULLS LAST, id) AS turn
    FROM (
        SELECT {id} AS id, indexed_at AS moment FROM {table} WHERE {where}
        ORDER BY 2 DESC NULLS LAST, 1 LIMIT {limit}
    ) AS every
"""
NEAREST = """
    SELECT id, distance, true AS near, 0 AS turn FROM (
        SELECT {id} AS id, {distance} AS distance FROM {table} WHERE {where} ORDER BY 2, 1 LIMIT {limit}
    ) AS every WHERE distance < {far}
"""
# By their ids first, whatever the planner thinks of the rest: it knows nothing of a table just filled.
NAMED = """
    WITH asked AS MATERIALIZED (SELECT * FROM {table} WHERE {id} = ANY({ids}::uuid[]))
    SELECT {id} AS id, {distance} AS distance, false AS near, 0 AS turn FROM asked WHERE {where}
"""
BOTH = """
    WITH nearest AS MATERIALIZED ({near})
    SELECT * FROM nearest UNION ALL
    SELECT * FROM ({named}) AS worded WHERE id NOT IN (SELECT id FROM nearest)
"""
WHOLE = """
    WITH chosen AS MATERIALIZED ({chosen}), found AS MATERIALIZED (
        SELECT chosen.id::text AS id, held.xmin::text AS seen, chosen.distance, chosen.near, chosen.turn,
            {moment}, {columns}
        FROM chosen JOIN {table} AS held ON held.{id} = chosen.id
    )
"""
PLAIN = "SELECT found.*, 1 AS place FROM found "
TOLD_APART = """
    , twins AS ({twins}) SELECT found.*, twins.place FROM found LEFT JOIN twins ON twins.id = found.id
"""
IN_TURN = "ORDER BY found.turn, found.distance, found.id"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """A row as it was read."""

    id: str
    seen: str
    """Its revision (xmin): another for every change of it, whoever makes it."""
    cosine: float | None
    """Raw, to the query's vector; None: it has no vector of the space, or the query none."""
    near: bool
    """Whether the meaning leg chose it."""
    columns: Mapping[str, Any]


class Finder:
    """Reads one table for vectors of one space."""

    def __init__(self, pool: Pool, table: Table, space: Space) -> None:
        self._pool = pool
        self._table = table
        self._space = space

    async def newest(self, where: Where, limit: int) -> list[Found]:
        """Of those with anything to show, by indexed_at, newest first, those without a time last."""
        [most] = where.next(1)
        shown = f"{where.sql} AND ({self._table.shown})"
        chosen = NEWEST.format(id=self._table.id, table=self._table.name, where=shown, limit=most)
        return await self._fetched(chosen, where, (limit,))

    async def nearest(self, where: Where, vector: Embedding, limit: int) -> list[Found]:
        """By cosine, ties by id; what has nothing to show, or no vector of the space, is left out."""
        space, dim, asked, most = where.next(4)
        distance = DISTANCE.format(space=space, dim=dim, vector=asked)
        chosen = self._near(f"{where.sql} AND ({self._table.shown})", distance, most)
        return await self._fetched(chosen, where, (*self._given(vector), limit))

    async def both(
        self, where: Where, vector: Embedding | None, ids: Sequence[str], limit: int
    ) -> list[Found]:
        """The nearest that have anything to say, and the rows named `ids`; each once."""
        if vector is None:
            [named] = where.next(1)
            chosen = self._named(where.sql, "NULL::float8", named)
            return await self._fetched(chosen, where, (ids,))
        space, dim, asked, most, named = where.next(5)
        distance = DISTANCE.format(space=space, dim=dim, vector=asked)
        chosen = BOTH.format(
            near=self._near(f"{where.sql} AND ({self._table.told})", distance, most),
            named=self._named(where.sql, distance, named),
        )
        return await self._fetched(chosen, where, (*self._given(vector), limit, ids))

    def _near(self, where: str, distance: str, limit: str) -> str:
        """The choice of the nearest."""
        return NEAREST.format(
            id=self._table.id, distance=distance, table=self._table.name, where=where, limit=limit, far=FAR
        )

    def _named(self, where: str, distance: str, ids: str) -> str:
        """The choice of some that the words chose; they must still be in reach."""
        return NAMED.format(
            id=self._table.id, distance=distance, table=self._table.name, where=where, ids=ids
        )

    def _given(self, vector: Embedding) -> tuple[str, int, Embedding]:
        """Parameters of DISTANCE; a vector of another space is no vector."""
        if len(vector) != 4 * self._space.dim:
            log.error("the query's vector is of another space", space=self._space.name)
            raise RetrievalError("embedding")
        return self._space.name, self._space.dim, vector

    async def _fetched(self, chosen: str, where: Where, values: Sequence[Any]) -> list[Found]:
        """Chosen rows with all that is shown of them."""
        table = self._table
        whole = WHOLE.format(
            chosen=chosen, moment=MOMENT, columns=table.columns, table=table.name, id=table.id
        )
        told_apart = TOLD_APART.format(twins=table.twins.replace(":where", where.sql))
        statement = whole + (told_apart if table.twins else PLAIN) + IN_TURN
        with retrieval_faults():
            rows = await self._pool.fetch(statement, *where.values, *values)
        return [
            Found(row["id"], row["seen"], cosine(row["distance"]), row["near"], dict(row)) for row in rows
        ]


def cosine(distance: float | None) -> float | None:
    """Of a distance; of a vector of zeros there is none."""
    return None if distance is None or math.isnan(distance) else 1 - distance
