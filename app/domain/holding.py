"""A holding: anything that keeps something of a person. Export and erasure walk the list of them.

Counts are rows, points or files. Source: DESIGN §2.3, CONTRACT §5 (`/users/{id}`).
"""

from collections.abc import AsyncIterator, Mapping
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

    async def compact(self) -> None:
        """Rewrite files so that nothing erased is left in them; may take long, nothing waits for it."""
