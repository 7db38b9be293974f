"""A holding: anything that keeps something of a person. Export and erasure walk the list of them; what was
erased may still stand in files, which `Files` rewrite afterwards.

Counts are rows, points or files. Source: DESIGN §2.3, CONTRACT §5 (`/users/{id}`); docs/decisions/0032.
"""

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from app.domain.passage import Scope


class Holding(Protocol):
    """One store or source. `scope` names tenant and user_id; both methods raise `Unavailable`."""

    @property
    def name(self) -> str:
        """As the receipt names it: memories, chat_log, answers, …"""

    def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        """Everything of the user's that it keeps, as JSON-ready objects."""

    async def erase(self, scope: Scope) -> int:
        """All of it gone from the next request on; how much it was. Again: 0."""


class Files(Protocol):
    """The files of one engine."""

    @property
    def name(self) -> str:
        """postgres, qdrant, chroma."""

    @property
    def external(self) -> bool:
        """Another's server: when it gives room back is its own affair."""

    async def compact(self, holdings: Collection[str]) -> Collection[str]:
        """Rewrite what these holdings keep there, so that nothing erased is left in it; may take long,
        nothing waits for it. Those of them that cannot be rewritten for now: they are asked for again under
        these files' name. Raises `Unavailable`, `RetrievalError`."""


class Engine(Protocol):
    """A search engine that follows the record (`stores/outbox.Outbox`)."""

    @property
    def name(self) -> str:
        """qdrant, chroma."""

    async def followed(self, seconds: float) -> bool:
        """Wait until it has taken what the record has now; False: not in time. Raises `Unavailable`."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How a user's erasures stand."""

    erased_at: datetime
    dirty: tuple[str, ...] = ()
    """Holdings whose files are still to be rewritten, and names of files that could not be."""
    dirty_at: datetime | None = None
    compacted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """A user whose erasure can be compacted."""

    tenant: str
    user_id: str
    dirty: tuple[str, ...]
    dirty_at: datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """Of `DELETE /users/{id}`. A user of whom nothing was kept has one too: with zeros."""

    user_id: str
    erased_at: datetime
    counts: Mapping[str, int]
    """By holding: rows, documents."""
    compacted: bool
    """Whether nothing erased is left in files of ours."""
    at: datetime | None
    """When they were last rewritten for this user."""
    by: datetime | None
    """By when they will be; None: they are, or all that is left is `pending`."""
    pending: tuple[str, ...]
    """Files of ours that are too large to be rewritten for now, and hold something erased until they are."""
    external: tuple[str, ...]
    """Servers whose files are not ours: when they give room back is their own affair."""
    engines: tuple[str, ...]
    """Search engines that have yet to delete what they hold of the user; no search finds it any more."""
    cached_until: datetime | None
    """Until then a shared cache may hold results that no request is given any more; None: there is none."""
    notes: tuple[str, ...] = ()
    """What others keep of the user, which an erasure here does not reach."""


class Erasures(Protocol):
    """The record of erasures (`stores/erasures.py`). `Unavailable` when Postgres does not answer."""

    async def begin(self, scope: Scope, holdings: Collection[str]) -> Mark:
        """The user is erased as of now: nothing that was asked for before is written any more. With what was
        dirty before; until `end`, all of `holdings` count as dirty."""

    async def end(self, scope: Scope, mark: Mark, dirty: Collection[str]) -> Mark:
        """These held something, and no others; caches are out of date once more."""

    async def due(self) -> list[Due]:
        """Whose erasures can be compacted now: nothing of theirs waits to be cleared away."""

    async def compacted(self, done: Collection[Due]) -> None:
        """Done, unless they were erased again meanwhile; `dirty` of each is what could not be."""

    async def sweep(self) -> None:
        """Marks of names of whom nothing was ever kept go, once they guard nothing any more."""
