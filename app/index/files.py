"""The files of the indexes after an erasure (`domain/holding.Files`): rewritten where they are ours.

A server's (QDRANT_URL) are its own affair. Raises `RetrievalError`.
"""

from collections.abc import Collection
from typing import Protocol

from app.domain.errors import RetrievalError
from app.domain.memory import RAW
from app.retrieval.imported import NONE, Homes


class Compacting(Protocol):
    """The part of `clients/points.Points` that is needed."""

    async def compact(self, name: str) -> None:
        """Rewrite a collection's files."""


class PointFiles:
    """Those of Qdrant. Memories alone are a person's; the corpus is its tenant's."""

    name = "qdrant"

    def __init__(self, points: Compacting, *, external: bool, homes: Homes = NONE) -> None:
        self._points = points
        self._collections = {homes.copy_of(RAW), RAW}
        self._external = external

    @property
    def external(self) -> bool:
        """Whether it is a server."""
        return self._external

    async def compact(self, holdings: Collection[str]) -> Collection[str]:
        """The collection of memories and cards; none there has no files. Nothing is left."""
        for name in sorted(self._collections) if "memories" in holdings else ():
            try:
                await self._points.compact(name)
            except RetrievalError as error:
                if not error.missing:
                    raise
        return ()
