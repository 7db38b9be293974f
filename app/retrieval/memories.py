"""Memories: what a person said and stored, searched exactly in memory.

Postgres is the record. A scope is one user; a namespace sees itself and memories without one. Qdrant's
`memory_raw` holds the same points, for users with very many memories, and points of older tools. BM25 scores
spread along a thread: a turn seldom contains the words it is about, which the turn before asked with.
Similarity does not: a neighbour's adds little. Reads raise `RetrievalError`, writes `Unavailable`. Why:
docs/adr/0004.
"""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from app.answer import new_id
from app.db.memories import EXCLUDED_ORIGINS, RAW, Memory
from app.db.pool import Pool, retrieval_faults
from app.errors import RetrievalError, required
from app.retrieval.bm25 import Mask
from app.retrieval.index import Address, Floats, IndexSearch, NeighbourScores, PassageKey, Segment
from app.retrieval.index_cache import Listing
from app.retrieval.points import (
    MEMORIES,
    memory_from_point,
    memory_point_passage,
    memory_row_passage,
    owned,
)
from app.retrieval.qdrant_source import PointSource, PointTable, Row
from app.retrieval.retrievers.points import Point, Where
from app.retrieval.retrievers.qdrant import NOT_OURS, imported, imported_count
from app.retrieval.source import (
    DAY,
    WRITTEN,
    Foreign,
    Reached,
    day_number,
    label_suffixes,
    revisions,
    written_at,
)
from app.types import Embedding, Passage, Query, Scope, day_said

log = structlog.get_logger(__name__)

PAGE = 256
"""Points per page."""
CARDS = 50
"""Newest cards of each kind that are read: more fit into no prompt."""
MOST_CARDS = 1_000
"""Most cards of other tools read for a user: which are the newest is known only afterwards."""
NOT_EXCLUDED = (("source", tuple(EXCLUDED_ORIGINS)),)
"""`Where.lacks` for origins that a search excludes."""
COUNT_SECONDS = 0.5
"""Deadline of counting the points that other tools wrote."""
NAMESPACE = "namespace"
"""Column of a segment with each row's `namespace_number`."""

User = tuple[str, str]
"""(tenant, user)."""

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
    """The source; also reads and erases a person's points (`Holding`)."""

    name = MEMORIES
    table = PointTable("ibid.memory", "id", "text", ("vantage_id", "thread_id", "place", "created_at"))

    # Rows in Postgres.

    async def reach(self, scope: Scope) -> Reached[User]:
        if not scope.user_id:
            return Reached(self, scope, ())
        user = (scope.tenant, scope.user_id)
        standing = await standing_of(self._pool, *user)
        facts = (scope.vantage_id, await self._foreign_count(scope, standing))
        return Reached(self, scope, ((user, standing.version),), facts)

    async def listing(self, scope: User) -> Listing:
        with retrieval_faults():
            row = await self._pool.fetchrow(LISTED, *scope, list(EXCLUDED_ORIGINS), self._space.name)
        assert row is not None  # noqa: S101 - it selects no rows but its own
        entries = await asyncio.to_thread(revisions, row["rows"])
        return Listing(row["version"], entries, len(entries))

    def entry(self, scope: User, row_id: str) -> str:
        return row_id

    def collection(self, scope: User) -> str:
        return RAW

    def columns(self, rows: Sequence[Row]) -> Mapping[str, NDArray[Any]]:
        return {
            THREAD_POSITION: np.array(
                [thread_position(row["thread_id"], row["place"]) for row in rows], dtype=np.uint64
            ),
            DAY: np.array([day_number(day_said(row["created_at"])) for row in rows], dtype=np.int32),
            WRITTEN: np.array([written_at(row["created_at"]) for row in rows], dtype=np.int64),
            NAMESPACE: np.array([namespace_number(row["vantage_id"]) for row in rows], dtype=np.uint64),
        }

    async def passages(
        self,
        reached: Reached[User],
        search: IndexSearch,
        similar: Mapping[Address, float | None],
    ) -> Mapping[Address, Passage]:
        addresses = {search.passage_id(address): address for address in similar}
        scope = reached.scope  # checked again, so that a stale index never shows another user's
        rows = await self._fetch(SHOWN, [*addresses], scope.tenant, scope.user_id)
        marks = label_suffixes(self.name, [row["id"] for row in rows])
        made = ((addresses[row["id"]], row) for row in rows)
        return {address: memory_row_passage(row, marks[row["id"]], similar[address]) for address, row in made}

    async def named(self, scope: Scope, ids: Sequence[str]) -> list[Passage]:
        """The user's memories of these ids, cards included; those of other tools are left out."""
        rows = await self._fetch(SHOWN, list(ids), scope.tenant, scope.user_id or "")
        marks = label_suffixes(self.name, [row["id"] for row in rows])
        return [memory_row_passage(row, marks[row["id"]], None) for row in rows]

    # Filters of a search.

    def allowed(self, reached: Reached[User], segment: Segment) -> Mask | None:
        """A namespace sees itself and memories without one; a scope without a namespace sees all."""
        if not reached.scope.vantage_id:
            return None
        column = segment.columns[NAMESPACE]
        return np.asarray((column == 0) | (column == namespace_number(reached.scope.vantage_id)))

    def spread(self) -> NeighbourScores:
        return spread

    # Points of other tools.

    async def nearest(
        self, reached: Reached[User], scope: User, vector: Embedding, limit: int
    ) -> Sequence[PassageKey]:
        tenant, user_id = scope
        where = Where(
            has=(("tenant", (tenant,)), ("user_id", (user_id,))),
            open=in_namespace(reached.scope),
            lacks=NOT_EXCLUDED,
        )
        found = await self._points.search(self._imports.copy_of(RAW), where, vector, limit, payload=False)
        return [(near.id, 1) for near in found]

    @property
    def _foreign_here(self) -> bool:
        return self._shared and self._imports.has_others(RAW, self._space.name)

    async def _foreign_count(self, scope: Scope, standing: "MemoryStanding") -> int | str:
        """Number of other tools' points of the user; a random string if the engine does not answer."""
        if not self._foreign_here or standing.since is not None:
            return 0  # hidden during an erasure
        try:
            async with asyncio.timeout(min(COUNT_SECONDS, self._foreign_seconds)):
                return await self._points.count(RAW, others_of(scope))
        except (TimeoutError, RetrievalError):
            return new_id()

    async def foreign(self, reached: Reached[User], query: Query, vector: Embedding) -> Foreign:
        [_, count] = reached.facts or (None, 0)
        if not count:
            return Foreign()
        try:
            found = await self._of_others(RAW, others_of(reached.scope), vector, query.limit)
            if isinstance(count, int) and RAW in self._imports.copies:
                count = max(0, count - await imported_count(self._pool, RAW, *reached.versions[0][0]))
        except RetrievalError as error:
            return Foreign(fault=error.reason)
        marks = label_suffixes(self.name, [point.id for point, _ in found.points])
        passages = [memory_point_passage(point, marks[point.id], similar) for point, similar in found.points]
        return Foreign(passages, count if isinstance(count, int) else len(passages), found.notes)

    # Cards, votes, erasure and export.

    async def cards(self, scope: Scope, kinds: Sequence[str]) -> list[Memory]:
        """The newest cards of each kind, newest first, those of other tools included."""
        if not scope.user_id or not kinds:
            return []
        standing = await standing_of(self._pool, scope.tenant, scope.user_id)
        ours = await newest_cards(self._pool, (scope.tenant, scope.user_id), kinds, CARDS)
        if standing.since is not None or not self._foreign_here:
            return newest_of(ours, CARDS)
        where = replace(owned(scope, kinds=tuple(kinds)), lacks=NOT_OURS)
        try:
            found = [point async for point in self._scrolled(RAW, where, most=MOST_CARDS)]
            rows = await self._imported([point.id for point in found])
        except RetrievalError as error:  # the concurrent search reports this in `degraded`
            log.warning("cards of other tools are left out", reason=error.reason)
            return newest_of(ours, CARDS)
        others = [memory_from_point(point) for point in found if point.id not in rows]
        return newest_of([*others, *ours], CARDS)

    async def owns(self, scope: Scope, memory_id: str) -> bool:
        """True for the user's memory, also one of another tool (for `db/votes.py`)."""
        if not scope.user_id:
            return False
        with retrieval_faults():
            known = await self._pool.fetchval(OWNED, scope.tenant, scope.user_id, memory_id)
        if known is not None or not self._foreign_here:
            return bool(known)
        standing = await standing_of(self._pool, scope.tenant, scope.user_id)
        if standing.since is not None or await self._imported([memory_id]):
            return False
        where = replace(owned(scope), lacks=NOT_OURS, ids=(memory_id,))
        return bool(await self._points.count(RAW, where))

    async def _imported(self, points: Sequence[str]) -> Mapping[str, str]:
        """Those of these points that are, or were before their removal, in Postgres too."""
        return await imported(self._pool, RAW, points) if RAW in self._imports.copies and points else {}

    async def erase(self, scope: Scope) -> int:
        """Delete all points of the user, older tools' and cards too; returns their number."""
        most = 0
        with required("Qdrant"):
            for name in self._collections():
                most = max(most, await self._points.count(name, owned(scope)))
                await self._points.remove(name, owned(scope))
        return most

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        with required("Qdrant"):
            for name in self._collections():
                async for point in self._scrolled(name, owned(scope)):
                    yield {"id": point.id, **point.payload}

    def _collections(self) -> list[str]:
        return [*dict.fromkeys((self._imports.copy_of(RAW), RAW))]

    async def _scrolled(self, name: str, where: Where, *, most: int | None = None) -> AsyncIterator[Point]:
        after, read = None, 0
        while most is None or read < most:
            page = await self._points.scroll(name, where, limit=PAGE, after=after)
            for point in page:
                yield point
            if len(page) < PAGE:
                return
            after, read = page[-1].id, read + len(page)


def namespace_number(vantage_id: str | None) -> int:
    if not vantage_id:
        return 0
    return int.from_bytes(hashlib.blake2b(vantage_id.encode(), digest_size=8).digest(), "little") | 1


def others_of(scope: Scope) -> Where:
    """The user's points that other tools wrote and a search may find."""
    own = owned(scope)
    return replace(own, open=(*own.open, *in_namespace(scope)), lacks=(*NOT_EXCLUDED, *NOT_OURS))


def in_namespace(scope: Scope) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`Where.open` of a namespace: it sees itself and points without one."""
    return (("vantage_id", (scope.vantage_id,)),) if scope.vantage_id else ()


NEWEST_CARDS = """
    SELECT found.* FROM unnest($3::text[]) AS wanted (kind) CROSS JOIN LATERAL (
        SELECT id, user_id, text, tokens, created_at, kind, tags, origin, vantage_id, thread_id, place,
            fields, revision
        FROM ibid.memory
        WHERE tenant = $1 AND user_id = $2 AND kind = wanted.kind
        ORDER BY created_at DESC, id DESC LIMIT $4
    ) AS found
"""


async def newest_cards(pool: Pool, owner: tuple[str, str], kinds: Sequence[str], most: int) -> list[Memory]:
    """A user's cards in Postgres, at most `most` of each kind; `owner`: (tenant, user)."""
    with retrieval_faults():
        rows = await pool.fetch(NEWEST_CARDS, *owner, list(dict.fromkeys(kinds)), most)
    return [
        Memory(
            **{
                **row,
                "tags": tuple(row["tags"]),
                "thread_id": row["thread_id"] or None,
                "fields": json.loads(row["fields"]),
            }
        )
        for row in rows
    ]


def newest_of(cards: Iterable[Memory], most: int) -> list[Memory]:
    known = {card.id: card for card in cards}.values()
    by_kind = sorted(known, key=lambda card: (card.kind, card.created_at, card.id), reverse=True)
    kept = [card for _, each in groupby(by_kind, key=lambda card: card.kind) for card in [*each][:most]]
    return sorted(kept, key=lambda card: (card.created_at, card.id), reverse=True)


# Until an erasure is complete (alembic 0009) only later writes may be shown: Postgres knows them, while
# points to be deleted may still be there, or have survived in an engine that was down.
USER = """
    SELECT coalesce(known.version, 0) AS version,
        CASE WHEN known.erased_at IS NOT NULL AND known.ended_at IS NULL THEN ARRAY(SELECT id FROM ibid.memory
            WHERE tenant = $1 AND user_id = $2 ORDER BY id) END AS since
    FROM (SELECT) AS one
    LEFT JOIN ibid.memory_user AS known ON known.tenant = $1 AND known.user_id = $2
"""


@dataclass(frozen=True, slots=True)
class MemoryStanding:
    """Version of a user's memories, and whether an erasure is under way."""

    version: int
    """Grows with every write that a search would see."""
    since: tuple[str, ...] | None = None
    """Ids that may be shown during an erasure; None: all."""


async def standing_of(pool: Pool, tenant: str, user_id: str) -> MemoryStanding:
    with pool.reading():
        row = await pool.fetchrow(USER, tenant, user_id)
    assert row is not None  # noqa: S101 - it joins to one row of its own
    since = row["since"]
    return MemoryStanding(row["version"], None if since is None else tuple(since))


STEPS = {-1: 0.5, 1: 0.5, -2: 0.25, 2: 0.25}
"""Share of a neighbour's score that is added, by distance in the thread."""
THREAD_POSITION = "thread_position"
"""Column of a segment with `thread_position`."""
PLACES = 24
"""Bits of the place; the other 40 are the thread's."""


def thread_position(thread_id: str, place: int) -> int:
    """Thread and place as one number; 0: unknown. Consecutive places of a thread are consecutive numbers."""
    if not thread_id or not 0 < place < 1 << PLACES:
        return 0
    digest = hashlib.blake2b(thread_id.encode("utf-8", "surrogatepass"), digest_size=5).digest()
    return int.from_bytes(digest, "little") << PLACES | place


def spread(segments: Sequence[Segment], scores: Sequence[Floats]) -> list[Floats]:
    """What the neighbours of each row add to its score. Of two memories at one position the better counts."""
    if not segments:
        return []
    positions = np.concatenate([segment.columns[THREAD_POSITION] for segment in segments])
    every = np.concatenate([*scores])
    lent = np.zeros(len(every))
    scored = np.flatnonzero((every > 0) & (positions > 0))
    if len(scored):
        distinct, best = _best_by_position(positions[scored], every[scored])
        targets = np.concatenate([distinct + np.uint64(step % (1 << 64)) for step in STEPS])
        loans = np.concatenate([share * best for share in STEPS.values()])
        targets, at = np.unique(targets, return_inverse=True)
        lent = _look_up(positions, targets, np.bincount(at, weights=loans).astype(np.float64))
    return np.split(lent, np.cumsum([len(each) for each in scores])[:-1])


def _best_by_position(positions: NDArray[np.uint64], scores: Floats) -> tuple[NDArray[np.uint64], Floats]:
    """Distinct positions, ascending, and the best score at each."""
    distinct, at = np.unique(positions, return_inverse=True)
    best = np.zeros(len(distinct))
    np.maximum.at(best, at, scores)
    return distinct, best


def _look_up(positions: NDArray[np.uint64], known: NDArray[np.uint64], values: Floats) -> Floats:
    """The value at each position, 0 if unknown. `known` ascends."""
    at = np.minimum(np.searchsorted(known, positions), len(known) - 1)
    return np.where((known[at] == positions) & (positions > 0), values[at], 0.0)
