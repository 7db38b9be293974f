"""A holding that is kept twice: in the record, and in an index that may hold others' points of the user too.

Memories are such: rows of Postgres, points of Qdrant, and points that older tools wrote there without a row.
The record goes first: what it calls removed is told by nobody, also while the index is away. Raises
`Unavailable`.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

from app.domain.holding import Holding
from app.domain.passage import Scope


class Recorded(Protocol):
    """The record's side (`stores/belongings.Memories`)."""

    def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        """The user's rows, each with its `id`."""

    async def withdraw(self, scope: Scope) -> int:
        """All of the user's are removed; how many were there."""

    async def forget(self, scope: Scope) -> None:
        """Their points are gone: so are the rows."""


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
        """Unseen, then out of the index, then out of the record. What the index alone had counts too."""
        rows = await self._record.withdraw(scope)
        points = await self._index.erase(scope)
        await self._record.forget(scope)
        return max(rows, points)
