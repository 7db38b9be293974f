"""Qdrant as a retriever (memories, corpora): the embedded engine and a server, behind one port of points.

Ours are marked by the payload field `ibid`, so that a search for what other tools wrote can leave them out.
"""

from collections.abc import Collection, Mapping

from app.clients.points import Point, Where
from app.clients.qdrant import Qdrant
from app.errors import RetrievalError
from app.types import Embedding

MARK: Mapping[str, str] = {"ibid": "1"}
"""In the payload of every point of ours."""
NOT_OURS = (("ibid", ("1",)),)
"""`Where.lacks` of what other tools wrote."""
LEGACY = frozenset({"tenant", "text", "tokens", "space"})
"""In the payload of every point of ours, before they were marked."""


async def nearest(
    points: Qdrant, collection: str, vector: Embedding, where: Where, limit: int, *, payload: bool = False
) -> list[Point]:
    """About the nearest points, best first; none of a collection that is not there."""
    try:
        return await points.search(collection, where, vector, limit, payload=payload)
    except RetrievalError as error:
        if error.missing:
            return []
        raise


async def count(points: Qdrant, collection: str, where: Where) -> int:
    """How many, exactly; 0 of a collection that is not there."""
    try:
        return await points.count(collection, where)
    except RetrievalError as error:
        if error.missing:
            return 0
        raise


async def page(
    points: Qdrant, collection: str, where: Where, limit: int, after: str | None = None
) -> list[Point]:
    """Points by id, those after `after`; none of a collection that is not there."""
    try:
        return await points.scroll(collection, where, limit=limit, after=after)
    except RetrievalError as error:
        if error.missing:
            return []
        raise


def is_ours(payload: Mapping[str, object], spaces: Collection[str]) -> bool:
    """Whether Ibid wrote a point; one without its mark is as older versions wrote it, in a space of ours."""
    if MARK.items() <= payload.items():
        return True
    return payload.keys() >= LEGACY and payload["space"] in spaces
