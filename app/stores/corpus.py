"""The record of the corpus (`domain/corpus.Corpus`): `ibid.corpus_text`, and the version of each tenant's.

A row is a text of the corpus once `indexed_at` is set and until `removed_at` is, as in `memories.py`. Writers
of one collection take turns; an id again replaces. Raises `Unavailable`, `NoRoom`, `TooMany`,
`InvalidField`.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields

import asyncpg

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.corpus import MOST, Given, Reference, Shelf, placed
from app.domain.errors import TooMany
from app.domain.passage import Embedding, Scope
from app.domain.revision import Marked
from app.stores.cursor import closed, opened
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
        embedding, revision)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT (tenant, collection, id) DO UPDATE SET text = excluded.text, title = excluded.title,
        metadata = excluded.metadata, tokens = excluded.tokens, space = excluded.space,
        embedding = excluded.embedding, revision = excluded.revision, created_at = now(),
        indexed_at = NULL, removed_at = NULL
    RETURNING {COLUMNS}, xmax = 0 OR EXISTS (SELECT FROM gone) AS fresh
"""  # noqa: S608 - constants of ours
REVISION = "SELECT nextval('ibid.revision')"
THESE = """
    FROM unnest($3::text[], $4::bigint[]) AS put (name, seen)
    WHERE tenant = $1 AND collection = $2 AND point = name AND removed_at IS NULL
"""
INDEXED = f"UPDATE ibid.corpus_text SET indexed_at = now() {THESE} AND revision = seen"  # noqa: S608
# An older text may lie over these in the index.
NEWER = f"""
    UPDATE ibid.corpus_text SET indexed_at = NULL {THESE} AND revision <> seen
    RETURNING {COLUMNS}, embedding
"""  # noqa: S608 - constants of ours
WITHDRAW = f"""
    UPDATE ibid.corpus_text SET removed_at = now() {THESE}
    AND revision = seen AND indexed_at IS NULL AND point = ANY($5)
"""  # noqa: S608 - constants of ours
STAY = """
    SELECT point FROM ibid.corpus_text
    WHERE tenant = $1 AND collection = $2 AND point = ANY($3) AND removed_at IS NULL
"""
REMOVE = """
    UPDATE ibid.corpus_text SET removed_at = now()
    WHERE tenant = $1 AND collection = $2 AND id = $3 AND removed_at IS NULL RETURNING point
"""
CLEAR = """
    UPDATE ibid.corpus_text SET removed_at = now()
    WHERE tenant = $1 AND collection = $2 AND removed_at IS NULL RETURNING point
"""
ONE_MORE = """
    SELECT count(*) FILTER (WHERE collection = $2) = 0 AND count(*) >= $3
    FROM (SELECT DISTINCT collection FROM ibid.corpus_text WHERE tenant = $1 AND removed_at IS NULL) AS had
"""
HAD = """
    SELECT EXISTS (SELECT FROM ibid.corpus_text WHERE tenant = $1 AND collection = $2 AND removed_at IS NULL)
"""
MINE = "SELECT EXISTS (SELECT FROM ibid.corpus_text WHERE tenant = $1 AND collection = $2)"
USED = "SELECT EXISTS (SELECT FROM ibid.corpus_text WHERE collection = $1)"
SHARED = "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))"
FORGET = "DELETE FROM ibid.corpus_text WHERE point = ANY($1) AND removed_at IS NOT NULL"
ANEW = "UPDATE ibid.corpus_text SET indexed_at = NULL WHERE point = ANY($1) RETURNING point"
BUMP = """
    INSERT INTO ibid.collection_version AS known (tenant, collection, version) VALUES ($1, $2, 1)
    ON CONFLICT (tenant, collection) DO UPDATE SET version = known.version + 1
"""
SHELVES = f"""
    SELECT collection, count(*), sum(tokens)::bigint, max(created_at) FROM ibid.corpus_text
    WHERE tenant = $1 AND {STANDS} GROUP BY collection ORDER BY collection COLLATE "C"
"""  # noqa: S608 - constants of ours
TEXTS = f"""
    SELECT {COLUMNS} FROM ibid.corpus_text
    WHERE tenant = $1 AND collection = $2 AND id > $3 AND {STANDS} ORDER BY id LIMIT $4
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
            await connection.execute(SHARED, shelf(collection))
            await self._permit(connection, scope.tenant, collection)
            await turn(connection, scope, collection)
            revision = await connection.fetchval(REVISION)
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
                    revision,
                )
                assert row is not None  # noqa: S101 - an upsert returns its row
                kept.append((reference(row), bool(row["fresh"])))
        return kept

    async def _permit(self, connection: Connection, tenant: str, collection: str) -> None:
        """Not one collection more than there may be; whoever begins one waits for the tenant's others."""
        if await connection.fetchval(HAD, tenant, collection):
            return
        await connection.execute(LOCK, "\x1f".join(("ibid.corpora", tenant)))
        if await connection.fetchval(ONE_MORE, tenant, collection, MOST):
            raise TooMany(f"there are {MOST} collections; remove one, or write to one of them")

    async def indexed(self, scope: Scope, collection: str, texts: Sequence[Reference]) -> Marked[Reference]:
        """Searchable now; those that were removed or replaced meanwhile."""
        return await self._change(INDEXED, scope, collection, texts)

    async def withdraw(
        self, scope: Scope, collection: str, texts: Sequence[Reference], *, new: Sequence[str]
    ) -> Sequence[str]:
        """Those of the new ones that are not searchable are removed; those that are not kept now."""
        return (await self._change(WITHDRAW, scope, collection, texts, list(new))).gone

    async def _change(
        self, statement: str, scope: Scope, collection: str, texts: Sequence[Reference], *more: list[str]
    ) -> Marked[Reference]:
        """And a search sees it."""
        points, seen = [text.point for text in texts], [text.revision for text in texts]
        async with transaction(self._pool) as connection:
            await turn(connection, scope, collection)
            await connection.execute(statement, scope.tenant, collection, points, seen, *more)
            newer = await connection.fetch(NEWER, scope.tenant, collection, points, seen)
            rows = await connection.fetch(STAY, scope.tenant, collection, points)
            await bump(connection, scope.tenant, collection)
        gone = sorted(set(points) - {row["point"] for row in rows})
        return Marked(gone, [(reference(row), row["embedding"]) for row in newer])

    async def collections(self, scope: Scope) -> list[Shelf]:
        """The tenant's, by name."""
        with postgres_faults():
            return [Shelf(*row) for row in await self._pool.fetch(SHELVES, scope.tenant)]

    async def texts(
        self, scope: Scope, collection: str, *, cursor: str | None, limit: int
    ) -> tuple[list[Reference], str | None]:
        """The tenant's in a collection by id, and the cursor of the next page. `InvalidField`: the cursor."""
        after = opened(cursor)[1] if cursor else ""
        with postgres_faults():
            rows = await self._pool.fetch(TEXTS, scope.tenant, collection, after, limit + 1)
        found = [reference(row) for row in rows[:limit]]
        return found, closed(found[-1].created_at, found[-1].id) if len(rows) > limit else None

    async def remove(self, scope: Scope, collection: str, id: str) -> str | None:  # noqa: A002 - its name
        """Unanswerable from now on: its point; None: not there."""
        async with transaction(self._pool) as connection:
            point: str | None = await connection.fetchval(REMOVE, scope.tenant, collection, id)
            if point is not None:
                await bump(connection, scope.tenant, collection)
        return point

    async def clear(self, scope: Scope, collection: str) -> list[str]:
        """All of the tenant's in it are unanswerable from now on: their points."""
        async with transaction(self._pool) as connection:
            points = [row["point"] for row in await connection.fetch(CLEAR, scope.tenant, collection)]
            if points:
                await bump(connection, scope.tenant, collection)
        return points

    async def vacate(self, scope: Scope, collection: str, drop: Callable[[], Awaitable[None]]) -> bool:
        """Dropped where nobody's text is in it."""
        async with transaction(self._pool) as connection:
            if await connection.fetchval(MINE, scope.tenant, collection):
                return False  # mostly: without a lock, and without a look at all tenants' rows
            await connection.execute(LOCK, shelf(collection))
            if await connection.fetchval(USED, collection):
                return False
            await drop()
        return True

    async def forget(self, points: Sequence[str]) -> bool:
        """Their points are gone. True: some were written anew meanwhile, and wait for a repair."""
        async with transaction(self._pool) as connection:
            await connection.execute(FORGET, list(points))
            return bool(await connection.fetch(ANEW, list(points)))


def shelf(collection: str) -> str:
    """What writers of a collection hold together, and who drops it alone."""
    return f"ibid.shelf\x1f{collection}"


async def turn(connection: Connection, scope: Scope, collection: str) -> None:
    """Writers of one collection follow one another until the transaction ends."""
    await connection.execute(LOCK, "\x1f".join(("ibid.corpus", scope.tenant, collection)))


async def bump(connection: Connection, tenant: str, collection: str) -> None:
    """A search of this collection would see a change."""
    await connection.execute(BUMP, tenant, collection)


def reference(row: asyncpg.Record) -> Reference:
    """A row as what it is."""
    told = {name: row[name] for name in NAMES}
    return Reference(**(told | {"metadata": json.loads(row["metadata"])}))
