"""Vectors of a space in the making, beside the current ones, and the swap (ports.Vectors).

`ibid.chunk_next` holds them until every chunk has one. Raises `Unavailable` when Postgres is away.
"""

from collections.abc import Sequence

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.document import Unembedded
from app.domain.passage import Embedding
from app.domain.space import Space
from app.stores.transaction import transaction

# A chunk of a removed document is on its way out; one of a document still in work is written in the space
# of the service that writes it, and counted here too: the swap must not leave it behind.
LACKING = """
    FROM ibid.chunk AS chunk JOIN ibid.document AS document ON document.id = chunk.document_id
    WHERE chunk.space <> $1 AND document.removed_at IS NULL AND NOT EXISTS (
        SELECT FROM ibid.chunk_next AS next
        WHERE next.space = $1 AND next.document_id = chunk.document_id AND next.ordinal = chunk.ordinal)
"""
MISSING = f"""
    SELECT chunk.document_id, chunk.ordinal, document.title, chunk.heading, chunk.text {LACKING}
    ORDER BY chunk.document_id, chunk.ordinal LIMIT $2
"""
KEEP = """
    INSERT INTO ibid.chunk_next (space, document_id, ordinal, embedding) VALUES ($1, $2, $3, $4)
    ON CONFLICT (space, document_id, ordinal) DO UPDATE SET embedding = excluded.embedding
"""
MOVE = """
    UPDATE ibid.chunk AS chunk SET embedding = next.embedding, space = next.space FROM ibid.chunk_next AS next
    WHERE next.space = $1 AND next.document_id = chunk.document_id AND next.ordinal = chunk.ordinal
"""
RECORD = """
    INSERT INTO ibid.space (name, model, dim, floor) VALUES ($1, $2, $3, $4)
    ON CONFLICT (name) DO UPDATE SET floor = excluded.floor
"""


class VectorStore:
    """Keeps ports.Vectors."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def count(self, space: str) -> int:
        """Chunks without a vector in `space`."""
        with postgres_faults():
            return int(await self._pool.fetchval(f"SELECT count(*) {LACKING}", space))

    async def missing(self, space: str, limit: int) -> list[Unembedded]:
        """The first `limit` of them."""
        with postgres_faults():
            return [Unembedded(*row) for row in await self._pool.fetch(MISSING, space, limit)]

    async def keep(self, space: str, texts: Sequence[Unembedded], embeddings: Sequence[Embedding]) -> None:
        """Keep vectors beside the current ones."""
        rows = [
            (space, text.document_id, text.ordinal, vector)
            for text, vector in zip(texts, embeddings, strict=True)
        ]
        async with transaction(self._pool) as connection:
            await connection.executemany(KEEP, rows)

    async def swap(self, space: Space) -> bool:
        """All or none; writers of chunks wait meanwhile."""
        async with transaction(self._pool) as connection:
            await connection.execute("LOCK TABLE ibid.chunk IN SHARE ROW EXCLUSIVE MODE")
            if await connection.fetchval(f"SELECT EXISTS (SELECT 1 {LACKING})", space.name):
                return False
            await connection.execute(MOVE, space.name, timeout=600)
            await connection.execute("DELETE FROM ibid.chunk_next")
            await connection.execute(RECORD, space.name, space.model, space.dim, space.floor)
            await connection.execute(
                "UPDATE ibid.space SET current = false WHERE current AND name <> $1", space.name
            )
            await connection.execute("UPDATE ibid.space SET current = true WHERE name = $1", space.name)
            await connection.execute("UPDATE ibid.part SET version = version + 1")
            return True
