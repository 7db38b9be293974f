"""A holding that is kept twice: in the record, and in an engine that may hold others' points of the user too.

Memories are such: rows of Postgres, points of Qdrant, and points that older tools wrote there without a row.
The record goes first: searches read it, also while the engine is away. Raises `Unavailable`.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from app.domain.holding import Holding
from app.domain.passage import Scope


class Recorded(Protocol):
    """The record's side (`stores/belongings.Memories`)."""

    def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        """The user's rows, each with its `id`."""

    async def erase(self, scope: Scope) -> int:
        """Delete the user's rows; how many there were."""

    async def enter(self, scope: Scope) -> None:
        """All points of the user's are gone: what was written meanwhile is given back to the engine."""


class Twofold:
    """Keeps `domain/holding.Holding`."""

    def __init__(self, record: Recorded, index: Holding) -> None:
        self._record = record
        self._index = index

    @property
    def name(self) -> str:
        """The index's."""
        return self._index.name

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        """The record's rows, then what the index alone has."""
        known = set()
        async for row in self._record.export(scope):
            known.add(row["id"])
            yield row
        async for point in self._index.export(scope):
            if point["id"] not in known:
                yield point

    async def erase(self, scope: Scope) -> int:
        """Out of the record, then out of the engine. What the engine alone had counts too."""
        rows = await self._record.erase(scope)
        points = await self._index.erase(scope)
        await self._record.enter(scope)
        return max(rows, points)
