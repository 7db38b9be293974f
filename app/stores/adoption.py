"""Rows of conversation_index and code_index that older tools wrote, taken over (`domain/adoption.Rows`).

Read block by block, so that a table of any size costs one reading; written version by version, so that two
runs at once, or a tool that writes meanwhile, are never in each other's way. `embedding` is never written.
A row's words, analysed before, stay known for the version that it becomes. Raises `Unavailable`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence

import asyncpg

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.adoption import Foreign, Older, Table
from app.domain.passage import Embedding
from app.domain.space import Space
from app.stores.projects import CODE, CONVERSATION, Kept
from app.stores.transaction import transaction

KINDS: Mapping[str, Kept] = {kept.table: kept for kept in (CONVERSATION, CODE)}
BLOCKS = 8
"""Of 8 kB, read at a time: some hundred rows."""
COUNT_SECONDS = 600.0
"""For a whole table to be read."""
FITS = """
    coalesce(embedding_ibid IS NULL AND vector_dims(embedding) = $1 AND vector_norm(embedding) > 0, false)
"""
"""Not where the vector is of older words (a [0] beside it, alembic 0012)."""
STANDS = """
    SELECT count(*) AS rows, count(*) FILTER (WHERE space = $2) AS ours,
        count(*) FILTER (WHERE space <> $2) AS elsewhere,
        count(*) FILTER (WHERE space IS NULL AND {says} AND {fits}) AS fitting,
        count(*) FILTER (WHERE space IS NULL AND {says} AND NOT {fits}) AS strange,
        count(*) FILTER (WHERE space IS NULL AND NOT {says}) AS silent
    FROM {table}
"""
SAMPLE = """
    SELECT {columns}, embedding FROM {table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM {table} WHERE space IS NULL AND {says} AND {fits} ORDER BY random() LIMIT $2))
"""
SIZE = "SELECT pg_relation_size($1::text::regclass) / current_setting('block_size')::int"
OPEN = """
    SELECT ctid::text AS place, xmin::text AS seen, {id}::text AS id, {fits} AS fits, {columns} FROM {table}
    WHERE ctid >= $2::text::tid AND ctid < $3::text::tid AND space IS NULL AND {says}
"""
TAKE = """
    WITH given AS (
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::vector[]) AS row (place, seen, id, made)
    ),
    taken AS (
        UPDATE {table} AS kept SET space = $5, embedding_ibid = given.made FROM given
        WHERE kept.ctid = given.place::tid AND kept.xmin::text = given.seen
        AND kept.{id}::text IS NOT DISTINCT FROM given.id AND kept.space IS NULL
        RETURNING given.id, given.seen
    ),
    known AS (
        UPDATE ibid.project_words AS words SET seen = pg_current_xact_id()::xid::text FROM taken
        WHERE words.kind = '{words}' AND words.id = taken.id AND words.seen = taken.seen
    )
    SELECT count(*) FROM taken
"""
OLDER = """
    SELECT (SELECT count(*) FROM public.chat_log WHERE answer_id IS NULL),
        (SELECT count(*) FROM public.vantage_answer_trace AS trace
            WHERE NOT EXISTS (SELECT FROM ibid.answer WHERE id = trace.answer_id::text))
"""


class AdoptionStore:
    """See the module."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @property
    def tables(self) -> Sequence[str]:
        """Their names."""
        return tuple(KINDS)

    async def stands(self, table: str, space: Space) -> Table:
        """In figures."""
        with postgres_faults():
            row = await self._pool.fetchrow(said(STANDS, table), space.dim, space.name, timeout=COUNT_SECONDS)
        assert row is not None  # noqa: S101 - a count is one row
        return Table(table, **row)

    async def sample(self, table: str, space: Space, limit: int) -> list[tuple[str, Embedding]]:
        """By chance: rows written one after the other are alike."""
        with postgres_faults():
            rows = await self._pool.fetch(said(SAMPLE, table), space.dim, limit, timeout=COUNT_SECONDS)
        return [(text, row["embedding"]) for row in rows if (text := KINDS[table].text(row))]

    async def open(self, table: str, space: Space) -> AsyncIterator[list[Foreign]]:
        """Block by block; what is taken moves to the end, and is passed over there."""
        block = 0
        while block < await self._blocks(table):
            with postgres_faults():
                rows = await self._pool.fetch(
                    said(OPEN, table), space.dim, f"({block},0)", f"({block + BLOCKS},0)"
                )
            if found := [foreign(row, KINDS[table]) for row in rows]:
                yield found
            block += BLOCKS

    async def _blocks(self, table: str) -> int:
        """As many as it has by now."""
        with postgres_faults():
            return int(await self._pool.fetchval(SIZE, table))

    async def take(
        self, table: str, space: Space, rows: Sequence[Foreign], embeddings: Sequence[Embedding | None]
    ) -> int:
        """In one step."""
        places = [[row.place for row in rows], [row.seen for row in rows], [row.id for row in rows]]
        async with transaction(self._pool) as connection:
            return int(await connection.fetchval(said(TAKE, table), *places, list(embeddings), space.name))

    async def older(self) -> Older:
        """Turns without an answer of ours, traces without one."""
        with postgres_faults():
            row = await self._pool.fetchrow(OLDER, timeout=COUNT_SECONDS)
        assert row is not None  # noqa: S101 - two counts are one row
        return Older(*row)


def said(statement: str, table: str) -> str:
    """A statement of one table."""
    kept = KINDS[table]
    return statement.format(
        table=kept.table, id=kept.id, columns=kept.columns, says=kept.says, words=kept.words, fits=FITS
    )


def foreign(row: asyncpg.Record, kept: Kept) -> Foreign:
    """A row as it is read."""
    return Foreign(row["place"], row["seen"], row["id"], kept.text(row), row["fits"])
