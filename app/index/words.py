"""The words of single rows: packed, kept beside the row's revision, and unpacked many at a time.

Whoever writes rows of `public.conversation_index` or `public.code_index` packs their words off the loop
(`packed`), and keeps them in the transaction that writes the rows (`keep`); of rows that other tools wrote
they are made when a search first needs them. A row's revision is its xmin, so that words of a text that has
changed since are never taken for it. Vendors' errors pass through.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from app.domain.embedded import code_words, conversation_words
from app.index.segment import MOST, Segment, inverted
from app.index.table import CHUNK, CONVERSATION, Table
from app.retrieval.terms import VERSION, terms

MAGIC = b"IBR1"
HEAD = 8
"""Bytes: MAGIC, and how many terms the row has, repeats included, as uint32."""
TERM, COUNT = 8, 2
"""Bytes of a term and of its count: all terms first, ascending, then all counts."""

# The revision is the row's own: of what this transaction wrote, and of what it found. Whoever deletes the row
# waits, and then sees the words that were kept meanwhile (docs/decisions/0045).
KEEP = """
    INSERT INTO ibid.project_words (kind, id, seen, analysis, terms)
    SELECT $1, given.id, held.xmin::text, $2, given.terms
    FROM unnest($3::text[], $4::bytea[], $5::text[]) AS given (id, terms, seen)
    JOIN {table} AS held ON held.{id} = given.id::uuid
    WHERE given.seen IS NULL OR given.seen = held.xmin::text
    FOR KEY SHARE OF held
    ON CONFLICT (kind, id) DO UPDATE
        SET seen = excluded.seen, analysis = excluded.analysis, terms = excluded.terms
"""
FORGET = "DELETE FROM ibid.project_words WHERE kind = $1 AND id = ANY($2::text[])"


class Statements(Protocol):
    """A connection in its transaction, or a pool."""

    async def execute(self, query: str, *args: Any) -> str:  # noqa: ANN401 - as asyncpg has it
        """One statement."""


def spoken(table: Table, row: Mapping[str, Any]) -> str:
    """What a row is found by; `row` has the table's columns, JSON as text or as values."""
    if table is CHUNK:
        return code_words(**{name: row[name] for name in ("file_path", "chunk_metadata", "chunk_text")})
    names = ("title", "tags", "key_entities", "summary_short", "summary_detailed", "memory_snippet")
    return conversation_words(**{name: row[name] for name in names})


def packed(text: str) -> bytes:
    """A text's words. CPU: about 0.5 ms for 300 of them."""
    bag = Counter(terms(text))
    ordered = sorted(bag)
    counts = [min(bag[term], MOST) for term in ordered]
    head = MAGIC + np.array([bag.total()], dtype="<u4").tobytes()
    return head + np.array(ordered, dtype="<u8").tobytes() + np.array(counts, dtype="<u2").tobytes()


def conversations_packed(rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """Of rows of conversation_index."""
    return [packed(spoken(CONVERSATION, row)) for row in rows]


def code_packed(rows: Sequence[Mapping[str, Any]]) -> list[bytes]:
    """Of rows of code_index."""
    return [packed(spoken(CHUNK, row)) for row in rows]


def readable(data: bytes) -> bool:
    """Whether `packed` wrote it."""
    return data[:4] == MAGIC and len(data) >= HEAD and not (len(data) - HEAD) % (TERM + COUNT)


def unpacked(rows: Sequence[bytes]) -> Segment:
    """Rows as a segment, in order. CPU: about 0.2 µs a posting."""
    sizes = [(len(row) - HEAD) // (TERM + COUNT) for row in rows]
    ends = [HEAD + TERM * size for size in sizes]
    all_terms = b"".join(row[HEAD:end] for row, end in zip(rows, ends, strict=True))
    counts = b"".join(row[end:] for row, end in zip(rows, ends, strict=True))
    lengths = np.frombuffer(b"".join(row[4:HEAD] for row in rows), dtype="<u4")
    owners = np.repeat(np.arange(len(rows), dtype=np.uint32), sizes)
    return inverted(np.frombuffer(all_terms, "<u8"), owners, np.frombuffer(counts, "<u2"), lengths)


async def keep(
    connection: Statements, table: Table, words: Mapping[str, bytes], seen: Mapping[str, str] | None = None
) -> None:
    """Words by row id, of rows that are there; in the transaction that wrote them, after the last change of
    them. Again replaces. `seen`: of rows that others write, the revision that was read; none other's are."""
    statement = KEEP.format(table=table.name, id=table.id)
    revisions = [seen[key] if seen else None for key in words]
    await connection.execute(statement, table.kind, VERSION, list(words), list(words.values()), revisions)


async def forget(connection: Statements, table: Table, ids: Collection[str]) -> None:
    """Drop the words of rows that go."""
    await connection.execute(FORGET, table.kind, list(ids))
