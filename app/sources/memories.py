"""Memories: what a person said and kept, in Qdrant's `memory_raw`, searched by words and meaning.

Filtered in the engine by tenant, user, origin and namespace; Postgres is the record, and knows what was
removed or erased. A memory's words speak for its neighbours in the thread (`domain/neighbour.py`). What older
tools wrote is searched as it is. Reads raise `RetrievalError`, writes `Unavailable`.
Why: docs/decisions/0027.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from app.clients.points import Collection, Point, Points, Where
from app.clients.pool import Pool
from app.domain.answer import new_id
from app.domain.errors import RetrievalError
from app.domain.memory import RAW, Memory
from app.domain.neighbour import spread
from app.domain.passage import Embedding, Legs, Passage, Query, Scope
from app.domain.space import Space
from app.index import cards, remembered, standing
from app.index.catalogue import Catalogue, Indexed, fits, unavailable
from app.index.legs import asked, look
from app.index.seen import Question, Seen, assembled
from app.index.standing import Standing
from app.retrieval.terms import VERSION

FIELDS = Indexed(keys=("source", "kind", "vantage_id"), tenants=("tenant", "user_id"), times=("created_at",))
PAGE = 256
"""Points read at a time."""
CARDS = 50
"""Of a kind, the newest: more fit into no prompt."""
MOST_CARDS = 1_000
"""Of one user's that other tools wrote: the record does not know which are the newest."""
There: TypeAlias = tuple[Collection | None, int]
"""The collection, and the points in reach."""
NOBODY = Standing(0, frozenset())
NOTHING: There = (None, 0)
COUNT_SECONDS = 0.5
"""For the engine to say how many there are: one that hangs must not look like a Postgres that hangs."""


class MemorySource:
    """Keeps ports.Source, and memory.MemoryIndex, memory.Cards and holding.Holding for the points."""

    name = remembered.NAME

    def __init__(
        self, pool: Pool, points: Points, catalogue: Catalogue, space: Space, *, store: str = ""
    ) -> None:
        self._pool = pool
        self._points = points
        self._catalogue = catalogue
        self._space = space
        self.store = store
        """Which database and engine these are: two may share a cache."""

    async def reach(self, scope: Scope) -> "Reached":
        """The user's memories as they stand now; nobody's are none. Only Postgres's faults are raised here,
        the engine's by the search: whoever guards the one must not take it for the other."""
        if not scope.user_id:
            return Reached(self, scope, there=NOTHING)
        stands = await standing.of_user(self._pool, scope.tenant, scope.user_id)
        try:
            async with asyncio.timeout(COUNT_SECONDS):
                return Reached(self, scope, stands, await self._there(scope, stands))
        except TimeoutError:
            return Reached(self, scope, stands)
        except RetrievalError as error:
            return Reached(self, scope, stands, fault=error)

    async def _there(self, scope: Scope, stands: Standing) -> There:
        """The collection, and how much of it is in reach."""
        shape = await self._catalogue.get(RAW)
        if shape is None and stands.version:
            self._catalogue.forget()  # another replica may have made it since
            shape = await self._catalogue.get(RAW)
        return (shape, await self._count(remembered.told(scope, stands))) if shape else NOTHING

    async def _count(self, where: Where) -> int:
        """Points; none of a collection that has gone."""
        try:
            return await self._points.count(RAW, where)
        except RetrievalError as error:
            if not error.rejected:
                raise
            self._catalogue.forget()
            return 0

    async def search(self, reached: "Reached", query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """Both legs in one round trip, once the query is embedded."""
        if reached.fault:
            raise reached.fault
        shape, count = reached.there or await self._there(reached.scope, reached.stands)
        if shape is None or not count:
            return Legs(self.name)
        if not fits(shape, self._space):
            return Legs(self.name, notes=(f"{RAW} was passed over: its vectors are of another space",))
        question = await asked(query, await embedding, self._space)
        dated = remembered.dated(remembered.told(reached.scope, reached.stands), query.days)
        question = replace(question, dated=dated)
        seen = await self._seen(reached, shape, question, count)
        note = f"points of {RAW} without text were passed over: {seen.textless}"
        notes = (note,) if seen.textless else ()
        return replace(told(self.name, seen, query.limit), stored=count, notes=notes)

    async def _seen(self, reached: "Reached", shape: Collection, question: Question, count: int) -> Seen:
        """What the engine finds; nothing in a collection that has gone meanwhile."""
        where = remembered.told(reached.scope, reached.stands)
        barred = reached.stands.removed
        try:
            return await look(self._points, shape, where, question, passages=count, barred=barred)
        except RetrievalError as error:
            if not error.rejected:
                raise
            self._catalogue.forget()
            if await self._catalogue.get(RAW) is None:
                return Seen()
            raise

    async def cards(self, scope: Scope, kinds: Sequence[str]) -> list[Memory]:
        """The newest cards of each of these kinds, newest first: the record's, and what it does not know."""
        if not scope.user_id or not kinds:
            return []
        stands = await standing.of_user(self._pool, scope.tenant, scope.user_id)
        ours = await cards.newest(self._pool, (scope.tenant, scope.user_id), kinds, CARDS)
        if stands.since is not None:
            return cards.cut(ours, CARDS)
        where = replace(remembered.owned(scope, kinds=tuple(kinds)), lacks=(("space", (self._space.name,)),))
        found = [point async for point in self._scrolled(where, most=MOST_CARDS)]
        others = [remembered.memory(point) for point in found if point.id not in stands.removed]
        return cards.cut([*others, *ours], CARDS)

    async def owns(self, scope: Scope, memory_id: str) -> bool:
        """Whether a point is the user's, whoever wrote it (for `stores/votes.py`)."""
        if not scope.user_id:
            return False
        stands = await standing.of_user(self._pool, scope.tenant, scope.user_id)
        erased = stands.since is not None and memory_id not in stands.since
        if erased or memory_id in stands.removed:
            return False
        return bool(await self._count(replace(remembered.owned(scope), ids=(memory_id,))))

    async def put(self, scope: Scope, memories: Sequence[Memory], embeddings: Sequence[Embedding]) -> None:
        """Searchable when it returns; again replaces."""
        points = [
            remembered.point(scope, memory, embedding, self._space.name)
            for memory, embedding in zip(memories, embeddings, strict=True)
        ]
        await self._catalogue.put(RAW, self._space, FIELDS, points)

    async def remove(self, scope: Scope, ids: Sequence[str]) -> None:
        """Gone from the index."""
        with unavailable():
            where = remembered.owned(scope) if scope.user_id else remembered.tenants(scope)
            await self._points.remove(RAW, replace(where, ids=tuple(ids)))

    async def erase(self, scope: Scope) -> int:
        """All points of the user's, those of older tools and all cards too; how many there were."""
        with unavailable():
            count = await self._count(remembered.owned(scope))
            await self._points.remove(RAW, remembered.owned(scope))
        return count

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        """Every point of the user's, as it is kept; vectors are left out."""
        with unavailable():
            async for point in self._scrolled(remembered.owned(scope)):
                yield {"id": point.id, **point.payload}

    async def _scrolled(self, where: Where, *, most: int | None = None) -> AsyncIterator[Point]:
        """Point by point, by id; none of a collection that is not there."""
        after, read = None, 0
        while most is None or read < most:
            try:
                page = await self._points.scroll(RAW, where, limit=PAGE, after=after)
            except RetrievalError as error:
                if not error.rejected:
                    raise
                return
            for point in page:
                yield point
            if len(page) < PAGE:
                return
            after, read = page[-1].id, read + len(page)


@dataclass(frozen=True, slots=True)
class Reached:
    """Keeps found.Reach: a user's memories as the record and the engine told of them."""

    source: MemorySource
    scope: Scope
    stands: Standing = NOBODY
    there: There | None = None
    """None: the engine has not said in time."""
    fault: RetrievalError | None = None
    """The engine's, for the search to raise."""

    @property
    def standing(self) -> str:
        """All that the filter depends on, the user's version, and the count: other tools write too."""
        if self.there is None:
            return new_id()  # like no other
        (shape, count), scope = self.there, self.scope
        who = [scope.tenant, scope.user_id, scope.vantage_id]
        held = [self.stands.version, count, shape.dim if shape else 0]
        return json.dumps([self.source.name, self.source.store, VERSION, who, held])

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """Both legs; raises `RetrievalError`."""
        return await self.source.search(self, query, embedding)


def told(name: str, seen: Seen, limit: int) -> Legs:
    """The legs, word scores spread over neighbours."""
    among = ((key, point) for key, point in seen.points.items() if key not in seen.lone)
    spots = {key: spot for key, point in among if (spot := remembered.spot(point))}
    scores = spread({key: hit.score for key, hit in seen.hits.items()}, spots)

    def make(short: Mapping[str, str]) -> dict[str, Passage]:
        return {
            key: remembered.passage(seen.points[key], mark, seen.similarities.get(key))
            for key, mark in short.items()
        }

    return assembled(name, seen, scores, make, limit=limit)
