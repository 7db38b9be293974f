"""Vantage cards and facts, as those who keep them see them; and their store while Postgres is down.

A row of one user is written and removed by that user's key, or the tenant's; one of all users of a namespace
by a tenant key alone. Raises `Forbidden`, `Missing`, `Unavailable`, `NoRoom`, `RemovedMeanwhile`.
"""

from collections.abc import Sequence

from app.domain.breaker import Breaker
from app.domain.card import Card, CardDraft, Shape, VantageCards
from app.domain.errors import Forbidden, Missing, RetrievalError
from app.domain.passage import Scope
from app.services.barred import asked
from app.services.guarded import PATIENCE, lost


class CardService:
    """The write side, and lists."""

    def __init__(self, cards: VantageCards) -> None:
        self._cards = cards

    async def put(self, scope: Scope, draft: CardDraft) -> tuple[Card, bool]:
        """(the card, whether it is new): in the very next prompt of whom it is for."""
        permit(scope, draft.user_id)
        return await self._cards.put(scope, draft)

    async def list(
        self, scope: Scope, shape: Shape, *, cursor: str | None, limit: int
    ) -> tuple[list[Card], str | None]:
        """Those that the scope's user may see, newest first, and the cursor of the next page."""
        return await self._cards.list(scope, shape, cursor=cursor, limit=limit)

    async def remove(self, scope: Scope, shape: Shape, card_id: str) -> None:
        """Gone from the next prompt on."""
        found = (await self._cards.by_id(scope, [card_id])).get(card_id)
        if found is None or found.shape is not shape:
            raise Missing(f"there is no such {shape}")
        permit(scope, found.user_id)
        if not await self._cards.remove(scope, card_id):
            raise Missing(f"there is no such {shape}")


def permit(scope: Scope, user_id: str | None) -> None:
    """What all users of a namespace are told is the tenant's to say (CONTRACT §6)."""
    if scope.owner and user_id != scope.owner:
        raise Forbidden("what is for all users of a namespace needs a tenant key; a user key names its user")


class GuardedNamespace:
    """Keeps `card.VantageCards`; nobody waits for a Postgres that is known to be down."""

    def __init__(self, cards: VantageCards, breaker: Breaker, patience: float = PATIENCE) -> None:
        self._cards = cards
        self._breaker = breaker
        self._patience = patience

    async def put(self, scope: Scope, draft: CardDraft) -> tuple[Card, bool]:
        """`Unavailable` at once while Postgres is down, as for the others but `shown`."""
        with asked(self._breaker):
            return await self._cards.put(scope, draft)

    async def shown(self, scope: Scope, limit: int) -> list[Card]:
        """For an answer; `RetrievalError` at once while Postgres is down."""
        if self._breaker.refuses:
            raise RetrievalError("unavailable")
        with self._breaker.attempt(lost, patience=self._patience):
            return await self._cards.shown(scope, limit)

    async def list(
        self, scope: Scope, shape: Shape, *, cursor: str | None, limit: int
    ) -> tuple[list[Card], str | None]:
        """A page, newest first."""
        with asked(self._breaker):
            return await self._cards.list(scope, shape, cursor=cursor, limit=limit)

    async def remove(self, scope: Scope, card_id: str) -> bool:
        """Gone; False: not there, or another's."""
        with asked(self._breaker):
            return await self._cards.remove(scope, card_id)

    async def by_id(self, scope: Scope, ids: Sequence[str]) -> dict[str, Card]:
        """Those of them that are there."""
        with asked(self._breaker):
            return await self._cards.by_id(scope, ids)
