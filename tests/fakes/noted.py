"""Vantage cards in memory (`domain/card.VantageCards`), which fail as they are told."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from app.db.cards import Card, CardDraft, CardShape, CardStore, card_id
from app.errors import IbidError
from app.types import Scope

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def card(draft: CardDraft, *, tenant: str = "default", minutes: int = 0) -> Card:
    """A draft as it is kept."""
    at = NOON + timedelta(minutes=minutes)
    told = (draft.vantage_id, draft.user_id, draft.text, draft.key, draft.weight)
    return Card(card_id(tenant, draft), draft.shape, *told, at, at)


@dataclass
class FakeCards(CardStore):
    """Rows by tenant and id."""

    rows: dict[tuple[str, str], Card] = field(default_factory=dict)
    error: IbidError | None = None
    scopes: list[Scope] = field(default_factory=list)
    pages: list[tuple[str | None, int]] = field(default_factory=list)

    async def put(self, scope: Scope, draft: CardDraft) -> tuple[Card, bool]:
        """Kept, a minute after the last."""
        self._asked(scope)
        made = card(draft, tenant=scope.tenant, minutes=len(self.rows))
        before = self.rows.get((scope.tenant, made.id))
        kept = replace(made, created_at=before.created_at) if before else made
        self.rows[scope.tenant, made.id] = kept
        return kept, before is None

    async def shown(self, scope: Scope, limit: int) -> list[Card]:
        """Heaviest first."""
        self._asked(scope)
        seen = [each for each in self._seen(scope) if each.vantage_id == scope.vantage_id]
        return sorted(seen, key=lambda each: -each.weight)[:limit]

    async def list(
        self, scope: Scope, shape: CardShape, *, cursor: str | None, limit: int
    ) -> tuple[list[Card], str | None]:
        """All on one page."""
        self._asked(scope)
        self.pages.append((cursor, limit))
        found = [each for each in self._seen(scope) if each.shape is shape]
        return [each for each in found if scope.vantage_id in (None, each.vantage_id)], None

    async def remove(self, scope: Scope, card_id: str) -> bool:
        """Gone."""
        self._asked(scope)
        return self.rows.pop((scope.tenant, card_id), None) is not None

    async def by_id(self, scope: Scope, ids: Sequence[str]) -> dict[str, Card]:
        """Those that are there."""
        self._asked(scope)
        return {each.id: each for each in self._seen(scope) if each.id in ids}

    def _seen(self, scope: Scope) -> Sequence[Card]:
        ours = [each for (tenant, _), each in self.rows.items() if tenant == scope.tenant]
        return [each for each in ours if scope.user_id is None or each.user_id in (None, scope.user_id)]

    def _asked(self, scope: Scope) -> None:
        self.scopes.append(scope)
        if self.error:
            raise self.error
