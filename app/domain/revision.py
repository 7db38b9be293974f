"""One text, several writers: the index ends with what the record has, whoever's write arrived last.

Each write of a row has a revision that no other has. Who put a text in the index marks it with that one;
where the row has moved on meanwhile, the older text may lie over the newer one, so the newer is put again
from the record. Why: docs/decisions/0028. Raises what `put` and `mark` raise.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from app.domain.passage import Embedding

ROUNDS = 4
"""As often a text is put again; what has moved on even then stays unmarked, for the next repair."""

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Marked(Generic[Row]):
    """What could not be marked as searchable."""

    gone: list[str] = field(default_factory=list)
    """Removed or erased meanwhile: their points must go again."""
    newer: list[tuple[Row, Embedding]] = field(default_factory=list)
    """Written anew meanwhile, as they are now; unmarked."""


Put = Callable[[Sequence[Row], Sequence[Embedding]], Awaitable[None]]
Mark = Callable[[Sequence[Row]], Awaitable[Marked[Row]]]


async def settled(rows: Sequence[tuple[Row, Embedding]], put: Put[Row], mark: Mark[Row]) -> list[str]:
    """Searchable as the record has them; those that are gone."""
    gone: list[str] = []
    for _ in range(ROUNDS):
        if not rows:
            break
        await put([row for row, _ in rows], [vector for _, vector in rows])
        marked = await mark([row for row, _ in rows])
        gone += marked.gone
        rows = marked.newer
    return gone
