"""A document's life behind the door, as the background work moves it: read, ready, failed, purged.

Every step is one transaction, safe to repeat, and quiet about a document that is gone: a job that was killed
is leased again and starts over. Raises `Missing` (removed under the work), `Unavailable`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.document import Document, Fault, Parsed, Part, indexed_text
from app.domain.errors import Missing
from app.domain.passage import Embedding
from app.retrieval.postings import pack
from app.stores.part import bump, enqueue, hold
from app.stores.reach import COLUMNS, document
from app.stores.text import storable
from app.stores.transaction import Connection, transaction

COPY_SECONDS = 300.0
DELETE_SECONDS = 300.0
"""A file of 4 GiB is two million TOAST rows."""

PLACED = f"SELECT {COLUMNS}, tenant, owner FROM ibid.document WHERE id = $1 AND removed_at IS NULL"  # noqa: S608
NAMED = "SELECT filename FROM ibid.document WHERE id = $1 AND removed_at IS NULL"
FACTS = """
    UPDATE ibid.document SET pages = $2, chunks = $3, tokens = $4, title = $5
    WHERE id = $1 AND removed_at IS NULL AND state <> 'failed' RETURNING id
"""
KEPT = "SELECT embedding FROM ibid.chunk WHERE document_id = $1 AND space = $2 ORDER BY ordinal"
# Only one that is being read: ready twice is ready once.
READ = """
    SELECT filename, created_at FROM ibid.document
    WHERE id = $1 AND removed_at IS NULL AND state = 'processing' FOR UPDATE
"""
NAMESAKES = """
    SELECT id, created_at FROM ibid.document
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND filename = $4
    AND state = 'ready' AND removed_at IS NULL
"""
READY = "UPDATE ibid.document SET state = 'ready', ready_at = now() WHERE id = $1"
GONE = "UPDATE ibid.document SET removed_at = now() WHERE id = $1"
FAILED = """
    UPDATE ibid.document SET state = 'failed', fault_slug = $2, fault_detail = $3, chunks = 0, tokens = 0
    WHERE id = $1 AND removed_at IS NULL AND state = 'processing' RETURNING id
"""
SIZE = "SELECT size FROM ibid.document WHERE id = $1 AND removed_at IS NULL AND state <> 'failed'"
PIECE = "SELECT bytes FROM ibid.document_piece WHERE document_id = $1 AND n = $2"
SWEEP = """
    WITH gone AS (
        UPDATE ibid.document SET removed_at = now()
        WHERE state = 'failed' AND removed_at IS NULL AND created_at < now() - interval '24 hours'
        RETURNING id, tenant, owner, session_id)
    INSERT INTO ibid.job (kind, document_id, tenant, owner, session_id)
    SELECT 'purge', id, tenant, owner, session_id FROM gone
"""


class RecordStore:
    """The record as the background work sees it (`ports.DocumentRecord`)."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def placed(self, document_id: str) -> tuple[Document, Part] | None:
        """A document that is not removed, and where it lives."""
        with postgres_faults():
            row = await self._pool.fetchrow(PLACED, document_id)
        return (document(row), Part(row["tenant"], row["owner"], row["session_id"])) if row else None

    async def content(self, document_id: str) -> AsyncIterator[bytes]:
        """The file's bytes in pieces of 1 MiB; nothing is held between two. `Missing`: it is gone."""
        with postgres_faults():
            left = await self._pool.fetchval(SIZE, document_id)
        if left is None:
            raise Missing("the document is not here any more")
        n = 0
        while left > 0:
            with postgres_faults():
                piece = await self._pool.fetchval(PIECE, document_id, n)
            if piece is None:
                raise Missing("the document was removed while it was read")
            yield piece
            left, n = left - len(piece), n + 1

    async def keep_chunks(
        self, document_id: str, parsed: Parsed, embeddings: Sequence[Embedding], space: str
    ) -> None:
        """Write the chunks with their terms, and their vectors of `space`; again replaces. `Missing`: it is
        gone. `ValueError`: ordinals do not count from 1."""
        if [chunk.ordinal for chunk in parsed.chunks] != list(range(1, len(embeddings) + 1)):
            raise ValueError("ordinals must count from 1")
        with postgres_faults():
            filename = await self._pool.fetchval(NAMED, document_id)
        if filename is None:
            raise Missing("the document was removed while it was read")
        rows = await asyncio.to_thread(chunk_rows, document_id, filename, parsed, embeddings, space)
        tokens = sum(chunk.tokens for chunk in parsed.chunks)
        facts = (parsed.pages, len(rows), tokens, storable(parsed.title))
        async with transaction(self._pool) as connection:
            if not await connection.fetchval(FACTS, document_id, *facts):
                raise Missing("the document was removed while it was read")
            await connection.execute("DELETE FROM ibid.chunk WHERE document_id = $1", document_id)
            await connection.copy_records_to_table(
                "chunk", schema_name="ibid", columns=CHUNK, records=rows, timeout=COPY_SECONDS
            )

    async def kept(self, document_id: str, space: str) -> Sequence[Embedding]:
        """The vectors that an earlier try wrote in `space`, in order; none, or all."""
        with postgres_faults():
            rows = await self._pool.fetch(KEPT, document_id, space)
        return [row["embedding"] for row in rows]

    async def make_ready(self, document_id: str) -> None:
        """Ready, and what it replaces is gone, in one transaction. Of two uploads of a name the later one
        wins whichever was read first. Nothing to do if it is ready or gone already."""
        placed = await self.placed(document_id)
        if placed is None:
            return
        part = placed[1]
        async with transaction(self._pool) as connection:
            await hold(connection, part)
            read = await connection.fetchrow(READ, document_id)
            if read is None:
                return
            namesakes = await connection.fetch(
                NAMESAKES, part.tenant, part.owner, part.session_id, read["filename"]
            )
            if any(row["created_at"] > read["created_at"] for row in namesakes):
                await discard(connection, part, document_id)
                return
            for row in namesakes:
                await discard(connection, part, row["id"])
            await connection.execute(READY, document_id)
            await bump(connection, part)

    async def fail(self, document_id: str, fault: Fault) -> None:
        """Failed with its problem; bytes and chunks gone, the row kept 24 h."""
        async with transaction(self._pool) as connection:
            if await connection.fetchval(FAILED, document_id, fault.slug, storable(fault.detail)):
                await empty(connection, document_id)

    async def purge(self, document_id: str) -> None:
        """Delete what is left of a removed document; one that is not removed stays."""
        removed = "SELECT true FROM ibid.document WHERE id = $1 AND removed_at IS NOT NULL FOR UPDATE"
        async with transaction(self._pool) as connection:
            if await connection.fetchval(removed, document_id):
                await empty(connection, document_id)
                await connection.execute("DELETE FROM ibid.document WHERE id = $1", document_id)

    async def sweep(self) -> None:
        """Remove what failed more than 24 h ago; the rest follows by jobs."""
        async with transaction(self._pool) as connection:
            await connection.execute(SWEEP)


CHUNK = (
    *("document_id", "ordinal", "text", "page", "page_end", "heading", "tokens"),
    *("space", "embedding", "terms"),
)
"""Columns, in the order of `chunk_rows`."""


def chunk_rows(
    document_id: str, filename: str, parsed: Parsed, embeddings: Sequence[Embedding], space: str
) -> list[tuple[object, ...]]:
    """Rows of `ibid.chunk`. CPU: about 0.5 ms each, for the terms."""
    rows: list[tuple[object, ...]] = []
    title = storable(parsed.title)
    for chunk, vector in zip(parsed.chunks, embeddings, strict=True):
        text, heading = storable(chunk.text), storable(chunk.heading)
        place = (chunk.page, chunk.page_end, heading, chunk.tokens)
        terms = pack(indexed_text(filename, title, heading, text), text)
        rows.append((document_id, chunk.ordinal, text, *place, space, vector, terms))
    return rows


async def discard(connection: Connection, part: Part, document_id: str) -> None:
    """Gone from the next answer on; what it left follows by a job."""
    await connection.execute(GONE, document_id)
    await enqueue(connection, "purge", document_id, part)


async def empty(connection: Connection, document_id: str) -> None:
    """Delete all that hangs on a document's row."""
    for table in ("document_piece", "chunk"):
        statement = f"DELETE FROM ibid.{table} WHERE document_id = $1"  # noqa: S608 - constants above
        await connection.execute(statement, document_id, timeout=DELETE_SECONDS)
