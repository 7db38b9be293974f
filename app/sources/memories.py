"""Memories: what a person said and kept, searched exactly in memory.

Postgres is the record. The scope is one user's; a namespace sees itself and what has none. A memory's BM25
score includes its neighbours in the thread (`retrieval/neighbours.py`). Qdrant's `memory_raw` holds the same
points, for users with very many memories, and what older tools wrote there. Reads raise `RetrievalError`,
writes `Unavailable`. Why: docs/adr/0004.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from app.answer import new_id
from app.clients.points import Point, Where
from app.db.memories import RAW, UNTOLD, Memory
from app.db.pool import retrieval_faults
from app.errors import RetrievalError
from app.index import remembered
from app.index.catalogue import unavailable
from app.index.mark import short
from app.retrieval.imported import imported, imported_count
from app.retrieval.index import IndexSearch, Lend, Place, Segment, Spot
from app.retrieval.index_cache import Listing
from app.retrieval.neighbours import SPOT, spot_number, spread
from app.retrieval.postings import Mask
from app.retrieval.retrievers import qdrant
from app.retrieval.retrievers.qdrant import NOT_OURS
from app.retrieval.source import DAY, Foreign, Reached, day_number, revisions
from app.sources.points import PointSource, Row, Table
from app.types import Embedding, Passage, Query, Scope

log = structlog.get_logger(__name__)

PAGE = 256
"""Points read at a time."""
CARDS = 50
"""Of a kind, the newest: more fit into no prompt."""
MOST_CARDS = 1_000
"""Of one user's that other tools wrote: the record does not know which are the newest."""
NOT_TOLD = (("source", tuple(UNTOLD)),)
"""`Where.lacks` of what a search leaves out."""
COUNT_SECONDS = 0.5
"""For the engine to say how many points other tools wrote."""
NAMESPACE = "namespace"
"""The column of a segment that holds `namespace_number` of each row."""

User = tuple[str, str]
"""Tenant and user."""

SEARCHED = "origin <> ALL($3::text[]) AND space = $4"
LISTED = f"""
    SELECT coalesce((SELECT version FROM ibid.memory_user WHERE tenant = $1 AND user_id = $2), 0) AS version,
        (SELECT string_agg(id || ' ' || revision, ',') FROM ibid.memory
            WHERE tenant = $1 AND user_id = $2 AND {SEARCHED}) AS rows
"""  # noqa: S608 - a constant of ours
OWNED = "SELECT true FROM ibid.memory WHERE tenant = $1 AND user_id = $2 AND id = $3"
SHOWN = """
    SELECT id, text, tokens, created_at, kind, tags, origin, vantage_id, thread_id, place, days
    FROM ibid.memory WHERE id = ANY($1) AND tenant = $2 AND user_id = $3
"""


class MemorySource(PointSource[User]):
    """See the module. Beside `ports.Source` it reads and erases the points (`Cards`, `Holding`)."""

    name = remembered.NAME
    table = Table("ibid.memory", "id", "text", ("vantage_id", "thread_id", "place", "created_at"))

    # The record.

    async def reach(self, scope: Scope) -> Reached[User]:
        """The user's memories; nobody's are none."""
        if not scope.user_id:
            return Reached(self, scope, ())
        user = (scope.tenant, scope.user_id)
        stands = await remembered.standing_of(self._pool, *user)
        facts = (scope.vantage_id, await self._foreign_count(scope, stands))
        return Reached(self, scope, ((user, stands.version),), facts)

    async def listing(self, scope: User) -> Listing:
        """The ids with their revisions."""
        with retrieval_faults():
            row = await self._pool.fetchrow(LISTED, *scope, list(UNTOLD), self._space.name)
        assert row is not None  # noqa: S101 - it selects no rows but its own
        entries = await asyncio.to_thread(revisions, row["rows"])
        return Listing(row["version"], entries, len(entries))

    def entry(self, scope: User, row_id: str) -> str:
        """Its id."""
        return row_id

    def collection(self, scope: User) -> str:
        """One for all."""
        return RAW

    def columns(self, rows: Sequence[Row]) -> Mapping[str, NDArray[Any]]:
        """Place in the thread, day and namespace."""
        return {
            SPOT: np.array([spot_number(row["thread_id"], row["place"]) for row in rows], dtype=np.uint64),
            DAY: np.array(
                [day_number(remembered.day_said(row["created_at"])) for row in rows], dtype=np.int32
            ),
            NAMESPACE: np.array([namespace_number(row["vantage_id"]) for row in rows], dtype=np.uint64),
        }

    async def passages(
        self,
        reached: Reached[User],
        search: IndexSearch,
        similar: Mapping[Spot, float | None],
    ) -> Mapping[Spot, Passage]:
        """Memories as passages."""
        spots = {search.key(spot): spot for spot in similar}
        scope = reached.scope  # again, so that no index however late shows another's
        rows = await self._fetch(SHOWN, [*spots], scope.tenant, scope.user_id)
        marks = short(self.name, [row["id"] for row in rows])
        made = ((spots[row["id"]], row) for row in rows)
        return {spot: remembered.passage_of(row, marks[row["id"]], similar[spot]) for spot, row in made}

    # What a search sees.

    def allowed(self, reached: Reached[User], segment: Segment) -> Mask | None:
        """A namespace sees itself and what has none; a scope without one sees all."""
        if not reached.scope.vantage_id:
            return None
        column = segment.columns[NAMESPACE]
        return np.asarray((column == 0) | (column == namespace_number(reached.scope.vantage_id)))

    def lend(self) -> Lend:
        """Neighbours in the thread."""
        return spread

    # The engine.

    async def nearest(
        self, reached: Reached[User], scope: User, vector: Embedding, limit: int
    ) -> Sequence[Place]:
        """Qdrant's answer."""
        tenant, user_id = scope
        where = Where(
            has=(("tenant", (tenant,)), ("user_id", (user_id,))),
            open=in_namespace(reached.scope),
            lacks=NOT_TOLD,
        )
        found = await qdrant.nearest(self._points, self._homes.copy_of(RAW), vector, where, limit)
        return [(near.id, 1) for near in found]

    @property
    def _foreign_here(self) -> bool:
        """Whether other tools may write memories that are searched where they are."""
        return self._shared and self._homes.has_others(RAW, self._space.name)

    async def _foreign_count(self, scope: Scope, stands: remembered.Standing) -> int | str:
        """How many points of the user's other tools wrote; a string like no other: nobody knows now."""
        if not self._foreign_here or stands.since is not None:
            return 0  # while an erasure is under way they are told no more
        try:
            async with asyncio.timeout(min(COUNT_SECONDS, self._foreign_seconds)):
                return await qdrant.count(self._points, RAW, others_of(scope))
        except (TimeoutError, RetrievalError):
            return new_id()

    async def foreign(self, reached: Reached[User], query: Query, vector: Embedding) -> Foreign:
        """Points of `memory_raw` that other tools wrote."""
        [_, count] = reached.facts or (None, 0)
        if not count:
            return Foreign()
        try:
            found = await self._of_others(RAW, others_of(reached.scope), vector, query.limit)
            if isinstance(count, int) and RAW in self._homes.homes:
                count = max(0, count - await imported_count(self._pool, RAW, *reached.versions[0][0]))
        except RetrievalError as error:
            return Foreign(fault=error.reason)
        marks = short(self.name, [point.id for point, _ in found.points])
        passages = [remembered.passage(point, marks[point.id], similar) for point, similar in found.points]
        return Foreign(passages, count if isinstance(count, int) else len(passages), found.notes)

    # Cards, votes, erasure and export.

    async def cards(self, scope: Scope, kinds: Sequence[str]) -> list[Memory]:
        """The newest cards of each of these kinds, newest first: the record's, and what it does not know."""
        if not scope.user_id or not kinds:
            return []
        stands = await remembered.standing_of(self._pool, scope.tenant, scope.user_id)
        ours = await remembered.newest_cards(self._pool, (scope.tenant, scope.user_id), kinds, CARDS)
        if stands.since is not None or not self._foreign_here:
            return remembered.newest_of(ours, CARDS)
        where = replace(remembered.owned(scope, kinds=tuple(kinds)), lacks=NOT_OURS)
        try:
            found = [point async for point in self._scrolled(RAW, where, most=MOST_CARDS)]
            rows = await self._imported([point.id for point in found])
        except RetrievalError as error:  # the search beside this says so in `degraded`
            log.warning("cards of other tools are left out", reason=error.reason)
            return remembered.newest_of(ours, CARDS)
        others = [remembered.memory(point) for point in found if point.id not in rows]
        return remembered.newest_of([*others, *ours], CARDS)

    async def owns(self, scope: Scope, memory_id: str) -> bool:
        """Whether a memory is the user's, whoever wrote it (for `db/votes.py`)."""
        if not scope.user_id:
            return False
        with retrieval_faults():
            known = await self._pool.fetchval(OWNED, scope.tenant, scope.user_id, memory_id)
        if known is not None or not self._foreign_here:
            return bool(known)
        stands = await remembered.standing_of(self._pool, scope.tenant, scope.user_id)
        if stands.since is not None or await self._imported([memory_id]):
            return False
        where = replace(remembered.owned(scope), lacks=NOT_OURS, ids=(memory_id,))
        return bool(await qdrant.count(self._points, RAW, where))

    async def _imported(self, points: Sequence[str]) -> Mapping[str, str]:
        """Those of these points that are the record's, or were until they were removed."""
        return await imported(self._pool, RAW, points) if RAW in self._homes.homes and points else {}

    async def erase(self, scope: Scope) -> int:
        """All points of the user's, those of older tools and all cards too; how many there were."""
        most = 0
        with unavailable():
            for name in self._collections():
                most = max(most, await qdrant.count(self._points, name, remembered.owned(scope)))
                await self._points.remove(name, remembered.owned(scope))
        return most

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        """Every point of the user's, as it is kept; vectors are left out."""
        with unavailable():
            for name in self._collections():
                async for point in self._scrolled(name, remembered.owned(scope)):
                    yield {"id": point.id, **point.payload}

    def _collections(self) -> list[str]:
        """Where points of a user may be: in our copy, and in the collection that was imported."""
        return [*dict.fromkeys((self._homes.copy_of(RAW), RAW))]

    async def _scrolled(self, name: str, where: Where, *, most: int | None = None) -> AsyncIterator[Point]:
        """Point by point, by id; none of a collection that is not there."""
        after, read = None, 0
        while most is None or read < most:
            page = await qdrant.page(self._points, name, where, PAGE, after)
            for point in page:
                yield point
            if len(page) < PAGE:
                return
            after, read = page[-1].id, read + len(page)


def namespace_number(vantage_id: str | None) -> int:
    """A namespace as a column holds it; 0: none."""
    if not vantage_id:
        return 0
    return int.from_bytes(hashlib.blake2b(vantage_id.encode(), digest_size=8).digest(), "little") | 1


def others_of(scope: Scope) -> Where:
    """What other tools wrote of the user's and a search may find."""
    owned = remembered.owned(scope)
    return replace(owned, open=(*owned.open, *in_namespace(scope)), lacks=(*NOT_TOLD, *NOT_OURS))


def in_namespace(scope: Scope) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`Where.open` of a namespace: it sees itself and what has none."""
    return (("vantage_id", (scope.vantage_id,)),) if scope.vantage_id else ()
