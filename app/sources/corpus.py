"""The corpus: every other Qdrant collection that holds texts of the asker's tenant, all searched at once.

Filtered in the engine by tenant; points without one, as older tools wrote, are the tenant `default`'s. A
collection of another space is passed over with a note, one that fails costs its own passages only. Reads
raise `RetrievalError`, writes `Unavailable`. Why: docs/decisions/0027.
"""

import asyncio
import json
from collections.abc import Awaitable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

import structlog

from app.clients.phrase import MEANING, WORDS
from app.clients.points import Collection as Shape
from app.clients.points import Points, Where
from app.clients.pool import Pool
from app.domain.answer import new_id
from app.domain.corpus import Reference
from app.domain.errors import RetrievalError
from app.domain.memory import RAW
from app.domain.passage import Embedding, Legs, Query, Scope
from app.domain.space import Space
from app.index import referred, standing
from app.index.catalogue import Catalogue, Indexed, fits, unavailable
from app.index.legs import asked, look
from app.index.remembered import tenants
from app.index.seen import Question
from app.index.standing import Standing
from app.index.union import Searched, merged
from app.retrieval.terms import VERSION

FIELDS = Indexed(keys=("source", "kind"), tenants=("tenant",), times=("created_at",))
AT_ONCE = 8
"""Collections searched at the same time for one question."""
TOGETHER = 4
"""For all questions, embedded: half of the engine's threads, so that memories have the others."""
SERVED = 16
"""For all questions, by a server: half of the connections to it."""
LIST_SECONDS = 1.0
"""For the engine to say which ones there are: one that hangs must not look like a Postgres that hangs."""

log = structlog.get_logger(__name__)


class CorpusSource:
    """Keeps ports.Source and corpus.CorpusIndex."""

    name = referred.NAME

    def __init__(
        self,
        pool: Pool,
        points: Points,
        catalogue: Catalogue,
        space: Space,
        *,
        store: str = "",
        only: Collection[str] = (),
        together: int = TOGETHER,
    ) -> None:
        self._pool = pool
        self._points = points
        self._catalogue = catalogue
        self._space = space
        self.store = store
        """Which database and engine these are: two may share a cache."""
        self._only = frozenset(only)
        """The collections to look at (CORPUS_COLLECTIONS); none named: all."""
        self._turns = asyncio.Semaphore(together)
        self._versions: dict[str, int] = {}
        """Of each tenant, as far as the catalogue is not older."""

    async def reach(self, scope: Scope) -> "Reached":
        """The collections as they are known now; only Postgres's faults are raised here (`memories.py`)."""
        stands = await standing.of_tenant(self._pool, scope.tenant)
        if self._versions.get(scope.tenant) != stands.version:
            self._catalogue.forget(tenants(scope))  # another replica may have made one: the list too is old
            self._versions[scope.tenant] = stands.version
        try:
            async with asyncio.timeout(LIST_SECONDS):
                shapes = await self._listed()
                return Reached(self, scope, stands, shapes, await self._counted(scope, shapes))
        except TimeoutError:
            return Reached(self, scope, stands)
        except RetrievalError as error:
            return Reached(self, scope, stands, fault=error)

    async def _listed(self) -> tuple[Shape, ...]:
        """The collections to look at."""
        return tuple(shape for shape in (await self._catalogue.all()).values() if self._wanted(shape))

    def _wanted(self, shape: Shape) -> bool:
        """Whether a collection is looked at at all."""
        return shape.name != RAW and (not self._only or shape.name in self._only)

    async def _counted(self, scope: Scope, shapes: Sequence[Shape]) -> tuple[int | None, ...]:
        """How many points of each are the tenant's; None: the engine does not say."""
        few, where = asyncio.Semaphore(AT_ONCE), tenants(scope)

        async def count(shape: Shape) -> int | None:
            async with few:
                try:
                    return await self._catalogue.count(shape.name, where)
                except RetrievalError:
                    return None

        return tuple(await asyncio.gather(*map(count, shapes)))

    async def search(self, reached: "Reached", query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """All collections at once, one round trip each, once the query is embedded."""
        if reached.fault:
            raise reached.fault
        shapes = await self._listed() if reached.shapes is None else reached.shapes
        question = await asked(query, await embedding, self._space)
        few = asyncio.Semaphore(AT_ONCE)
        found = await asyncio.gather(*(self._one(few, reached, shape, question) for shape in shapes))
        return together(self.name, found, query.limit)

    async def _one(
        self, few: asyncio.Semaphore, reached: "Reached", shape: Shape, question: Question
    ) -> Searched:
        """One collection; whatever becomes of it, the others count."""
        name, where = shape.name, tenants(reached.scope)
        async with few, self._turns:
            try:
                stored = await self._catalogue.count(name, where)
                if not stored:
                    return Searched(name)  # nothing of this tenant's: not even its name is told
                if not fits(shape, self._space):
                    note = f"{name} was passed over: its vectors are of another space"
                    return Searched(name, notes=(note,))
                barred = reached.stands.removed
                seen = await look(self._points, shape, where, question, passages=stored, barred=barred)
            except RetrievalError as error:
                return await self._lost(name, error)
        note = f"points of {name} without text were passed over: {seen.textless}"
        return Searched(name, seen, stored, (note,) if seen.textless else ())

    async def _lost(self, name: str, error: RetrievalError) -> Searched:
        """A collection that has gone meanwhile is a note, one that does not answer a fault."""
        gone = False
        if error.rejected:  # else nothing that is known is in doubt, and to list anew would be one load more
            self._catalogue.forget()
            with suppress(RetrievalError):
                gone = await self._catalogue.get(name) is None
        log.warning("collection not searched", collection=name, reason=error.reason, gone=gone)
        if gone:
            return Searched(name, notes=(f"{name} is not there any more",))
        return Searched(name, notes=(f"{name} did not answer: {error.reason}",), fault=error)

    async def put(
        self, scope: Scope, collection: str, texts: Sequence[Reference], embeddings: Sequence[Embedding]
    ) -> None:
        """Searchable when it returns; again replaces."""
        points = [
            referred.point(scope, text, embedding, self._space.name)
            for text, embedding in zip(texts, embeddings, strict=True)
        ]
        await self._catalogue.put(collection, self._space, FIELDS, points)

    async def remove(self, scope: Scope, collection: str, points: Sequence[str]) -> None:
        """Gone from the index; nothing there is no error."""
        with unavailable():
            await self._points.remove(collection, replace(tenants(scope), ids=tuple(points)))

    async def drop(self, collection: str) -> None:
        """The collection, if Ibid made it and is empty: the record knows nothing of other tools' points."""
        with unavailable():
            self._catalogue.forget()
            shape = await self._catalogue.get(collection)
            if shape is None or (shape.dense, shape.words) != (MEANING, WORDS):
                return
            if await self._points.count(collection, Where()) == 0:
                await self._points.drop(collection)
                self._catalogue.forget()


def together(name: str, found: Sequence[Searched], limit: int) -> Legs:
    """What the collections found; a fault is raised where none of them answered."""
    faults = [each.fault for each in found if each.fault]
    if faults and len(faults) == len(found):
        raise faults[0]
    legs = merged(name, [each for each in found if not each.fault], limit)
    return replace(
        legs,
        stored=sum(each.stored for each in found),
        notes=tuple(chain.from_iterable(each.notes for each in found)),
        partial=faults[0].reason if faults else "",
    )


@dataclass(frozen=True, slots=True)
class Reached:
    """Keeps found.Reach: a tenant's corpus as the record and the engine told of it."""

    source: CorpusSource
    scope: Scope
    stands: Standing
    shapes: tuple[Shape, ...] | None = None
    """None: the engine has not said in time."""
    counts: tuple[int | None, ...] = ()
    """The tenant's points in each; None: the engine does not say."""
    fault: RetrievalError | None = None
    """The engine's, for the search to raise."""

    @property
    def standing(self) -> str:
        """The tenant, its version, and what it has in which collections: other tools write too. What others
        have there is not in it: whether a result is kept must not tell that they write."""
        if self.shapes is None or None in self.counts:
            return new_id()  # like no other
        rows = zip(self.shapes, self.counts, strict=True)
        held = [[shape.name, shape.dim, count] for shape, count in rows if count]
        return json.dumps(
            [self.source.name, self.source.store, VERSION, self.scope.tenant, self.stands.version, held]
        )

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """Both legs; raises `RetrievalError`."""
        return await self.source.search(self, query, embedding)
