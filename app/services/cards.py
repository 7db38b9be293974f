"""Vantage cards and facts, as those who keep them see them; and their store while Postgres is down.

A row of one user is written and removed by that user's key, or the tenant's; one of all users of a namespace
by a tenant key alone. Raises `Forbidden`, `Missing`, `Unavailable`, `NoRoom`, `RemovedMeanwhile`.
"""

from app.db.cards import Card, CardDraft, CardShape, CardStore
from app.errors import Forbidden, Missing
from app.types import Scope


class CardService:
    def __init__(self, cards: CardStore) -> None:
        self._cards = cards

    async def put(self, scope: Scope, draft: CardDraft) -> tuple[Card, bool]:
        """(the card, whether it is new): in the very next prompt of whom it is for."""
        permit(scope, draft.user_id)
        return await self._cards.put(scope, draft)

    async def list(
        self, scope: Scope, shape: CardShape, *, cursor: str | None, limit: int
    ) -> tuple[list[Card], str | None]:
        return await self._cards.list(scope, shape, cursor=cursor, limit=limit)

    async def remove(self, scope: Scope, shape: CardShape, card_id: str) -> None:
        found = (await self._cards.by_id(scope, [card_id])).get(card_id)
        if found is None or found.shape is not shape:
            raise Missing(f"there is no such {shape}")
        permit(scope, found.user_id)
        if not await self._cards.remove(scope, card_id):
            raise Missing(f"there is no such {shape}")


def permit(scope: Scope, user_id: str | None) -> None:
    if scope.owner and user_id != scope.owner:
        raise Forbidden("an entry for all users of a namespace needs a tenant key")
