"""The record of the corpus (`domain/corpus.Corpus`): `ibid.corpus_text`, and the version of each tenant's.

A row is a text of the corpus once `indexed_at` is set and until `removed_at` is, as in `memories.py`. Writers
of one collection take turns; an id again replaces. Raises `Unavailable`, `NoRoom`.
"""

import json
from collections.abc import Sequence
from dataclasses import fields

import asyncpg

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.corpus import Given, Reference, Shelf, placed
from app.domain.passage import Embedding, Scope
from app.stores.register import LOCK, STANDS
from app.stores.text import storable
from app.stores.transaction import Connection, transaction

NAMES = tuple(item.name for item in fields(Reference))
COLUMNS = ", ".join(NAMES)
# xmax is 0 where a row is new; one that was removed and not yet cleared away is new too.
ADMIT = f"""
    WITH gone AS (
        SELECT true FROM ibid.corpus_text
        WHERE tenant = $1 AND collection = $2 AND id = $3 AND removed_at IS NOT NULL)
    INSERT INTO ibid.corpus_text (tenant, collection, id, point, text, title, metadata, tokens, space,
        embedding)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (tenant, collection, id) DO UPDATE SET text = excluded.text, title = excluded.title,
        metadata = excluded.metadata, tokens = excluded.tokens, space = excluded.space,
        embedding = excluded.embedding, created_at = now(), indexed_at = NULL, removed_at = NULL
    RETURNING {COLUMNS}, xmax = 0 OR EXISTS (SELECT FROM gone) AS fresh
"""  # noqa: S608 - constants of ours
INDEXED = """
    UPDATE ibid.corpus_text SET indexed_at = now()
    WHERE tenant = $1 AND collection = $2 AND point = ANY($3) AND removed_at IS NULL
"""
WITHDRAW = """
    UPDATE ibid.corpus_text SET removed_at = now()
    WHERE tenant = $1 AND collection = $2 AND point = ANY($3) AND indexed_at IS NULL
"""
STAY = """
    SELECT point FROM ibid.corpus_text
    WHERE tenant = $1 AND collection = $2 AND point = ANY($3) AND removed_at IS NULL
"""
REMOVE = """
    UPDATE ibid.corpus_text SET removed_at = now()
    WHERE tenant = $1 AND collection = $2 AND id = $3 AND removed_at IS NULL RETURNING point
"""
FORGET = "DELETE FROM ibid.corpus_text WHERE point = ANY($1) AND removed_at IS NOT NULL"
ANEW = "UPDATE ibid.corpus_text SET indexed_at = NULL WHERE point = ANY($1) RETURNING point"
BUMP = """
    INSERT INTO ibid.corpus_version AS known (tenant, version) VALUES ($1, 1)
    ON CONFLICT (tenant) DO UPDATE SET version = known.version + 1
"""
SHELVES = f"""
    SELECT collection, count(*), sum(tokens)::bigint, max(created_at) FROM ibid.corpus_text
    WHERE tenant = $1 AND {STANDS} GROUP BY collection ORDER BY collection COLLATE "C"
"""  # noqa: S608 - constants of ours


class CorpusStore:
    """The corpus."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def admit(
        self,
        scope: Scope,
        collection: str,
        texts: Sequence[Given],
        embeddings: Sequence[Embedding],
        tokens: Sequence[int],
        *,
        space: str,
    ) -> list[tuple[Reference, bool]]:
        """All or none; each id again replaces. (text, whether it is new)."""
        kept = []
        async with transaction(self._pool) as connection:
            await connection.execute(LOCK, "\x1f".join(("ibid.corpus", scope.tenant, collection)))
            for given, vector, count in zip(texts, embeddings, tokens, strict=True):
                row = await connection.fetchrow(
                    ADMIT,
                    scope.tenant,
                    collection,
                    *placed(scope.tenant, collection, given),
                    storable(given.text),
                    storable(given.title),
                    json.dumps(dict(given.metadata)),
                    count,
                    space,
                    vector,
                )
                assert row is not None  # noqa: S101 - an upsert returns its row
                kept.append((reference(row), bool(row["fresh"])))
        return kept

    async def indexed(self, scope: Scope, collection: str, points: Sequence[str]) -> list[str]:
        """These are searchable now; those that were removed meanwhile."""
        return await self._change(INDEXED, scope, collection, points)

    async def withdraw(self, scope: Scope, collection: str, points: Sequence[str]) -> list[str]:
        """Those of them that are not searchable are removed; those that are not kept now."""
        return await self._change(WITHDRAW, scope, collection, points)

    async def _change(
        self, statement: str, scope: Scope, collection: str, points: Sequence[str]
    ) -> list[str]:
        """And a search sees it; those that are not kept."""
        where = (scope.tenant, collection, list(points))
        async with transaction(self._pool) as connection:
            await connection.execute(statement, *where)
            rows = await connection.fetch(STAY, *where)
            await bump(connection, scope.tenant)
        return sorted(set(points) - {row["point"] for row in rows})

    async def collections(self, scope: Scope) -> list[Shelf]:
        """The tenant's, by name."""
        with postgres_faults():
            return [Shelf(*row) for row in await self._pool.fetch(SHELVES, scope.tenant)]

    async def remove(self, scope: Scope, collection: str, id: str) -> str | None:  # noqa: A002 - its name
        """Unanswerable from now on: its point; None: not there."""
        async with transaction(self._pool) as connection:
            point: str | None = await connection.fetchval(REMOVE, scope.tenant, collection, id)
            if point is not None:
                await bump(connection, scope.tenant)
        return point

    async def forget(self, points: Sequence[str]) -> bool:
        """Their points are gone. True: some were written anew meanwhile, and wait for a repair."""
        async with transaction(self._pool) as connection:
            await connection.execute(FORGET, list(points))
            return bool(await connection.fetch(ANEW, list(points)))


async def bump(connection: Connection, tenant: str) -> None:
    """A search of this tenant's corpus would see a change."""
    await connection.execute(BUMP, tenant)


def reference(row: asyncpg.Record) -> Reference:
    """A row as what it is."""
    told = {name: row[name] for name in NAMES}
    return Reference(**(told | {"metadata": json.loads(row["metadata"])}))
