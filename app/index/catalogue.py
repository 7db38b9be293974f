"""Which collections there are and what they are like, remembered for a while. Seconds.

Shared by the sources of points; who makes a collection, or knows of a newer write, forgets it. Reads raise
`RetrievalError`, writes `Unavailable`.
"""

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from app.clients.points import Collection, Point
from app.clients.qdrant import Qdrant
from app.errors import RetrievalError, Unavailable
from app.types import Space

SECONDS = 30.0
"""As long a collection that somebody else made may go unseen."""
RETRY_SECONDS = 2
"""What Retry-After says while the engine is away."""


@dataclass(frozen=True, slots=True)
class Indexed:
    """The fields of a collection of ours that are filtered by."""

    keys: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    times: tuple[str, ...] = ()


def fits(shape: Collection, space: Space) -> bool:
    """Whether its vectors can be of this space."""
    return shape.cosine and shape.dim == space.dim


@contextmanager
def unavailable() -> Iterator[None]:
    """Around writes: what costs a search its passages costs a write itself."""
    try:
        yield
    except RetrievalError as error:
        raise Unavailable("Qdrant does not answer", retry_after=RETRY_SECONDS) from error


class Catalogue:
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
        """The turn at which the list was asked for: it is new enough for whoever came no later."""

    async def all(self) -> Mapping[str, Collection]:
        """By name, as they were when it was asked, or later. One list at a time, others wait for it."""
        turn = self._turn
        async with self._listing:
            if self._known < turn or self._clock() >= self._until:
                asked = self._turn  # what is forgotten from now on is for those who ask from now on
                self._listed = {each.name: each for each in await self._points.collections()}
                self._known, self._until = asked, self._clock() + self._seconds
            return self._listed

    async def get(self, name: str) -> Collection | None:
        """One of them."""
        return (await self.all()).get(name)

    async def put(self, name: str, space: Space, fields: Indexed, points: Sequence[Point]) -> None:
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

    async def _make(self, name: str, space: Space, fields: Indexed) -> None:
        """A collection of ours."""
        named = {"keys": fields.keys, "tenants": fields.tenants, "times": fields.times}
        await self._points.create(name, space.dim, **named)
        self.forget()

    def forget(self) -> None:
        """The next to ask is told anew."""
        self._turn += 1
