"""Collections made anew for another embedding space, without the loss of points that others wrote.

What is ours comes back from the record. What is not (an older tool's points in a collection of ours) is put
down in a file first, and embedded anew from its text; a point without text keeps its payload. The file goes
last, so that a move that breaks off is finished by the next one. Raises `RetrievalError`, `Unavailable`.
"""

import asyncio
import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import structlog

from app.clients.points import Point, Points, Where
from app.domain.ports import Embedder
from app.domain.space import Space
from app.index.catalogue import Catalogue, Indexed
from app.index.payload import text
from app.retrieval.retrievers.qdrant import is_ours

PAGE = 128
"""Points read, or embedded and written, at a time."""

Mine = Callable[[Sequence[str]], Awaitable[set[str]]]
"""Which of these points the record has."""

log = structlog.get_logger(__name__)


class Resettlement:
    """One move."""

    def __init__(
        self, points: Points, embedder: Embedder, space: Space, folder: Path, spaces: Collection[str] = ()
    ) -> None:
        """`folder`: of the files; beside the stores, so that they live as long; `spaces`: names of all
        that the record has had."""
        self._points = points
        self._catalogue = Catalogue(points)
        self._embedder = embedder
        self._space = space
        self._folder = folder
        self._spaces = spaces

    async def clear(self, name: str, mine: Mine) -> None:
        """Drop a collection; what is not ours is in its file from then on."""
        file = self._file(name)
        if await self._catalogue.get(name) is None:
            return
        known = await asyncio.to_thread(read, file)  # of a move that broke off
        ids = {row["id"] for row in known}
        found = [row for row in await self._foreign(name, mine) if row["id"] not in ids]
        await asyncio.to_thread(write, file, known + found)
        await self._points.drop(name)
        self._catalogue.forget()

    async def restore(self, name: str, fields: Indexed) -> int:
        """Give it back what its file holds; how many points."""
        file = self._file(name)
        rows = await asyncio.to_thread(read, file)
        for start in range(0, len(rows), PAGE):
            points = await self._embedded(rows[start : start + PAGE])
            await self._catalogue.put(name, self._space, fields, points)
        await asyncio.to_thread(file.unlink, missing_ok=True)
        if rows:
            log.info("points of others embedded anew", collection=name, points=len(rows))
        return len(rows)

    async def _foreign(self, name: str, mine: Mine) -> list[dict[str, Any]]:
        """The points that Ibid did not write: one of ours that the record does not have was erased."""
        found, after = [], None
        while page := await self._points.scroll(name, Where(), limit=PAGE, after=after):
            theirs = [each for each in page if not is_ours(each.payload, self._spaces)]
            known = await mine([point.id for point in theirs])
            found += [
                {"id": each.id, "payload": dict(each.payload)} for each in theirs if each.id not in known
            ]
            after = page[-1].id
        return found

    async def _embedded(self, rows: Sequence[dict[str, Any]]) -> list[Point]:
        """As points of the new space."""
        told = [text(row["payload"]) for row in rows]
        vectors = iter(await self._embedder.passages([each for each in told if each]))
        return [
            Point(row["id"], row["payload"], next(vectors)) if each else Point(row["id"], row["payload"])
            for row, each in zip(rows, told, strict=True)
        ]

    def _file(self, name: str) -> Path:
        """A collection's; named by a hash, since names are others' affair."""
        return self._folder / f"moving-{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"


def write(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    """In one step, on disk."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = file.with_suffix(".new")
    with draft.open("w", encoding="utf-8") as target:
        draft.chmod(0o600)
        json.dump(rows, target)
        target.flush()
        os.fsync(target.fileno())
    draft.replace(file)


def read(file: Path) -> list[dict[str, Any]]:
    """What it holds; nothing if there is none."""
    if not file.exists():
        return []
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return rows
