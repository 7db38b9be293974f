"""Qdrant as a retriever (memories, corpora): the embedded engine and a server, behind one port of points.

Ours are marked by the payload field `ibid`, so that a search for what other tools wrote can leave them out.
Raises `RetrievalError`.
"""

from collections.abc import Collection, Mapping, Sequence

from app.clients.points import Point, Points, Where
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding
from app.retrieval.retrievers import EnginePoint, Filter, Near

MARK: Mapping[str, str] = {"ibid": "1"}
"""In the payload of every point of ours."""
OTHERS: Mapping[str, Sequence[str]] = {"ibid": ("1",)}
"""`Filter.not_equal` of what other tools wrote."""
KEYS = ("ibid", "kind")
TENANTS = ("tenant", "user_id")
"""Indexed fields of the collections that are made here."""
LEGACY = frozenset({"tenant", "text", "tokens", "space"})
"""In the payload of every point of ours, before they were marked."""
NOT_OURS = tuple((field, tuple(values)) for field, values in OTHERS.items())
"""The same as `Where.lacks`."""


class QdrantRetriever:
    """Keeps `Retriever`."""

    def __init__(self, points: Points) -> None:
        self._points = points

    async def nearest(
        self, collection: str, vector: Embedding, where: Filter, limit: int, *, payload: bool = False
    ) -> list[Near]:
        """About the nearest points, best first."""
        try:
            found = await self._points.search(collection, condition(where), vector, limit, payload=payload)
        except RetrievalError as error:
            if error.missing:
                return []
            raise
        return [Near(point.id, point.score, point.payload) for point in found]

    async def upsert(self, collection: str, points: Sequence[EnginePoint]) -> None:
        """Write; each id again replaces. The collection is made where it is missing."""
        rows = [Point(point.id, {**point.payload, **MARK}, point.vector) for point in points]
        if not rows:
            return
        try:
            await self._points.put(collection, rows)
        except RetrievalError as error:
            if not error.rejected:
                raise
            dim = len(points[0].vector) // 4
            await self._points.create(collection, dim, keys=KEYS, tenants=TENANTS)
            await self._points.put(collection, rows)  # raises again where something else was refused

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove; nothing there is no error."""
        await self._points.remove(collection, Where(ids=tuple(ids)))

    async def count(self, collection: str, where: Filter) -> int:
        """How many, exactly."""
        try:
            return await self._points.count(collection, condition(where))
        except RetrievalError as error:
            if error.missing:
                return 0
            raise


def is_ours(payload: Mapping[str, object], spaces: Collection[str]) -> bool:
    """Whether Ibid wrote a point; one without its mark is as older versions wrote it, in a space of ours."""
    if MARK.items() <= payload.items():
        return True
    return payload.keys() >= LEGACY and payload["space"] in spaces


def condition(where: Filter) -> Where:
    """A filter as the port of points takes it."""
    return Where(
        has=tuple((field, (value,)) for field, value in where.equal.items()),
        open=tuple((field, (value,)) for field, value in where.equal_or_missing.items()),
        lacks=tuple((field, tuple(values)) for field, values in where.not_equal.items()),
    )
