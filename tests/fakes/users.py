"""A hand-written user service: it says what it was told to, row by row, or fails where told."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.db.users import Receipt
from app.errors import IbidError
from app.types import Scope

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@dataclass
class FakeUsers:
    """Holds some rows of everybody."""

    rows: Sequence[tuple[str, Mapping[str, object]]] = (("memories", {"id": "m1"}), ("answers", {"id": "a1"}))
    holdings: tuple[str, ...] = ("memories", "votes", "answers", "activity")
    error: IbidError | None = None
    broken: Exception | None = None
    """Raised after the rows."""
    scopes: list[Scope] = field(default_factory=list)
    closed: int = 0

    def notes(self, scope: Scope) -> tuple[str, ...]:
        """None."""
        return ()

    async def export(self, scope: Scope) -> AsyncIterator[tuple[str, Mapping[str, object]]]:
        """The rows."""
        self.scopes.append(scope)
        if self.error:
            raise self.error
        try:
            for row in self.rows:
                yield row
            if self.broken:
                raise self.broken
        finally:
            self.closed += 1

    async def erase(self, scope: Scope) -> Receipt:
        """A receipt."""
        self.scopes.append(scope)
        if self.error:
            raise self.error
        counts = dict.fromkeys(self.holdings, 0)
        return Receipt(scope.user_id or "", AT, counts, True, AT, None, (), ("postgres",), (), None)
