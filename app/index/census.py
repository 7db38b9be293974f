"""How many points of a collection are ours: others write to the same one, and tell nothing of a loss.

Exact. Raises `RetrievalError`.
"""

from collections.abc import Sequence

from app.clients.points import Points, Where
from app.domain.errors import RetrievalError


class Census:
    """Keeps services/upkeep.Census."""

    def __init__(self, points: Points) -> None:
        self._points = points

    async def ours(self, collection: str, space: str, tenants: Sequence[str]) -> int:
        """Points of these tenants with vectors of that space: nobody else says so of theirs. None of a
        collection that is not there."""
        where = Where(has=(("tenant", tuple(tenants)), ("space", (space,))))
        try:
            return await self._points.count(collection, where)
        except RetrievalError as error:
            if not error.rejected:
                raise
            return 0
