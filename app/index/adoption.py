"""Collections of points that older tools wrote, in vectors of another space (`domain/adoption.Shelves`).

They stay as they are, whoever goes on using them; a collection of ours is made beside each, given what is in
it (payloads to the letter, ids kept, texts embedded anew), and searched and written in its place from then on
(`clients/lodged.py`). Copied is what is missing or has changed: a run that broke off is finished by the next,
and what the older tool writes later is fetched by another. Points without a text are left where they are.
Raises `RetrievalError`, `Unavailable`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from app.clients.points import Collection as Shape
from app.clients.points import Point, Points, Where
from app.domain.adoption import Shelf
from app.domain.errors import RetrievalError
from app.domain.memory import RAW
from app.domain.passage import Embedding
from app.domain.ports import Embedder
from app.domain.space import Space
from app.index.catalogue import Catalogue, Indexed, fits, unavailable
from app.index.payload import text

PAGE = 64
"""Points looked at, and texts embedded, at a time."""
HOME = "{}_ibid"
Fields = Callable[[str], Indexed]
"""What a collection is filtered by."""


class Known(Protocol):
    """The part of the record that is needed (`stores/copies.py`)."""

    async def known(self, points: Sequence[str]) -> set[str]:
        """Which of these points it has: they are ours, and come back from it."""


class Homes(Protocol):
    """Where collections are (`stores/homes.py`). `Unavailable`."""

    async def all(self) -> Mapping[str, str]:
        """By name."""

    async def keep(self, name: str, home: str) -> str:
        """From now on it stands for the other; the one that does already."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Points as they really are named, and what makes vectors of ours."""

    points: Points
    embedder: Embedder
    space: Space
    fields: Fields
    only: Collection[str] = ()
    """The collections to look at, and the memories' (CORPUS_COLLECTIONS); none named: all."""


class ShelfAdoption:
    """See the module."""

    def __init__(
        self, engine: Engine, known: Known, homes: Homes, settle: Callable[[], Awaitable[object]]
    ) -> None:
        """`settle`: writes what the record has of ours into the homes."""
        self._points = engine.points
        self._engine = engine
        self._catalogue = Catalogue(engine.points)
        self._known = known
        self._homes = homes
        self._settle = settle
        self._free: dict[str, str] = {}
        """Homes for those that have none."""

    async def found(self) -> list[Shelf]:
        """Those with points of others that say something; not what stands for one of them."""
        homes = await self._homes.all()
        with unavailable():
            shapes = await self._points.collections()
        shelves = [
            await self._shelf(shape, homes.get(shape.name, ""))
            for shape in shapes
            if shape.name not in homes.values() and self._wanted(shape.name)
        ]
        self._free = free([each.name for each in shelves], {*homes.values(), *(each.name for each in shapes)})
        return [shelf for shelf in shelves if shelf.points]

    def _wanted(self, name: str) -> bool:
        """Whether it is looked at at all."""
        return name == RAW or not self._engine.only or name in self._engine.only

    async def _shelf(self, shape: Shape, home: str) -> Shelf:
        """A collection in figures."""
        told = silent = 0
        async for page in self._pages(shape.name):
            told += sum(bool(text(point.payload)) for point in page)
            silent += sum(not text(point.payload) for point in page)
        return Shelf(shape.name, told, silent, shape.dim, fits(shape, self._engine.space), home)

    def home(self, shelf: Shelf) -> str:
        """Its own, else one that is free."""
        return shelf.home or self._free[shelf.name]

    async def sample(self, shelf: Shelf, limit: int) -> list[tuple[str, Embedding]]:
        """The first ones that have both."""
        found: list[tuple[str, Embedding]] = []
        async for page in self._pages(shelf.name, vectors=True):
            pairs = [(text(point.payload), point.dense) for point in page]
            found += [(told, vector) for told, vector in pairs if told and vector]
            if len(found) >= limit:
                break
        return found[:limit]

    async def missing(self, shelf: Shelf) -> int:
        """How many `carry` would copy."""
        return sum([len(lacking) async for lacking in self._lacking(shelf)])

    async def carry(self, shelf: Shelf) -> AsyncIterator[int]:
        """First it is recorded where they go: until the last has come a search finds the ones that have."""
        home, space = await self._homes.keep(shelf.name, self.home(shelf)), self._engine.space
        shelf = replace(shelf, home=home)
        fields = self._engine.fields(shelf.name)
        async for lacking in self._lacking(shelf):
            texts = [text(point.payload) for point in lacking]
            vectors = await self._engine.embedder.passages(texts)
            rows = zip(lacking, texts, vectors, strict=True)
            points = [Point(point.id, point.payload, vector) for point, told, vector in rows]
            await self._catalogue.put(home, space, fields, points)
            yield len(points)

    async def settle(self) -> None:
        """Ours."""
        await self._settle()

    async def _lacking(self, shelf: Shelf) -> AsyncIterator[list[Point]]:
        """Page by page, the points with a text that its home has not, or not as they are now."""
        home = self.home(shelf)
        async for page in self._pages(shelf.name):
            told = [point for point in page if text(point.payload)]
            there = await self._there(home, [point.id for point in told])
            if lacking := [point for point in told if there.get(point.id) != point.payload]:
                yield lacking

    async def _there(self, home: str, ids: Sequence[str]) -> Mapping[str, Mapping[str, object]]:
        """What a home has of these; nothing where it is not made yet."""
        if not ids:
            return {}
        try:
            found = await self._points.scroll(home, Where(ids=tuple(ids)), limit=len(ids))
        except RetrievalError as error:
            if not error.rejected:
                raise
            return {}
        return {point.id: point.payload for point in found}

    async def _pages(self, name: str, *, vectors: bool = False) -> AsyncIterator[list[Point]]:
        """The points that the record does not have."""
        after = None
        while page := await self._points.scroll(name, Where(), limit=PAGE, after=after, vectors=vectors):
            ours = await self._known.known([point.id for point in page])
            if others := [point for point in page if point.id not in ours]:
                yield others
            after = page[-1].id


def free(names: Sequence[str], taken: set[str]) -> dict[str, str]:
    """A home for each of these names, like none that is taken."""
    homes: dict[str, str] = {}
    for name in names:
        home = HOME.format(name)
        while home in taken:
            home = HOME.format(home)
        homes[name] = home
        taken = {*taken, home}
    return homes
