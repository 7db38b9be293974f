"""Chroma as an engine: cosine collections, made when first named, the payload as metadata.

Chroma cannot test whether a field is missing: such conditions are tested on what it finds, and it is asked
for more until enough is left. A point that is written again keeps the fields that its new payload does not
have. Reads raise `RetrievalError`, writes `Unavailable`.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b

import numpy as np

from app.clients.chroma import Chroma, Where
from app.domain.passage import Embedding
from app.retrieval.index import Place
from app.retrieval.retrievers import EnginePoint, Filter, Near

WIDER = 4
OURS = re.compile(r"ibid-(global|sessions)-.*[0-9a-f]{8}$")
"""Names that `collection` gives."""


class ChromaRetriever:
    """Keeps `Retriever`."""

    def __init__(self, chroma: Chroma) -> None:
        self._chroma = chroma

    async def nearest(
        self, collection: str, vector: Embedding, where: Filter, limit: int, *, payload: bool = False
    ) -> list[Near]:
        """About the nearest points, best first, each with its exact cosine."""
        query = np.frombuffer(vector, dtype="<f4")
        metadata, asked = payload or bool(where.equal_or_missing), limit
        while True:
            found = await self._chroma.nearest(collection, query, condition(where), asked, metadata=metadata)
            scores = np.vecdot(found.matrix, query).tolist() if found.ids else []
            every = map(Near, found.ids, scores, found.metadata or ({},) * len(found.ids))
            near = [each for each in every if fits(where, each.payload)]
            if len(near) >= limit or len(found.ids) < asked:
                return sorted(near, key=lambda each: (-each.score, each.id))[:limit]
            asked *= WIDER

    async def upsert(self, collection: str, points: Sequence[EnginePoint]) -> None:
        """Write; each id again replaces."""
        if points:
            matrix = np.frombuffer(b"".join(point.vector for point in points), dtype="<f4")
            ids, payloads = [point.id for point in points], [point.payload for point in points]
            await self._chroma.upsert(collection, ids, matrix.reshape(len(points), -1), payloads)

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove; nothing there is no error."""
        await self._chroma.drop(collection, ids)

    async def count(self, collection: str, where: Filter) -> int:
        """How many, exactly."""
        asked = condition(where)
        if where.equal_or_missing:
            return sum(fits(where, payload) for payload in await self._chroma.payloads(collection, asked))
        return (
            len(await self._chroma.ids(collection, asked)) if asked else await self._chroma.count(collection)
        )


def condition(where: Filter) -> Where | None:
    """The part of a filter that Chroma can test; `$nin` is true of a missing field."""
    every: list[Where] = [{name: value} for name, value in where.equal.items()]
    every += [{name: {"$nin": list(values)}} for name, values in where.not_equal.items()]
    if len(every) < 2:
        return every[0] if every else None
    return {"$and": every}


def fits(where: Filter, payload: Mapping[str, object]) -> bool:
    """The other part."""
    return all(payload.get(name, value) == value for name, value in where.equal_or_missing.items())


def collection(space: str, *, is_global: bool) -> str:
    """The collection of a space's documents. Chroma takes letters, digits, `.`, `_` and `-` in names, so a
    digest keeps spaces apart."""
    slug = re.sub(r"[^a-z0-9]+", "-", space.lower()).strip("-")[:64]
    digest = blake2b(space.encode(), digest_size=4).hexdigest()
    return f"ibid-{'global' if is_global else 'sessions'}-{slug}-{digest}"


def passage_id(place: Place) -> str:
    """A chunk's id, in Chroma and in answers."""
    return f"{place[0]}:{place[1]}"


def place_of(passage_id: str) -> Place:
    """The inverse of `passage_id`."""
    document, _, ordinal = passage_id.rpartition(":")
    return document, int(ordinal)
