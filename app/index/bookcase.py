"""Shelves in memory, the least recently used given up first, each loaded once however many ask.

A load belongs to the bookcase and not to the request that began it: who leaves does not stop it, so a large
part is there for the next one. Sizes are bytes, times seconds. Raises what `refreshed` does.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Coroutine, Hashable, Iterable
from typing import Any, Generic, Protocol, TypeVar

MEMORY_BYTES = 1 << 30
LEAST_KEPT = 2
"""Shelves that stay however large: those of one query."""


class Standing(Protocol):
    """A shelf: a value, as its part stood at a version."""

    @property
    def version(self) -> int:
        """Of the part."""

    @property
    def size(self) -> int:
        """Passages."""

    @property
    def nbytes(self) -> int:
        """Memory."""


Named = TypeVar("Named", bound=Hashable)
Held = TypeVar("Held", bound=Standing)
Result = TypeVar("Result")


class Bookcase(ABC, Generic[Named, Held]):
    """Every shelf of one kind in this process, by its part."""

    def __init__(self, *, memory_bytes: int = MEMORY_BYTES) -> None:
        self._memory = memory_bytes
        self._shelves: OrderedDict[Named, Held] = OrderedDict()
        self._sizes: dict[Named, int] = {}
        self._nbytes = 0
        self._loads: dict[Named, asyncio.Task[Held]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def nbytes(self) -> int:
        """Memory of all shelves."""
        return self._nbytes

    @property
    def parts(self) -> list[Named]:
        """What is in memory, the least recently used first."""
        return list(self._shelves)

    @abstractmethod
    def nothing(self, part: Named) -> Held:
        """The shelf of a part that holds nothing, at version 0."""

    @abstractmethod
    async def refreshed(self, part: Named) -> Held:
        """The part as it stands now, from `held` if there is one; to be kept."""

    def held(self, part: Named) -> Held | None:
        """What is in memory of it, at whatever version."""
        return self._shelves.get(part)

    async def at(self, part: Named, version: int) -> Held:
        """The part's shelf at `version`, or as it stood at some time after this call.

        Version 0 has never held anything: a session's name that somebody made up costs nothing.
        """
        if version == 0:
            nothing = self.nothing(part)
            self.give_up(part)
            return nothing
        shelf = self._shelves.get(part)
        if shelf is None or shelf.version != version:
            shelf = await self._caught_up(part, version)
        if part in self._shelves:
            self._shelves.move_to_end(part)
        return shelf

    async def within(
        self, seconds: float, versions: Iterable[tuple[Named, int]]
    ) -> tuple[list[Held], list[Named]]:
        """(shelves, late) of parts each `at` a version: late are those that were not there in time, of which
        the shelves are of older versions, or none. Their loads go on."""
        asked = {asyncio.create_task(self.at(*each)): each[0] for each in versions}
        if not asked:
            return [], []
        try:
            await asyncio.wait(asked, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        ready = [task.result() for task in asked if not task.cancelled()]
        late = [part for task, part in asked.items() if task.cancelled()]
        return ready + [shelf for shelf in map(self.held, late) if shelf], late

    async def _caught_up(self, part: Named, version: int) -> Held:
        """A load under way may have begun before `version` was written; the one after it has not."""
        under_way = self._loads.get(part)
        if under_way is not None:
            shelf = await asyncio.shield(under_way)
            if shelf.version == version:
                return shelf
        return await asyncio.shield(self._loads.get(part) or self._load(part))

    def _load(self, part: Named) -> asyncio.Task[Held]:
        """Bring a shelf up to date."""
        task = self.started(self.refreshed(part))
        self._loads[part] = task
        task.add_done_callback(lambda _: self._loads.pop(part))
        return task

    def keep(self, part: Named, shelf: Held) -> None:
        """The newest of its part, within the limit; an empty one is made again as quickly as it is found.

        Searches under way keep the shelves they hold.
        """
        self.give_up(part)
        if shelf.size:
            self._shelves[part], self._sizes[part] = shelf, shelf.nbytes
            self._nbytes += shelf.nbytes
        while len(self._shelves) > LEAST_KEPT and self._nbytes > self._memory:
            self.give_up(next(iter(self._shelves)))

    def give_up(self, part: Named) -> None:
        """Forget a shelf, if there is one."""
        self._shelves.pop(part, None)
        self._nbytes -= self._sizes.pop(part, 0)

    def started(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """A task that `aclose` ends; its error is told to those who wait for it, if any still do."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def aclose(self) -> None:
        """End what is under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
