"""Hand-written holdings, files and marks, for the tests of erasure: in memory, failing where told."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from app.db.users import Due, ErasureStore, Mark
from app.errors import IbidError
from app.types import Scope

NAMES_ONLY = {
    "ibid.memory_user": "when somebody was erased: without it, an answer under way would bring him back",
    "ibid.project_part": "a view of `project_event`, which goes",
    "ibid.part": "versions, which must go on growing, or a cache would take old results for new ones",
    "ibid.api_key": "a key is an administrator's to revoke; it holds nothing that was said",
}
"""Tables that name a person and are kept, with the reason."""
AT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@dataclass
class FakeHolding:
    name: str
    rows: dict[tuple[str, str | None], list[Mapping[str, object]]] = field(default_factory=dict)
    error: IbidError | None = None

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        if self.error:
            raise self.error
        for row in self.rows.get((scope.tenant, scope.user_id), []):
            yield row

    async def erase(self, scope: Scope) -> int:
        if self.error:
            raise self.error
        return len(self.rows.pop((scope.tenant, scope.user_id), []))


@dataclass
class FakeFiles:
    """Remembers what it was to rewrite; `stuck` cannot be."""

    name: str = "postgres"
    external: bool = False
    error: IbidError | None = None
    stuck: set[str] = field(default_factory=set)
    rewritten: list[set[str]] = field(default_factory=list)
    done: asyncio.Event = field(default_factory=asyncio.Event)

    async def compact(self, holdings: Collection[str]) -> Collection[str]:
        if self.error:
            raise self.error
        self.rewritten.append(set(holdings))
        self.done.set()
        return self.stuck & set(holdings)


@dataclass
class FakeErasures(ErasureStore):
    """The marks of one user; `log` tells the order of what happened."""

    mark: Mark | None = None
    log: list[str] = field(default_factory=list)
    waiting: bool = False
    """Something is yet to be cleared away: nothing is due."""

    async def begin(self, scope: Scope, holdings: Collection[str]) -> Mark:
        """As of a minute after the last."""
        self.log.append("begin")
        before = self.mark or Mark(AT)
        at = before.erased_at + timedelta(minutes=1)
        self.mark = Mark(at, tuple(holdings), at, before.compacted_at)
        return replace(before, erased_at=at)

    async def end(self, scope: Scope, mark: Mark, dirty: Collection[str]) -> Mark:
        """With what was dirty before."""
        self.log.append("end")
        names = tuple(sorted({*dirty, *mark.dirty}))
        at = mark.erased_at if dirty else mark.dirty_at
        self.mark = Mark(mark.erased_at, names, at if names else None, mark.compacted_at)
        return self.mark

    async def due(self) -> list[Due]:
        if self.waiting or self.mark is None or not self.mark.dirty_at:
            return []
        return [Due("default", "ada", self.mark.dirty, self.mark.dirty_at)]

    async def compacted(self, done: Collection[Due]) -> None:
        """Clean, but for what could not be."""
        assert self.mark
        self.log.append("compacted")
        ((left, told),) = [(each.dirty, each.dirty_at) for each in done]
        if self.mark.dirty_at != told:
            return
        at = self.mark.dirty_at if left else None
        self.mark = Mark(self.mark.erased_at, left, at, None if left else AT)

    async def sweep(self) -> None:
        self.log.append("sweep")
