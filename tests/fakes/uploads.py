"""Uploads and parsed documents, small and plain, and stand-ins of the intake's ports, which keep the
contract and can be told to break it."""

import asyncio
import hashlib
import itertools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.db.documents import Document, DocumentStore, Told, Upload
from app.db.pool import Pool
from app.db.vectors import SpaceStore
from app.errors import IbidError
from app.types import Chunk, Embedding, ParsedDocument, Scope, Space

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


Step = Callable[[str], None]


class Crash(Exception):
    """The process dies here."""


@dataclass
class Fuse:
    """Breaks at the n-th step, once; notes every step."""

    at: int = 0
    steps: list[str] = field(default_factory=list)

    def __call__(self, step: str) -> None:
        """A step was made."""
        self.steps.append(step)
        if len(self.steps) == self.at:
            raise Crash(step)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens soon: five seconds at most."""
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


def no_fuse(step: str) -> None:
    """Nothing breaks."""


@dataclass
class FakeParser:
    """A chunk a line after the header; may wait, or fail."""

    step: Step = no_fuse
    error: IbidError | None = None
    gate: asyncio.Event | None = None
    paths: list[Path] = field(default_factory=list)
    reads: tuple[int, int] = (0, 0)
    """Pages read, of how many, before the gate."""
    cancelled: int = 0

    async def parse(self, path: Path, filename: str, told: Told | None = None) -> ParsedDocument:
        self.paths.append(path)
        if told:
            told(*self.reads)
        try:
            if self.gate:
                await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        text = await asyncio.to_thread(path.read_text)
        self.step("parse")
        return parsed(text.partition("\n")[2])


@dataclass
class FakeEmbedder:
    """Eight numbers a text; notes the sizes of batches."""

    step: Step = no_fuse
    error: IbidError | None = None
    short: int = 0
    """Vectors too few, as a broken server gives."""
    batches: list[list[str]] = field(default_factory=list)

    @property
    def space(self) -> str:
        return SPACE.name

    async def query(self, text: str) -> Embedding:
        return vector(text)

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        self.batches.append(list(texts))
        if self.error:
            raise self.error
        self.step("embed")
        return [vector(text) for text in texts][self.short :]
