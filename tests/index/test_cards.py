"""A user's cards as the record has them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.db.pool import Pool
from app.errors import RetrievalError
from app.index.remembered import newest_cards, newest_of
from app.types import Scope
from tests.fakes.recollections import ANN, THEN, enter, memory

OWNER = (ANN.tenant, "ann")


async def test_the_newest_of_each_kind_are_read(pool: Pool) -> None:
    """A kind with many takes no other's place; nor do other users and tenants."""
    days = [(kind, n) for kind in ("style", "note", "persona") for n in range(4)]
    own = [memory(ANN, f"{kind} {n}", kind=kind, created_at=THEN + timedelta(n)) for kind, n in days]
    await enter(pool, ANN, *own)
    for scope in (Scope(user_id="ben"), Scope(tenant="other", user_id="ann")):
        await enter(pool, scope, memory(scope, f"{scope.tenant} style", kind="style"))
    found = await newest_cards(pool, OWNER, ["style", "persona", "style"], 2)
    assert sorted(card.text for card in found) == ["persona 2", "persona 3", "style 2", "style 3"]


def test_a_kind_is_cut_to_its_newest() -> None:
    """Newest first over all kinds; of one id the later one counts."""
    cards = [memory(ANN, f"{n}", kind="style", created_at=THEN + timedelta(n)) for n in range(3)]
    persona = memory(ANN, "who", kind="persona", created_at=THEN - timedelta(9))
    newer = replace(cards[2], text="as the record has it")
    assert newest_of([*cards, persona, newer], 2) == [newer, cards[1], persona]


async def test_without_postgres_nobody_can_say(pool: Pool) -> None:
    """The reply tells that the cards are missing."""
    await pool.close()
    with pytest.raises(RetrievalError):
        await newest_cards(pool, OWNER, ["style"], 9)
