"""Qdrant as a retriever (memories, corpora): its points, its collections, and those that were imported.

The embedded engine and a server are behind one port of points. Our points are marked by the payload field
`ibid`, so that a search for what other tools wrote can leave them out.

A collection that `ibid adopt` imported stays its tool's: Ibid never writes there, and keeps its copy of the
rows in another collection (`ibid.collection_home`). Points that the tool writes later are searched where they
are, if their vectors belong to the current space; those that were imported are left out. The same holds for a
collection with the name of one of ours that cannot hold our vectors. Reads raise `RetrievalError`, writes
`Unavailable`.
"""

import asyncio
import math
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.clients.points import Collection, Point, Where
from app.clients.qdrant import Qdrant
from app.db.pool import Pool, retrieval_faults
from app.errors import RetrievalError, Unavailable
from app.types import Embedding, Space

MARK: Mapping[str, str] = {"ibid": "1"}
"""In the payload of every point that Ibid writes."""
NOT_OURS = (("ibid", ("1",)),)
"""`Where.lacks` of what other tools wrote."""
LEGACY = frozenset({"tenant", "text", "tokens", "space"})
"""In the payload of every point that Ibid wrote before points were marked."""


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


def is_ours(payload: Mapping[str, object], spaces: Container[str]) -> bool:
    """True for points that Ibid wrote; older versions left them unmarked, with these fields."""
    if MARK.items() <= payload.items():
        return True
    return payload.keys() >= LEGACY and payload["space"] in spaces


SECONDS = 30.0
"""As long a collection that somebody else made may go unseen."""
RETRY_SECONDS = 2
"""What Retry-After says while the engine is away."""


@dataclass(frozen=True, slots=True)
class PayloadIndexes:
    """Payload fields that searches filter by, by type of index."""

    keys: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    times: tuple[str, ...] = ()


def fits(shape: Collection, space: Space) -> bool:
    """True if its vectors can be of this space."""
    return shape.cosine and shape.dim == space.dim


@contextmanager
def unavailable() -> Iterator[None]:
    """Around writes: what costs a search its passages costs a write itself."""
    try:
        yield
    except RetrievalError as error:
        raise Unavailable("Qdrant does not answer", retry_after=RETRY_SECONDS) from error


class CollectionCache:
    """See the module. For one event loop."""

    def __init__(
        self, points: Qdrant, *, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._points = points
        self._seconds = seconds
        self._clock = clock
        self._listing = asyncio.Lock()
        self._listed: dict[str, Collection] = {}
        self._until = -math.inf
        self._turn = 0
        """Grows when what is known is forgotten."""
        self._known = -1
        """The turn at which the list was requested: it serves requests up to this turn."""

    async def all(self) -> Mapping[str, Collection]:
        """Collections by name, as of this call or later. Concurrent calls share one request."""
        turn = self._turn
        async with self._listing:
            if self._known < turn or self._clock() >= self._until:
                asked = self._turn  # what is forgotten from now on is for those who ask from now on
                self._listed = {each.name: each for each in await self._points.collections()}
                self._known, self._until = asked, self._clock() + self._seconds
            return self._listed

    async def get(self, name: str) -> Collection | None:
        return (await self.all()).get(name)

    async def put(self, name: str, space: Space, fields: PayloadIndexes, points: Sequence[Point]) -> None:
        """Write points; the collection is made where it is missing, or went missing meanwhile."""
        with unavailable():
            shape = await self.get(name)
            if shape and not fits(shape, space):
                said = f"the collection {name} holds vectors of another space than {space.name}"
                raise Unavailable(f"{said}: ibid doctor says what to do")
            try:
                if shape is None:
                    await self._make(name, space, fields)
                await self._points.put(name, points)
            except RetrievalError as error:
                self.forget()
                if not error.rejected:
                    raise
                await self._make(name, space, fields)
                await self._points.put(name, points)

    async def _make(self, name: str, space: Space, fields: PayloadIndexes) -> None:
        """Create a collection for our points."""
        named = {"keys": fields.keys, "tenants": fields.tenants, "times": fields.times}
        await self._points.create(name, space.dim, **named)
        self.forget()

    def forget(self) -> None:
        """The next request reads the list again."""
        self._turn += 1


IDS = "SELECT point, id FROM ibid.imported WHERE collection = $1 AND point = ANY($2)"
COUNT = "SELECT count(*) FROM ibid.imported WHERE collection = $1 AND tenant = $2 AND user_id = $3"


COPY_ENDING = "_ibid"
"""Ends the name of our copy of another tool's collection."""
NOT_IMPORTED = ""
"""In place of a space: the collection was not imported, another tool only uses the same name."""


@dataclass(slots=True)
class ImportedCollections:
    """Where the copy of each collection is. For most collections: under its own name."""

    copies: dict[str, str] = field(default_factory=dict)
    """The name of our copy, by the name of the other tool's collection."""
    spaces: dict[str, str | None] = field(default_factory=dict)
    """The embedding space of its own vectors; None: another model's; NOT_IMPORTED."""

    def copy_of(self, name: str) -> str:
        """The collection in Qdrant that holds our copy."""
        return self.copies.get(name, name)

    def name_of(self, physical: str) -> str | None:
        """The inverse of `copy_of`; None for an imported collection, which holds no copy."""
        if physical in self.copies:
            return None
        return next((name for name, copy in self.copies.items() if copy == physical), physical)

    def has_others(self, physical: str, space: str) -> bool:
        """True if points of other tools may be there that a search in this space should find."""
        if physical in self.copies:
            return self.spaces[physical] in {space, NOT_IMPORTED}
        return physical not in self.copies.values()

    def is_imported(self, name: str) -> bool:
        """True if `ibid adopt` imported the collection."""
        return self.spaces.get(name, NOT_IMPORTED) != NOT_IMPORTED


def free(name: str, taken: Iterable[str]) -> str:
    """A name for our copy of a collection that no other has."""
    taken, home = set(taken), name + COPY_ENDING
    while home in taken:
        home = home + COPY_ENDING
    return home


async def imported(pool: Pool, collection: str, points: Iterable[str]) -> dict[str, str]:
    """The row's id of each of these points that was imported, whether or not the row is still there."""
    with retrieval_faults():
        return {row[0]: row[1] for row in await pool.fetch(IDS, collection, list(points))}


async def imported_count(pool: Pool, collection: str, tenant: str, user_id: str = "") -> int:
    """How many points of an owner were imported."""
    with retrieval_faults():
        return int(await pool.fetchval(COUNT, collection, tenant, user_id))
