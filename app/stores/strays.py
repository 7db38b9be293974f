"""Rows that the index of memories or of the corpus lacks, or still has (`domain/stray.Strays`).

Of every tenant: repairs have no asker. Vectors of another space than the current one are not for the index:
they wait for `ibid reembed`. Raises `Unavailable`.
"""

from collections.abc import Sequence

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.memory import RAW
from app.domain.passage import Scope
from app.domain.stray import Stock, StrayMemory, StrayText
from app.stores.corpus import COLUMNS as TEXT_COLUMNS
from app.stores.corpus import reference
from app.stores.register import COLUMNS, STANDS, memory

UNFINISHED = "indexed_at IS NULL OR removed_at IS NOT NULL"
USABLE = "(removed_at IS NOT NULL OR space = (SELECT name FROM ibid.space WHERE current))"
MEMORIES = f"""
    SELECT {COLUMNS}, tenant, embedding, removed_at IS NOT NULL AS removed FROM ibid.memory
    WHERE ({{which}}) AND {USABLE} AND id > $1 ORDER BY id LIMIT $2
"""  # noqa: S608 - constants of ours
TEXTS = f"""
    SELECT {TEXT_COLUMNS}, tenant, collection, embedding, removed_at IS NOT NULL AS removed
    FROM ibid.corpus_text
    WHERE ({{which}}) AND {USABLE} AND point > $1 ORDER BY point LIMIT $2
"""  # noqa: S608 - constants of ours
SPACE = "SELECT name FROM ibid.space WHERE current"
KEPT = f"""
    SELECT '{RAW}', tenant, count(*) FROM ibid.memory WHERE {STANDS} AND space = $1 GROUP BY tenant
    UNION ALL SELECT collection, tenant, count(*) FROM ibid.corpus_text WHERE {STANDS} AND space = $1
    GROUP BY collection, tenant
"""  # noqa: S608 - constants of ours
KNOWN = """
    SELECT id FROM ibid.memory WHERE id = ANY($1)
    UNION ALL SELECT point FROM ibid.corpus_text WHERE point = ANY($1)
"""


class StrayStore:
    """The strays."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def memories(self, after: str, limit: int, *, all_of_them: bool) -> Sequence[StrayMemory]:
        """By id."""
        with postgres_faults():
            rows = await self._pool.fetch(MEMORIES.format(which=which(all_of_them)), after, limit)
        return [
            StrayMemory(
                Scope(row["tenant"], user_id=row["user_id"]), memory(row), row["embedding"], row["removed"]
            )
            for row in rows
        ]

    async def texts(self, after: str, limit: int, *, all_of_them: bool) -> Sequence[StrayText]:
        """By point."""
        with postgres_faults():
            rows = await self._pool.fetch(TEXTS.format(which=which(all_of_them)), after, limit)
        return [
            StrayText(
                Scope(row["tenant"]), row["collection"], reference(row), row["embedding"], row["removed"]
            )
            for row in rows
        ]

    async def kept(self) -> tuple[str, dict[str, Stock]]:
        """The current space, and its searchable rows by collection."""
        with postgres_faults():
            space: str = await self._pool.fetchval(SPACE) or ""
            rows = await self._pool.fetch(KEPT, space)
        found: dict[str, Stock] = {}
        for collection, tenant, count in rows:
            sofar = found.get(collection, Stock(0, ()))
            found[collection] = Stock(sofar.count + int(count), (*sofar.tenants, tenant))
        return space, found

    async def known(self, points: Sequence[str]) -> set[str]:
        """Which of these points the record has, whatever became of them."""
        with postgres_faults():
            return {row[0] for row in await self._pool.fetch(KNOWN, list(points))}


def which(all_of_them: bool) -> str:
    """The condition."""
    return STANDS if all_of_them else UNFINISHED
