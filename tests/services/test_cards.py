"""Vantage cards and facts, as those who keep them see them."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from app.domain.breaker import Breaker
from app.domain.card import CardDraft, Shape
from app.domain.errors import Forbidden, Missing, RetrievalError, Unavailable
from app.domain.passage import Scope
from app.services.cards import CardService, GuardedNamespace
from tests.fakes.noted import FakeCards

TENANT = Scope("acme")
BY_ADA = Scope("acme", owner="ada", user_id="ada")
SHARED = CardDraft(Shape.CARD, "clinic", "Be brief.")
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
        pytest.param(TENANT, replace(SHARED, shape=Shape.FACT), Missing, id="a fact among cards"),
    ],
)
async def test_who_may_remove(scope: Scope, draft: CardDraft, fault: type[Exception] | None) -> None:
    """As who may write; what cannot be seen is not there."""
    cards = FakeCards()
    kept, _ = await cards.put(TENANT, draft)
    service = CardService(cards)
    if fault is None:
        await service.remove(scope, Shape.CARD, kept.id)
        fault = Missing
    with pytest.raises(fault):
        await service.remove(scope, Shape.CARD, kept.id)


async def test_one_that_is_removed_meanwhile_is_missing() -> None:
    """Who comes second finds nothing."""

    class Gone(FakeCards):
        async def remove(self, scope: Scope, card_id: str) -> bool:
            return False

    cards = Gone()
    kept, _ = await cards.put(TENANT, SHARED)
    with pytest.raises(Missing):
        await CardService(cards).remove(TENANT, Shape.CARD, kept.id)


CALLS: dict[str, Callable[[GuardedNamespace], Awaitable[object]]] = {
    "put": lambda cards: cards.put(TENANT, SHARED),
    "list": lambda cards: cards.list(TENANT, Shape.CARD, cursor=None, limit=1),
    "remove": lambda cards: cards.remove(TENANT, "x"),
    "by_id": lambda cards: cards.by_id(TENANT, ["x"]),
    "shown": lambda cards: cards.shown(replace(TENANT, vantage_id="clinic"), 1),
}


@pytest.mark.parametrize("name", CALLS)
async def test_nobody_waits_for_a_postgres_that_is_down(name: str) -> None:
    """It is not asked; an answer is told so as of what it can do without."""
    now, cards = 0.0, FakeCards(error=RetrievalError("unavailable"))
    breaker = Breaker(lambda: now)
    guarded = GuardedNamespace(cards, breaker)
    while breaker.closed:
        with pytest.raises(RetrievalError):
            await CALLS["shown"](guarded)
    before = len(cards.scopes)
    with pytest.raises(RetrievalError if name == "shown" else Unavailable):
        await CALLS[name](guarded)
    assert len(cards.scopes) == before


@pytest.mark.parametrize("name", CALLS)
async def test_what_is_up_is_asked(name: str) -> None:
    """Once, and its answer is given as it is."""
    cards, plain = FakeCards(), FakeCards()
    guarded = GuardedNamespace(cards, Breaker(lambda: 0.0))
    assert await CALLS[name](guarded) == await CALLS[name](plain)  # type: ignore[arg-type] # it keeps the same
    assert cards.scopes == plain.scopes != []
