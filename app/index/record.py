"""What the index reads from and keeps in Postgres: versions, lists, postings, vectors, texts.

Reads raise `RetrievalError`, writes `Unavailable`. Nothing here filters after the fact: a part's list is
that part's alone, and texts and vectors are asked for by documents from such lists.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.clients.faults import postgres_faults, retrieval_faults
from app.clients.pool import Pool
from app.domain.document import Chunk, Part
from app.domain.label import label_name
from app.domain.text import Text
from app.index.place import Listed, Matrix, Place
from app.index.texts import Row
from app.retrieval.terms import VERSION

VERSIONS = """
    SELECT wanted.n, part.version FROM unnest($1::text[], $2::text[], $3::text[])
        WITH ORDINALITY AS wanted (tenant, owner, session_id, n)
    JOIN ibid.part AS part USING (tenant, owner, session_id)
"""
LISTED = """
    SELECT id, name, filename, title, chunks, created_at FROM ibid.document
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND state = 'ready' AND removed_at IS NULL
    ORDER BY id
"""
READY = """
    SELECT tenant, owner, session_id, id, name, filename, title, chunks, created_at FROM ibid.document
    WHERE state = 'ready' AND removed_at IS NULL AND id > $1 ORDER BY id LIMIT 100
"""
CURRENT = "SELECT current FROM ibid.space WHERE name = $1"
NAMED = "SELECT name, filename, title FROM ibid.document WHERE id = $1"
WORDS = "SELECT document_id, terms FROM ibid.document_words WHERE document_id = ANY($1) AND analysis = $2"
KEEP_WORDS = """
    INSERT INTO ibid.document_words (document_id, analysis, terms)
    SELECT id, $2, $3 FROM ibid.document WHERE id = $1
    ON CONFLICT (document_id) DO UPDATE SET analysis = excluded.analysis, terms = excluded.terms
"""
CHUNKS = """
    SELECT ordinal, text, page, page_end, heading, tokens FROM ibid.chunk
    WHERE document_id = $1 ORDER BY ordinal
"""
EMBEDDINGS = (
    "SELECT ordinal, embedding FROM ibid.chunk WHERE document_id = $1 AND space = $2 ORDER BY ordinal"
)
SOME_EMBEDDINGS = """
    SELECT document_id, chunk.ordinal, embedding
    FROM unnest($1::text[], $2::int[]) AS wanted (document_id, ordinal)
    JOIN ibid.chunk AS chunk USING (document_id, ordinal) WHERE space = $3
"""
PASSAGES = """
    SELECT document_id, chunk.ordinal, text, page, page_end, heading, tokens
    FROM unnest($1::text[], $2::int[]) AS wanted (document_id, ordinal)
    JOIN ibid.chunk AS chunk USING (document_id, ordinal)
"""


@dataclass(frozen=True, slots=True)
class Names:
    """What a document is called; its passages are found by it too."""

    filename: str
    title: str


class Record:
    """Postgres, as the index needs it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def is_current(self, space: str) -> bool:
        """Whether this is the space that all vectors belong to."""
        with retrieval_faults():
            return bool(await self._pool.fetchval(CURRENT, space))

    async def versions(self, parts: Sequence[Part]) -> list[int]:
        """Of each part; 0 for one that has never held anything. One round trip."""
        columns = [[getattr(part, name) for part in parts] for name in ("tenant", "owner", "session_id")]
        with retrieval_faults():
            rows = await self._pool.fetch(VERSIONS, *columns)
        known = {row["n"]: row["version"] for row in rows}
        return [known.get(n, 0) for n in range(1, len(parts) + 1)]

    async def listed(self, part: Part) -> dict[str, Listed]:
        """A part's ready documents by id, ascending."""
        with retrieval_faults():
            rows = await self._pool.fetch(LISTED, part.tenant, part.owner, part.session_id)
        return {row["id"]: listed(*row) for row in rows}

    async def ready(self, after: str) -> list[tuple[Part, Listed]]:
        """The next hundred ready documents of all parts, by id; for repairs."""
        with retrieval_faults():
            rows = await self._pool.fetch(READY, after)
        return [(Part(*row[:3]), listed(*row[3:])) for row in map(tuple, rows)]

    async def names(self, document_id: str) -> Names:
        """A document's names; empty if it is gone."""
        with postgres_faults():
            row = await self._pool.fetchrow(NAMED, document_id)
        return Names(row["filename"], row["title"]) if row else Names("", "")

    async def words(self, document_ids: Sequence[str]) -> dict[str, bytes]:
        """Stored postings of today's analysis; documents without them are left out."""
        with retrieval_faults():
            rows = await self._pool.fetch(WORDS, document_ids, VERSION)
        return {row["document_id"]: row["terms"] for row in rows}

    async def keep_words(self, document_id: str, terms: bytes) -> None:
        """Store postings; again replaces; nothing happens for a document that is gone."""
        with postgres_faults():
            await self._pool.execute(KEEP_WORDS, document_id, VERSION, terms)

    async def forget_words(self, document_id: str) -> None:
        """Drop them."""
        with postgres_faults():
            await self._pool.execute("DELETE FROM ibid.document_words WHERE document_id = $1", document_id)

    async def chunks(self, document_id: str) -> list[Chunk]:
        """All chunks of a document, in order."""
        with retrieval_faults():
            rows = await self._pool.fetch(CHUNKS, document_id)
        return [Chunk(*row) for row in rows]

    async def vectors(self, document_id: str, space: str) -> dict[Place, Matrix]:
        """A document's vectors of this space."""
        with retrieval_faults():
            rows = await self._pool.fetch(EMBEDDINGS, document_id, space)
        return {(document_id, row[0]): np.frombuffer(row[1], dtype="<f4") for row in rows}

    async def some_vectors(self, places: Sequence[Place], space: str) -> dict[Place, Matrix]:
        """Vectors of single passages, of this space."""
        columns = [document for document, _ in places], [ordinal for _, ordinal in places]
        with retrieval_faults():
            rows = await self._pool.fetch(SOME_EMBEDDINGS, *columns, space)
        return {(row[0], row[1]): np.frombuffer(row[2], dtype="<f4") for row in rows}

    async def passages(self, places: Sequence[Place]) -> dict[Place, Row]:
        """Texts of passages; those purged meanwhile are left out. One round trip."""
        columns = [document for document, _ in places], [ordinal for _, ordinal in places]
        with retrieval_faults():
            rows = await self._pool.fetch(PASSAGES, *columns)
        return {
            (document, ordinal): Row(ordinal, Text(text), *rest)
            for document, ordinal, text, *rest in map(tuple, rows)
        }


def listed(id_: str, name: str, *rest: Any) -> Listed:  # noqa: ANN401 - a row's columns
    """A row of LISTED. Names that were admitted before a rule was made keep it all the same."""
    return Listed(id_, label_name(name), *rest)
