"""Vantage cards and facts, as those who keep them see them."""

from dataclasses import replace

import pytest

from app.db.cards import CardDraft, CardShape
from app.errors import Forbidden, Missing
from app.services.vantage import CardService
from app.types import Scope
from tests.fakes.noted import FakeCards

TENANT = Scope("acme")
BY_ADA = Scope("acme", owner="ada", user_id="ada")
SHARED = CardDraft(CardShape.CARD, "clinic", "Be brief.")
OWN = replace(SHARED, text="Prefers mornings.", user_id="ada")


@pytest.mark.parametrize(
    ("scope", "draft", "allowed"),
    [
        pytest.param(BY_ADA, OWN, True, id="her own"),
        pytest.param(BY_ADA, SHARED, False, id="everybody's with a user key"),
        pytest.param(BY_ADA, replace(OWN, user_id="bob"), False, id="another's"),
        pytest.param(BY_ADA, replace(OWN, user_id=""), False, id="nobody's name"),
        pytest.param(TENANT, SHARED, True, id="everybody's with a tenant key"),
        pytest.param(TENANT, OWN, True, id="in her name"),
    ],
)
async def test_who_may_write(scope: Scope, draft: CardDraft, allowed: bool) -> None:
    """A user key for its user alone; what all are told is the tenant's to say."""
    cards = FakeCards()
    if allowed:
        assert (await CardService(cards).put(scope, draft))[1]
    else:
        with pytest.raises(Forbidden):
            await CardService(cards).put(scope, draft)
    assert bool(cards.rows) == allowed


@pytest.mark.parametrize(
    ("scope", "draft", "fault"),
    [
        pytest.param(BY_ADA, OWN, None, id="her own"),
        pytest.param(BY_ADA, SHARED, Forbidden, id="everybody's, which she sees"),
        pytest.param(BY_ADA, replace(OWN, user_id="bob"), Missing, id="another's, which she does not"),
        pytest.param(TENANT, OWN, None, id="the tenant any"),
        pytest.param(replace(TENANT, tenant="other"), SHARED, Missing, id="another tenant's"),
        pytest.param(TENANT, replace(SHARED, shape=CardShape.FACT), Missing, id="a fact among cards"),
    ],
)
async def test_who_may_remove(scope: Scope, draft: CardDraft, fault: type[Exception] | None) -> None:
    cards = FakeCards()
    kept, _ = await cards.put(TENANT, draft)
    service = CardService(cards)
    if fault is None:
        await service.remove(scope, CardShape.CARD, kept.id)
        fault = Missing
    with pytest.raises(fault):
        await service.remove(scope, CardShape.CARD, kept.id)


async def test_one_that_is_removed_meanwhile_is_missing() -> None:

    class Gone(FakeCards):
        async def remove(self, scope: Scope, card_id: str) -> bool:
            return False

    cards = Gone()
    kept, _ = await cards.put(TENANT, SHARED)
    with pytest.raises(Missing):
        await CardService(cards).remove(TENANT, CardShape.CARD, kept.id)
