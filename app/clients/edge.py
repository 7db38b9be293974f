"""The embedded Qdrant's collections in one folder, a shard each (`shard.py`). Runs in `qdrant_child.py`.

Everything blocks; safe in threads. A search is exact. What fails is tried once more on files read anew; a
collection whose files cannot be read is then put aside and named in `lost`. It is missing from then on, and
the outbox writes it anew. A missing collection is `RetrievalError("unavailable", missing=True)`, but to
remove from it is no error. Raises `Broken`, `OSError`, `NoRoom` (nothing was written) and `RetrievalError`.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from app.clients import drawer
from app.clients.broken import Broken
from app.clients.points import Point, Where
from app.clients.shard import Shard
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding

Result = TypeVar("Result")


class Edge:
    """An open folder, made if it is missing. A collection is opened when it is first used. `look`: nothing is
    moved or tidied."""

    def __init__(self, root: Path, *, look: bool = False) -> None:
        self._root = root
        self._look = look
        self._shards: dict[str, Shard] = {}
        self._opening = threading.Lock()
        self.lost: deque[str] = deque()
        """Names of collections that were put aside; whoever tells takes them out."""
        if not look:
            drawer.sweep(root)

    def shapes(self) -> list[tuple[str, int]]:
        """Names and dimensions, as the folders say; none is opened."""
        return sorted((shape.name, shape.dim) for _, shape in drawer.shapes(self._root))

    def create(
        self, name: str, dim: int, keys: Sequence[str], tenants: Sequence[str], times: Sequence[str]
    ) -> None:
        """Make a collection, or index the fields that are not indexed yet."""
        wanted, place = drawer.Shape(name, dim).also(keys, tenants, times), drawer.drawer(self._root, name)
        with self._opening:
            shard = self._shards.get(name) or self._load(place)
            if shard is None:
                if place.exists():
                    drawer.put_aside(place)
                self._shards[name] = Shard.make(place, wanted)
            elif (also := shard.shape.also(keys, tenants, times)) != shard.shape:
                shard.index(also)

    def drop(self, name: str) -> None:
        """Delete a collection with its files."""
        with self._opening:
            if name in self._shards:
                self._let_go(self._shards[name])
            drawer.delete(drawer.drawer(self._root, name))

    def put(self, name: str, points: Sequence[Point]) -> None:
        """Write points; on disk and searchable when it returns."""
        self._use(name, lambda shard: shard.put(points))

    def remove(self, name: str, where: Where) -> None:
        """Delete points; gone from the next search on."""
        try:
            self._use(name, lambda shard: shard.remove(where))
        except RetrievalError as error:
            if not error.missing:
                raise

    def search(self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool) -> list[Point]:
        """The nearest; every point that the filter leaves is compared."""
        return self._use(name, lambda shard: shard.search(where, dense, limit, payload=payload))

    def scroll(self, name: str, where: Where, limit: int, after: str | None, *, vectors: bool) -> list[Point]:
        """A page of points."""
        return self._use(name, lambda shard: shard.scroll(where, limit, after, vectors=vectors))

    def count(self, name: str, where: Where) -> int:
        """How many points."""
        return self._use(name, lambda shard: shard.count(where))

    def compact(self, name: str) -> None:
        """Build the files anew, so that none holds what was removed; searches and writes go on."""
        self._use(name, lambda shard: shard.compact())

    def check(self) -> Mapping[str, str | int]:
        """The engine, its version, the number of collections."""
        folders = sum(1 for _ in drawer.shapes(self._root))
        return {"server": "embedded", "version": version("qdrant-edge-py"), "collections": folders}

    def put_aside(self, name: str) -> None:
        """Move a collection's folder away: its files are suspected of crashing the process."""
        place = drawer.drawer(self._root, name)
        if place.exists():
            self._lose(place, name)

    def close(self) -> None:
        """Write everything to the disk and let go of the files."""
        with self._opening:
            for shard in list(self._shards.values()):
                self._let_go(shard)

    def _use(self, name: str, work: Callable[[Shard], Result]) -> Result:
        """Work on a collection, twice if need be; see the module."""
        shard = self._at(name)
        try:
            return work(shard)
        except Broken as error:
            if not error.files:
                raise
        shard = self._anew(shard)
        try:
            return work(shard)
        except Broken as error:
            if error.files:
                self._put_aside(shard)
            raise

    def _at(self, name: str) -> Shard:
        """The collection, opened at its first use."""
        if found := self._shards.get(name):
            return found
        with self._opening:
            shard = self._shards.get(name) or self._load(drawer.drawer(self._root, name))
        if shard is None:
            raise RetrievalError("unavailable", missing=True)
        return shard

    def _load(self, place: Path) -> Shard | None:
        """From its folder; None: there is none, or it had to be put aside."""
        shape = drawer.read(place)
        if shape is None:
            return None
        try:
            shard = Shard.load(place, shape)
        except Broken as error:
            if not error.files:
                raise
            self._lose(place, shape.name)
            return None
        self._shards[shape.name] = shard
        return shard

    def _anew(self, shard: Shard) -> Shard:
        """The collection's files read again, unless another call has done so."""
        with self._opening:
            if self._shards.get(shard.shape.name) is shard:
                self._let_go(shard)
        return self._at(shard.shape.name)

    def _put_aside(self, shard: Shard) -> None:
        """Unless another call has done so."""
        with self._opening:
            if self._shards.get(shard.shape.name) is shard:
                self._let_go(shard)
                self._lose(shard.place, shard.shape.name)

    def _let_go(self, shard: Shard) -> None:
        """Close it, however broken it is."""
        del self._shards[shard.shape.name]
        try:
            shard.close()
        except Broken as error:
            sys.stderr.write(f"a collection could not be closed: {str(error)[:80]}\n")

    def _lose(self, place: Path, name: str) -> None:
        """Put a folder aside, and remember to tell."""
        sys.stderr.write(f"a collection of qdrant cannot be read; it is put aside: {place.name}\n")
        if not self._look:
            drawer.put_aside(place)
        self.lost.append(name)
