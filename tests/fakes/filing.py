"""Documents put where a search finds them, without a parser or a model: rows, terms, vectors, version."""

import zlib
from collections.abc import Sequence

import numpy as np

from app.answer import new_id
from app.db.documents import DocumentPart, indexed_text
from app.db.pool import Pool
from app.retrieval.copies import ChromaCopy
from app.retrieval.documents import DocumentSource
from app.retrieval.index_cache import IndexCache
from app.retrieval.retrievers.chroma import Chroma
from app.text.terms import encode_terms
from app.types import Chunk, Embedding, Space

SPACE = Space("bag@32", "bag", 32, 0.0)

INSERT = """
    INSERT INTO ibid.document (id, tenant, owner, session_id, filename, name, sha256, size, chunks, state)
    VALUES ($1, $2, $3, $4, $5, $5, $1, 1, $6, 'processing')
"""
CHUNK = "INSERT INTO ibid.chunk VALUES ($1, $2, $3, $4, $4, '', $5, $6, $7, $8)"
BUMP = """
    INSERT INTO ibid.part AS part VALUES ($1, $2, $3, 1)
    ON CONFLICT (tenant, owner, session_id) DO UPDATE SET version = part.version + 1
"""


def documents(
    pool: Pool, chroma: Chroma, space: Space = SPACE, *, store: str = "", exact_mb: int = 160
) -> DocumentSource:
    """The source of a process that has just started."""
    cache = IndexCache(space.dim, exact_bytes=exact_mb << 20)
    return DocumentSource(cache, pool, chroma, space, store=store)


def bag(text: str, dim: int = 32) -> Embedding:
    """A bag of words as a unit vector: texts that share words are similar, on every machine alike."""
    vector = np.zeros(dim, dtype="<f4")
    for word in text.lower().split():
        vector[zlib.crc32(word.encode()) % dim] += 1
    vector /= np.linalg.norm(vector) or 1
    return vector.tobytes()


def chunks(texts: Sequence[str]) -> list[Chunk]:
    return [Chunk(n, text, n, n, "", len(text.split())) for n, text in enumerate(texts, 1)]


async def insert(pool: Pool, part: DocumentPart, texts: Sequence[str], name: str = "a.pdf") -> str:
    """A document in the record, still processing."""
    document = new_id()
    place = (part.tenant, part.owner, part.session_id)
    await pool.execute(INSERT, document, *place, name, len(texts))
    rows = [
        (
            *(document, chunk.ordinal, chunk.text, chunk.page, chunk.tokens, SPACE.name, bag(chunk.text)),
            encode_terms(indexed_text(name, "", "", chunk.text), chunk.text),
        )
        for chunk in chunks(texts)
    ]
    await pool.executemany(CHUNK, rows)
    return document


async def publish(pool: Pool, part: DocumentPart, document: str, *, removed: bool = False) -> None:
    """Ready, or gone: as the record's own transactions leave it."""
    change = "removed_at = now()" if removed else "state = 'ready'"
    await pool.execute(f"UPDATE ibid.document SET {change} WHERE id = $1", document)  # noqa: S608
    await pool.execute(BUMP, part.tenant, part.owner, part.session_id)


async def file(
    pool: Pool,
    part: DocumentPart,
    texts: Sequence[str],
    name: str = "a.pdf",
    vectors: ChromaCopy | None = None,
) -> str:
    """A document as ingestion leaves it: recorded, its `vectors` in Chroma, ready."""
    document = await insert(pool, part, texts, name)
    await publish(pool, part, document)
    if vectors:
        await vectors.apply("", [document])
    return document
