"""Embedding spaces (`ibid.space`) and the vectors of a space that `ibid reembed` is building.

`ibid.chunk_next` and `ibid.text_next` hold new vectors beside the current ones until every text has one; then
one transaction swaps them. A row of another tool keeps that tool's vector; the new one goes beside it. A
space's floor is measured when it is first used. Raises `Unavailable`.
"""

from collections.abc import Sequence
from dataclasses import asdict

from app.db.documents import CHUNK, Unembedded
from app.db.pool import Pool, postgres_faults
from app.db.project_text import CODE_INPUT, CONVERSATION_INPUT
from app.db.rows import Connection, transaction
from app.errors import Missing
from app.types import Embedding, Space

# Chunks of a removed document will be deleted. Those of an unfinished document are in the space of the
# service that writes them, and counted too: the swap must not leave them behind.
LACKING = """
    FROM ibid.chunk AS chunk JOIN ibid.document AS document ON document.id = chunk.document_id
    WHERE chunk.space <> $1 AND document.removed_at IS NULL AND NOT EXISTS (
        SELECT FROM ibid.chunk_next AS next
        WHERE next.space = $1 AND next.document_id = chunk.document_id AND next.ordinal = chunk.ordinal)
"""
LACKING_TEXT = """
    FROM {table} AS kept WHERE kept.space <> $1 AND {says} AND NOT EXISTS (
        SELECT FROM ibid.text_next AS next
        WHERE next.space = $1 AND next.kind = '{kind}' AND next.id = kept.{id}::text)
"""
MEMORY, TEXT = (
    {"table": "ibid.memory", "kind": "memory", "id": "id", "title": "''", "says": "true"},
    {"table": "ibid.corpus_text", "kind": "corpus", "id": "point", "title": "kept.title", "says": "true"},
)
ROWS = (CONVERSATION_INPUT, CODE_INPUT)
COUNT = " UNION ALL ".join(
    f"SELECT count(*) {lacking}"
    for lacking in (LACKING, *(LACKING_TEXT.format(**each) for each in (MEMORY, TEXT, *map(asdict, ROWS))))
)
MISSING = (
    f"""
    SELECT chunk.document_id, chunk.ordinal, document.title, chunk.heading, chunk.text, '{CHUNK}' {LACKING}
    ORDER BY chunk.document_id, chunk.ordinal LIMIT $2
    """,
    *(
        f"SELECT kept.{each['id']}, 0, {each['title']}, '', kept.text, '{each['kind']}'"
        f" {LACKING_TEXT.format(**each)} ORDER BY 1 LIMIT $2"
        for each in (MEMORY, TEXT)
    ),
)
MISSING_ROWS = f"SELECT kept.{{id}}::text AS row, {{columns}} {LACKING_TEXT} ORDER BY 1 LIMIT $2"
NOTHING = "…"
"""Embedded for a row without any text, which must not block the swap."""
KEEP_VECTOR = """
    INSERT INTO ibid.chunk_next (space, document_id, ordinal, embedding) VALUES ($1, $2, $3, $4)
    ON CONFLICT (space, document_id, ordinal) DO UPDATE SET embedding = excluded.embedding
"""
KEEP_TEXT = """
    INSERT INTO ibid.text_next (space, kind, id, embedding, memory_id)
    VALUES ($1, $2, $3, $4, CASE WHEN $2 = 'memory' THEN $3 END)
    ON CONFLICT (space, kind, id) DO UPDATE SET embedding = excluded.embedding
"""
MOVE = """
    UPDATE ibid.chunk AS chunk SET embedding = next.embedding, space = next.space FROM ibid.chunk_next AS next
    WHERE next.space = $1 AND next.document_id = chunk.document_id AND next.ordinal = chunk.ordinal
"""
MOVE_TEXT = """
    UPDATE {table} AS kept SET embedding = next.embedding, space = next.space FROM ibid.text_next AS next
    WHERE next.space = $1 AND next.kind = '{kind}' AND next.id = kept.{id}
"""
# Our vector is in `embedding` if the column's type allows it; only we write a hash (emptied if another tool
# overwrites the row: alembic 0012). A row's terms are keyed by its version, and stay valid.
MOVE_ROW = """
    WITH allowed AS (
        SELECT atttypmod IN (-1, $2) AS any_of_ours FROM pg_attribute
        WHERE attrelid = '{table}'::regclass AND attname = 'embedding'
    ),
    before AS MATERIALIZED (
        SELECT kept.{id} AS id, kept.xmin::text AS seen, next.embedding AS made,
            kept.sha256 NOT IN ('', 'row ') AND kept.embedding_ibid IS NULL AND allowed.any_of_ours AS inside
        FROM {table} AS kept CROSS JOIN allowed
        JOIN ibid.text_next AS next ON next.space = $1 AND next.kind = '{kind}' AND next.id = kept.{id}::text
        WHERE kept.space <> $1
    ),
    after AS (
        UPDATE {table} AS kept SET space = $1,
            embedding = CASE WHEN before.inside THEN before.made ELSE kept.embedding END,
            embedding_ibid = CASE WHEN before.inside THEN NULL ELSE before.made END
        FROM before WHERE before.id = kept.{id} RETURNING before.id::text AS id, before.seen
    )
    UPDATE ibid.project_words AS words SET seen = pg_current_xact_id()::xid::text FROM after
    WHERE words.kind = '{words}' AND words.id = after.id AND words.seen = after.seen
"""
SILENT = """
    UPDATE {table} SET space = NULL, embedding_ibid = NULL WHERE space <> $1 AND NOT {says}
"""
RECORD = """
    INSERT INTO ibid.space (name, model, dim, floor) VALUES ($1, $2, $3, $4)
    ON CONFLICT (name) DO UPDATE SET floor = excluded.floor
"""
LOCK = """
    LOCK TABLE ibid.chunk, ibid.memory, ibid.corpus_text, public.conversation_index, public.code_index
    IN SHARE ROW EXCLUSIVE MODE
"""
TIDY = (
    "INSERT INTO ibid.outbox (engine) VALUES ('qdrant'), ('chroma')",
    "DELETE FROM ibid.chunk_next",
    "DELETE FROM ibid.text_next",
    "UPDATE ibid.part SET version = version + 1",
    "UPDATE ibid.memory_user SET version = version + 1",
    "UPDATE ibid.collection_version SET version = version + 1",
)
MOVE_SECONDS = 600.0


class VectorStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def count(self, space: str) -> int:
        with postgres_faults():
            return sum(row[0] for row in await self._pool.fetch(COUNT, space))

    async def missing(self, space: str, limit: int) -> list[Unembedded]:
        for statement in MISSING:
            with postgres_faults():
                rows = await self._pool.fetch(statement, space, limit)
            if rows:
                return [Unembedded(*row) for row in rows]
        for kept in ROWS:
            with postgres_faults():
                rows = await self._pool.fetch(MISSING_ROWS.format(**asdict(kept)), space, limit)
            if rows:
                return [Unembedded(row[0], 0, "", "", kept.text(row) or NOTHING, kept.kind) for row in rows]
        return []

    async def keep(self, space: str, texts: Sequence[Unembedded], embeddings: Sequence[Embedding]) -> None:
        pairs = list(zip(texts, embeddings, strict=True))
        chunks = [(space, text.id, text.ordinal, each) for text, each in pairs if text.kind == CHUNK]
        others = [(space, text.kind, text.id, each) for text, each in pairs if text.kind != CHUNK]
        async with transaction(self._pool) as connection:
            await connection.executemany(KEEP_VECTOR, chunks)
            await connection.executemany(KEEP_TEXT, others)

    async def swap(self, space: Space) -> bool:
        """Make the new vectors current, in one transaction. False: some texts have none yet."""
        async with transaction(self._pool) as connection:
            await connection.execute(LOCK)
            if sum(row[0] for row in await connection.fetch(COUNT, space.name)):
                return False
            await moved(connection, space)
            await connection.execute(RECORD, space.name, space.model, space.dim, space.floor)
            await connection.execute(LEAVE, space.name)
            await connection.execute(ENTER, space.name)
            return True


async def moved(connection: Connection, space: Space) -> None:
    """Replace the vectors and raise all versions, which invalidates caches."""
    for statement in (MOVE, *(MOVE_TEXT.format(**each) for each in (MEMORY, TEXT))):
        await connection.execute(statement, space.name, timeout=MOVE_SECONDS)
    for row in ROWS:
        await connection.execute(MOVE_ROW.format(**asdict(row)), space.name, space.dim, timeout=MOVE_SECONDS)
        await connection.execute(SILENT.format(**asdict(row)), space.name, timeout=MOVE_SECONDS)
    for statement in TIDY:
        await connection.execute(statement, timeout=MOVE_SECONDS)


CURRENT = "SELECT name, model, dim, floor FROM ibid.space WHERE current"
KEEP = "INSERT INTO ibid.space (name, model, dim, floor) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
LEAVE = "UPDATE ibid.space SET current = false WHERE current AND name <> $1"
ENTER = "UPDATE ibid.space SET current = true WHERE name = $1 RETURNING name"
VECTORS = """
    SELECT (SELECT count(*) FROM ibid.chunk WHERE space = $1)
        + (SELECT count(*) FROM ibid.memory WHERE space = $1)
        + (SELECT count(*) FROM ibid.corpus_text WHERE space = $1)
        + (SELECT count(*) FROM public.conversation_index WHERE space = $1)
        + (SELECT count(*) FROM public.code_index WHERE space = $1)
"""


async def read_spaces(pool: Pool) -> list[str]:
    with postgres_faults():
        return [row[0] for row in await pool.fetch("SELECT name FROM ibid.space")]


class SpaceStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def current(self) -> Space | None:
        with postgres_faults():
            row = await self._pool.fetchrow(CURRENT)
        return Space(**row) if row else None

    async def keep(self, space: Space) -> None:
        """Record a space; an existing one keeps its floor."""
        with postgres_faults():
            await self._pool.execute(KEEP, space.name, space.model, space.dim, space.floor)

    async def make_current(self, name: str) -> None:
        """Write vectors in this space from now on. `Missing`: unknown space."""
        async with transaction(self._pool) as connection:
            await connection.execute(LEAVE, name)
            if not await connection.fetchval(ENTER, name):
                raise Missing("there is no such embedding space")

    async def vectors_in(self, name: str) -> int:
        with postgres_faults():
            return int(await self._pool.fetchval(VECTORS, name))
