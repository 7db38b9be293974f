"""Embeddings kept on disk between runs of `ibid eval`: what was embedded once is not embedded again.

One SQLite file a folder; a vector is keyed by space, use and text (SHA-256), so that another model or another
text is another vector. Keeps `ports.Embedder`. Raises what the embedder raises, and `StartError` where the
file cannot be used.
"""

import asyncio
import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from app.errors import StartError
from app.models.base import Embedder
from app.types import Embedding

NAME = "embeddings.sqlite"
TABLE = "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
READ = "SELECT vector FROM vector WHERE key = ?"
WRITE = "INSERT OR REPLACE INTO vector VALUES (?, ?)"
SECONDS = 30.0
"""For another run that writes to the same file."""

Use = Literal["query", "passage"]
"""A model may see the same text differently as the one and as the other."""
MADE = {"query": "query.3", "passage": "passage"}
"""What stands for the use: another one once the same text is embedded otherwise."""


class Pages:
    """The file. Called in threads."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._turn = threading.Lock()
        self.written = 0
        """Vectors that were not there, and were made."""

    def read(self, keys: Sequence[bytes]) -> list[Embedding | None]:
        """Of each key, if it is there."""
        with self._turn:
            found = [self._connection.execute(READ, (key,)).fetchone() for key in keys]
        return [row[0] if row else None for row in found]

    def write(self, keys: Sequence[bytes], vectors: Sequence[Embedding]) -> None:
        """Kept when it returns."""
        with self._turn, self._connection:
            self.written += len(keys)
            self._connection.executemany(WRITE, zip(keys, vectors, strict=True))


class Memo:
    """An embedder that looks into the file first."""

    def __init__(self, embedder: Embedder, pages: Pages) -> None:
        self._embedder = embedder
        self._pages = pages

    @property
    def space(self) -> str:
        """The embedder's."""
        return self._embedder.space

    async def query(self, text: str) -> Embedding:
        """One query."""
        keys = [key(self.space, "query", text)]
        [known] = await asyncio.to_thread(self._pages.read, keys)
        if known is None:
            known = await self._embedder.query(text)
            await asyncio.to_thread(self._pages.write, keys, [known])
        return known

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Texts to store, in order; those that are new are embedded together."""
        keys = [key(self.space, "passage", text) for text in texts]
        known = dict(zip(keys, await asyncio.to_thread(self._pages.read, keys), strict=True))
        wanted = {each: text for each, text in zip(keys, texts, strict=True) if known[each] is None}
        if wanted:
            vectors = await self._embedder.passages(list(wanted.values()))
            await asyncio.to_thread(self._pages.write, list(wanted), vectors)
            known |= zip(wanted, vectors, strict=True)
        return [vector for each in keys if (vector := known[each]) is not None]


def key(space: str, use: Use, text: str) -> bytes:
    """What a vector is kept under."""
    return hashlib.sha256(f"{space}\n{MADE[use]}\n{text}".encode("utf-8", "surrogatepass")).digest()


@contextmanager
def pages(folder: Path) -> Iterator[Pages]:
    """The file of a folder, made where it is missing."""
    try:
        for each in (folder.parent, folder):  # the data folder may be made here: it is nobody else's to read
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        connection = sqlite3.connect(folder / NAME, timeout=SECONDS, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # a crash costs the newest, and never the file
        connection.execute(TABLE)
    except (OSError, sqlite3.Error) as error:
        raise StartError(f"{folder / NAME} cannot be used: {error}") from None
    try:
        yield Pages(connection)
    finally:
        connection.close()
