"""Collections under another name than they are asked by: where another tool keeps one of the same name in
vectors of another space, ours stands beside it (`ibid adopt`, docs/decisions/0047).

An engine that keeps `points.Points`, and a mapping of names to the homes that stand for them. The other
tool's collection is neither listed, searched nor written; only what is to be gone goes from both. Raises what
the engine raises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.clients.points import Collection, Point, Points, Where
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding


class Lodged:
    """See the module."""

    def __init__(self, engine: Points, homes: Mapping[str, str]) -> None:
        self.engine = engine
        self._homes = homes
        self._names = {home: name for name, home in homes.items()}

    def _at(self, name: str) -> str:
        """Where it is."""
        return self._homes.get(name, name)

    async def collections(self) -> list[Collection]:
        """All, by the names that they are asked by."""
        found = [each for each in await self.engine.collections() if each.name not in self._homes]
        named = [replace(each, name=self._names.get(each.name, each.name)) for each in found]
        return sorted(named, key=lambda each: each.name)

    async def create(
        self,
        name: str,
        dim: int,
        *,
        keys: Sequence[str] = (),
        tenants: Sequence[str] = (),
        times: Sequence[str] = (),
    ) -> None:
        """At home."""
        await self.engine.create(self._at(name), dim, keys=keys, tenants=tenants, times=times)

    async def drop(self, name: str) -> None:
        """Ours alone."""
        await self.engine.drop(self._at(name))

    async def put(self, name: str, points: Sequence[Point]) -> None:
        """At home."""
        await self.engine.put(self._at(name), points)

    async def remove(self, name: str, where: Where) -> None:
        """From both: what is erased must not come back with the next `ibid adopt`."""
        for each in dict.fromkeys((self._at(name), name)):
            await self.engine.remove(each, where)

    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        """At home."""
        return await self.engine.search(self._at(name), where, dense, limit, payload=payload)

    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        """At home."""
        return await self.engine.scroll(self._at(name), where, limit=limit, after=after, vectors=vectors)

    async def count(self, name: str, where: Where) -> int:
        """At home."""
        return await self.engine.count(self._at(name), where)

    async def compact(self, name: str) -> None:
        """Both; that one of them is not there is no matter."""
        for each in dict.fromkeys((self._at(name), name)):
            try:
                await self.engine.compact(each)
            except RetrievalError as error:
                if not error.rejected or name not in self._homes:
                    raise

    async def check(self) -> Mapping[str, str | int | float]:
        """The engine's facts."""
        return await self.engine.check()
