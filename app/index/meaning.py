"""The meaning leg over a whole reach: exact where vectors are in memory, Chroma's index where they are not.

Every candidate, also of the word leg, gets its exact raw cosine. Raises `RetrievalError`.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ParamSpec, TypeVar

import structlog

from app.domain.document import Part
from app.domain.space import Space
from app.domain.stopwatch import DENSE as MEANING
from app.domain.stopwatch import stage
from app.index.place import Listed, Matrix, Spot
from app.index.record import Record
from app.index.search import Search, cosine
from app.index.shelf import Shelf
from app.index.vectors import VectorIndex

INLINE = 12_000
"""Passages that are searched on the loop, each leg in a millisecond or two; more go to a thread, and so do
long texts (`Search.effort`). Under load a thread costs as much in waiting for the interpreter
(docs/decisions/0023-speed.md)."""

Given = ParamSpec("Given")
Result = TypeVar("Result")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Near:
    """What meaning has to say: its leg, and the cosines of all candidates."""

    spots: Sequence[Spot] = ()
    cosines: Mapping[Spot, float] = field(default_factory=dict)


class Meaning:
    """Finds near passages of one space."""

    def __init__(self, record: Record, vectors: VectorIndex, space: Space) -> None:
        self._record = record
        self._vectors = vectors
        self._space = space

    async def near(self, search: Search, vector: Matrix, words: Sequence[Spot], limit: int) -> Near:
        """The `limit` nearest passages, and cosines for those that the word leg chose too."""
        with stage(MEANING):
            return await self._near(search, vector, words, limit)

    async def _near(self, search: Search, vector: Matrix, words: Sequence[Spot], limit: int) -> Near:
        """Shelf by shelf."""
        found = dict(await computed(search.size, search.meaning, vector, limit))
        cosines = found | search.cosines(vector, words)
        for shelf in search.shelves:
            if not shelf.exact:
                near = await self._approximate(search, shelf, vector, limit)
                found |= near
                cosines |= near | await self._fetched(search, shelf, vector, set(words) - near.keys())
        return Near([spot for spot, _ in search.ranked(found.items())[:limit]], cosines)

    async def _approximate(
        self, search: Search, shelf: Shelf[Part, Listed], vector: Matrix, limit: int
    ) -> dict[Spot, float]:
        """About the nearest passages of a large part."""
        rows = await self._vectors.nearest(shelf.part, vector, limit, shelf.located)
        spots = search.spots(shelf, rows)
        return {spot: cosine(rows[place], vector) for place, spot in spots.items()}

    async def _fetched(
        self, search: Search, shelf: Shelf[Part, Listed], vector: Matrix, spots: set[Spot]
    ) -> dict[Spot, float]:
        """Cosines of some passages of a large part; vectors that Chroma has lost come from the record."""
        places = {search.place(spot): spot for spot in spots if search.holds(shelf, spot)}
        if not places:
            return {}
        rows = await self._vectors.get(shelf.part, list(places))
        lost = [place for place in places if place not in rows]
        if lost:
            log.warning("chroma has lost vectors; they come from postgres", passages=len(lost))
            rows |= await self._record.some_vectors(lost, self._space.name)
        return {places[place]: cosine(row, vector) for place, row in rows.items()}


async def computed(
    effort: int, work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs
) -> Result:
    """On the loop where `effort`, in passages, is little, else in a thread."""
    if effort <= INLINE:
        return work(*given, **named)
    return await asyncio.to_thread(work, *given, **named)
