"""Vectors of a space in the making, beside the current ones, and the swap (ports.Vectors).

Of chunks, memories and reference texts: `ibid.chunk_next` and `ibid.text_next` hold them until everything has
one. Raises `Unavailable` when Postgres is away.
"""

from collections.abc import Sequence

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.document import CHUNK, Unembedded
from app.domain.passage import Embedding
from app.domain.space import Space
from app.stores.transaction import Connection, transaction

# A chunk of a removed document is on its way out; one of a document still in work is written in the space
# of the service that writes it, and counted here too: the swap must not leave it behind.
LACKING = """
    FROM ibid.chunk AS chunk JOIN ibid.document AS document ON document.id = chunk.document_id
    WHERE chunk.space <> $1 AND document.removed_at IS NULL AND NOT EXISTS (
        SELECT FROM ibid.chunk_next AS next
        WHERE next.space = $1 AND next.document_id = chunk.document_id AND next.ordinal = chunk.ordinal)
"""
LACKING_TEXT = """
    FROM {table} AS kept WHERE kept.space <> $1 AND kept.removed_at IS NULL AND NOT EXISTS (
        SELECT FROM ibid.text_next AS next
        WHERE next.space = $1 AND next.kind = '{kind}' AND next.id = kept.{id})
"""
MEMORY, TEXT = (
    {"table": "ibid.memory", "kind": "memory", "id": "id", "title": "''"},
    {"table": "ibid.corpus_text", "kind": "corpus", "id": "point", "title": "kept.title"},
)
COUNT = " UNION ALL ".join(
    f"SELECT count(*) {lacking}"
    for lacking in (LACKING, *(LACKING_TEXT.format(**each) for each in (MEMORY, TEXT)))
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
KEEP = """
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
RECORD = """
    INSERT INTO ibid.space (name, model, dim, floor) VALUES ($1, $2, $3, $4)
    ON CONFLICT (name) DO UPDATE SET floor = excluded.floor
"""
LOCK = "LOCK TABLE ibid.chunk, ibid.memory, ibid.corpus_text IN SHARE ROW EXCLUSIVE MODE"
TIDY = (
    "DELETE FROM ibid.chunk_next",
    "DELETE FROM ibid.text_next",
    "UPDATE ibid.part SET version = version + 1",
    "UPDATE ibid.memory_user SET version = version + 1",
    "UPDATE ibid.corpus_version SET version = version + 1",
)
MOVE_SECONDS = 600.0


class VectorStore:
    """Keeps ports.Vectors."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def count(self, space: str) -> int:
        """Texts without a vector in `space`."""
        with postgres_faults():
            return sum(row[0] for row in await self._pool.fetch(COUNT, space))

    async def missing(self, space: str, limit: int) -> list[Unembedded]:
        """The first `limit` of them, of one kind."""
        for statement in MISSING:
            with postgres_faults():
                rows = await self._pool.fetch(statement, space, limit)
            if rows:
                return [Unembedded(*row) for row in rows]
        return []

    async def keep(self, space: str, texts: Sequence[Unembedded], embeddings: Sequence[Embedding]) -> None:
        """Keep vectors beside the current ones."""
        pairs = list(zip(texts, embeddings, strict=True))
        chunks = [(space, text.id, text.ordinal, each) for text, each in pairs if text.kind == CHUNK]
        others = [(space, text.kind, text.id, each) for text, each in pairs if text.kind != CHUNK]
        async with transaction(self._pool) as connection:
            await connection.executemany(KEEP, chunks)
            await connection.executemany(KEEP_TEXT, others)

    async def swap(self, space: Space) -> bool:
        """All or none; writers wait meanwhile."""
        async with transaction(self._pool) as connection:
            await connection.execute(LOCK)
            if sum(row[0] for row in await connection.fetch(COUNT, space.name)):
                return False
            await moved(connection, space.name)
            await connection.execute(RECORD, space.name, space.model, space.dim, space.floor)
            await connection.execute(
                "UPDATE ibid.space SET current = false WHERE current AND name <> $1", space.name
            )
            await connection.execute("UPDATE ibid.space SET current = true WHERE name = $1", space.name)
            return True


async def moved(connection: Connection, space: str) -> None:
    """The new vectors become the vectors; every cache is out of date."""
    for statement in (MOVE, *(MOVE_TEXT.format(**each) for each in (MEMORY, TEXT))):
        await connection.execute(statement, space, timeout=MOVE_SECONDS)
    for statement in TIDY:
        await connection.execute(statement, timeout=MOVE_SECONDS)
