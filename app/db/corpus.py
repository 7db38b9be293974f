"""Reference texts (`ibid.corpus_text`): collections shared by all users of a tenant.

A text is keyed (tenant, collection, id); its point in Qdrant is a UUIDv5 of the key. It is searchable once
its transaction is committed. Writers of one collection take turns; an id again replaces. Raises
`Unavailable`, `NoRoom`, `TooMany`, `InvalidField`.
"""

import asyncio
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime

import asyncpg

from app.db.pool import Pool
from app.db.rows import Connection, closed, opened, storable, take_turns, transaction
from app.errors import TooMany
from app.text.terms import encode_terms
from app.types import Embedding, Scope


@dataclass(frozen=True, slots=True)
class Reference:
    point: str
    """Id of its point, a UUID."""
    id: str
    text: str
    tokens: int
    created_at: datetime
    title: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Shown in citations and `memory_used`; kind, origin (or source), url and tags also as fields of their
    own."""


METADATA_BYTES = 8 << 10
"""Most bytes of a text's metadata as JSON: every citation contains it."""
MAX_COLLECTIONS = 100
"""Most collections of a tenant: each costs the engine threads and files, and every search a part."""
IDS = uuid.UUID("0d5c2c0e-9a53-5d0e-8a43-2c0f7be1a1c4")
"""UUIDv5 namespace of the corpus's points."""


@dataclass(frozen=True, slots=True)
class ReferenceDraft:
    """A text to store. Without an id, its id derives from its text: the same text again replaces."""

    text: str
    id: str | None = None
    title: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CollectionFigures:
    collection: str
    texts: int
    tokens: int
    updated_at: datetime


def placed(tenant: str, collection: str, given: ReferenceDraft) -> tuple[str, str]:
    what = ("", given.text) if given.id is None else (given.id,)
    point = str(uuid.uuid5(IDS, "\x1f".join((tenant, collection, *what))))
    return given.id or point, point


NAMES = tuple(item.name for item in fields(Reference))
COLUMNS = ", ".join(NAMES)
CLEAR_SECONDS = 60.0
"""Deadline of a statement on a whole collection."""
# xmax is 0 where a row is new.
# A vector that a broken-off re-embedding made is of the former text.
ADMIT = f"""
    WITH former AS (DELETE FROM ibid.text_next WHERE kind = 'corpus' AND id = $4)
    INSERT INTO ibid.corpus_text (tenant, collection, id, point, text, title, metadata, tokens, space,
        embedding, revision, terms, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, coalesce($13, now()))
    ON CONFLICT (tenant, collection, id) DO UPDATE SET text = excluded.text, title = excluded.title,
        metadata = excluded.metadata, tokens = excluded.tokens, space = excluded.space,
        embedding = excluded.embedding, revision = excluded.revision, terms = excluded.terms,
        created_at = excluded.created_at
    RETURNING {COLUMNS}, xmax = 0 AS fresh
"""  # noqa: S608 - constants of ours
REVISION = "SELECT nextval('ibid.revision')"
REMOVE = """
    DELETE FROM ibid.corpus_text WHERE tenant = $1 AND collection = $2 AND id = $3 RETURNING true
"""
CLEAR = """
    WITH gone AS (DELETE FROM ibid.corpus_text WHERE tenant = $1 AND collection = $2 RETURNING 1)
    SELECT count(*) FROM gone
"""
ONE_MORE = """
    SELECT count(*) FILTER (WHERE collection = $2) = 0 AND count(*) >= $3
    FROM (SELECT DISTINCT collection FROM ibid.corpus_text WHERE tenant = $1) AS had
"""
HAD = """
    SELECT EXISTS (SELECT FROM ibid.corpus_text WHERE tenant = $1 AND collection = $2)
"""
BUMP = """
    INSERT INTO ibid.collection_version AS known (tenant, collection, version) VALUES ($1, $2, 1)
    ON CONFLICT (tenant, collection) DO UPDATE SET version = known.version + 1
"""
COLLECTIONS = """
    SELECT collection, count(*), sum(tokens)::bigint, max(created_at) FROM ibid.corpus_text
    WHERE tenant = $1 GROUP BY collection ORDER BY collection COLLATE "C"
"""
TEXTS = f"""
    SELECT {COLUMNS} FROM ibid.corpus_text
    WHERE tenant = $1 AND collection = $2 AND id > $3 ORDER BY id LIMIT $4
"""  # noqa: S608 - constants of ours


class CorpusStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def admit(
        self,
        scope: Scope,
        collection: str,
        texts: Sequence[ReferenceDraft],
        embeddings: Sequence[Embedding],
        tokens: Sequence[int],
        *,
        space: str,
    ) -> list[tuple[Reference, bool]]:
        """Write all or none; an id again replaces. Returns (text, True if new). `TooMany`: the tenant has
        MOST collections already."""
        kept = []
        terms = await asyncio.to_thread(packed, texts)
        self._pool.check_room(sum(map(len, (*terms, *embeddings, *(given.text for given in texts)))))
        async with transaction(self._pool) as connection:
            await self._permit(connection, scope.tenant, collection)
            await take_turns(connection, "ibid.corpus", scope.tenant, collection)
            revision = await connection.fetchval(REVISION)
            for given, vector, count, found in zip(texts, embeddings, tokens, terms, strict=True):
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
                    found,
                    given.created_at,
                )
                assert row is not None  # noqa: S101 - an upsert returns its row
                kept.append((reference(row), bool(row["fresh"])))
            await bump(connection, scope.tenant, collection)
        return kept

    async def _permit(self, connection: Connection, tenant: str, collection: str) -> None:
        """Raise `TooMany` for one collection too many; writers that begin one take turns."""
        if await connection.fetchval(HAD, tenant, collection):
            return
        await take_turns(connection, "ibid.corpora", tenant)
        if await connection.fetchval(ONE_MORE, tenant, collection, MAX_COLLECTIONS):
            raise TooMany(f"there are {MAX_COLLECTIONS} collections; remove one, or write to one of them")

    async def collections(self, scope: Scope) -> list[CollectionFigures]:
        with self._pool.asking():
            return [CollectionFigures(*row) for row in await self._pool.fetch(COLLECTIONS, scope.tenant)]

    async def texts(
        self, scope: Scope, collection: str, *, cursor: str | None, limit: int
    ) -> tuple[list[Reference], str | None]:
        after = opened(cursor)[1] if cursor else ""
        with self._pool.asking():
            rows = await self._pool.fetch(TEXTS, scope.tenant, collection, after, limit + 1)
        found = [reference(row) for row in rows[:limit]]
        return found, closed(found[-1].created_at, found[-1].id) if len(rows) > limit else None

    async def remove(self, scope: Scope, collection: str, id: str) -> bool:  # noqa: A002 - its name
        async with transaction(self._pool) as connection:
            gone = bool(await connection.fetchval(REMOVE, scope.tenant, collection, id))
            if gone:
                await bump(connection, scope.tenant, collection)
        return gone

    async def clear(self, scope: Scope, collection: str) -> int:
        async with transaction(self._pool) as connection:
            gone: int = await connection.fetchval(CLEAR, scope.tenant, collection, timeout=CLEAR_SECONDS)
            if gone:
                await bump(connection, scope.tenant, collection)
        return gone


def packed(texts: Sequence[ReferenceDraft]) -> list[bytes]:
    return [
        encode_terms(f"{storable(given.title)}\n{storable(given.text)}", storable(given.text))
        for given in texts
    ]


async def bump(connection: Connection, tenant: str, collection: str) -> None:
    await connection.execute(BUMP, tenant, collection)


def reference(row: asyncpg.Record) -> Reference:
    columns = {name: row[name] for name in NAMES}
    return Reference(**(columns | {"metadata": json.loads(row["metadata"])}))
