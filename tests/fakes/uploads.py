"""Uploads and parsed documents, small and plain, for the tests of the write side."""

import hashlib
import itertools
import struct
from pathlib import Path

from app.db.documents import Chunk, Document, DocumentStore, ParsedDocument, Upload
from app.db.pool import Pool
from app.db.vectors import SpaceStore
from app.types import Embedding, Scope, Space

SPACE = Space("fake@8", "fake", 8, 0.0)
ALICE = Scope(tenant="acme", owner="alice", user_id="alice", session_id="s1")
TENANT = Scope(tenant="acme")

serial = itertools.count()


def upload(
    folder: Path,
    text: str = "one\ntwo",
    *,
    filename: str = "report.pdf",
    session_id: str | None = "s1",
    replace: bool = False,
) -> Upload:
    """A file that the fake parser reads: a chunk a line."""
    data = b"%PDF-1.7\n" + text.encode()
    path = folder / f"{next(serial)}.upload"
    path.write_bytes(data)
    return Upload(path, filename, len(data), hashlib.sha256(data).hexdigest(), session_id, replace)


def parsed(text: str = "one\ntwo") -> ParsedDocument:
    """What the fake parser makes of it."""
    lines = [line for line in text.splitlines() if line]
    chunks = tuple(Chunk(n, line, n, n, "Heading", len(line)) for n, line in enumerate(lines, 1))
    return ParsedDocument(len(lines), "Title", chunks)


def vector(text: str) -> Embedding:
    """Eight floats of unit length, the same for the same text."""
    numbers = [byte - 127.5 for byte in hashlib.sha256(text.encode()).digest()[:8]]
    length = sum(number * number for number in numbers) ** 0.5
    return struct.pack("<8f", *(number / length for number in numbers))


async def ready(pool: Pool, scope: Scope, given: Upload, text: str = "one\ntwo") -> Document:
    """A document that went the whole way through the record."""
    store = DocumentStore(pool)
    document, _ = await store.admit(scope, given)
    await read(pool, document.id, text)
    found = await store.get(scope, document.id)
    assert found is not None
    return found


async def read(pool: Pool, document_id: str, text: str = "one\ntwo") -> None:
    """What the background work writes for a document."""
    await SpaceStore(pool).keep(SPACE)
    store, result = DocumentStore(pool), parsed(text)
    await store.keep_chunks(document_id, result, [vector(chunk.text) for chunk in result.chunks], SPACE.name)
    await store.make_ready(document_id)
