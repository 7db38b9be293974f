"""The style card, refreshed after feedback."""

import asyncio
from typing import cast

import pytest

from app.answering.prompt import RECENT, style_text
from app.db.memories import DAEMONS, Memory
from app.errors import IbidError, NoRoom, RemovedMeanwhile, RetrievalError, Unavailable
from app.retrieval.memories import MemorySource
from app.services import profiles
from app.services.profiles import PersonaService
from app.types import Scope
from tests.fakes.answering import NOW
from tests.fakes.remembering import FakeCards
from tests.fakes.speaking import FakeKeeping, FakeUtterances, said

ADA = Scope("acme", user_id="ada")
WORDS = said("My workout as a list", "Rest days as a list")


def style(text: str, origin: str = DAEMONS[2]) -> Memory:
    """A style card."""
    return Memory("s", "ada", text, 1, NOW, kind="style", origin=origin)


def service(own: FakeUtterances, kept: FakeKeeping, cards: FakeCards | None = None) -> PersonaService:
    """On hand-written parts."""
    return PersonaService(own, cast(MemorySource, cards or FakeCards()), kept, lambda: NOW)


async def test_a_style_card_is_written() -> None:
    """By rule, by the persona daemon, from recent messages alone."""
    own, kept = FakeUtterances({"ada": WORDS}), FakeKeeping()
    assert await service(own, kept).quick_persona_refresh(ADA)
    assert [(card.kind, card.origin, card.text) for card in kept.written] == [
        ("style", "persona_daemon", style_text(WORDS))
    ]
    assert own.asked == [(ADA, RECENT)]
    assert kept.asked == [NOW]


async def test_a_card_that_says_so_already_is_left() -> None:
    """It is fresh, and nothing is written: caches stay."""
    kept = FakeKeeping()
    cards = FakeCards([style(style_text(WORDS))])
    assert await service(FakeUtterances({"ada": WORDS}), kept, cards).quick_persona_refresh(ADA)
    assert kept.written == []


async def test_a_card_that_somebody_else_wrote_is_not_ours() -> None:
    """Ours is written beside it."""
    kept = FakeKeeping()
    cards = FakeCards([style(style_text(WORDS), origin="older tool")])
    await service(FakeUtterances({"ada": WORDS}), kept, cards).quick_persona_refresh(ADA)
    assert len(kept.written) == 1


async def test_who_said_nothing_has_no_style() -> None:
    """Nothing is written."""
    kept = FakeKeeping()
    assert not await service(FakeUtterances(), kept).quick_persona_refresh(ADA)
    assert kept.written == []


@pytest.mark.parametrize("error", [Unavailable(), NoRoom(), RemovedMeanwhile()], ids=lambda e: e.slug)
async def test_a_store_that_is_away_raises_nothing(error: IbidError) -> None:
    """Neither where it reads nor where it writes: the feedback stands."""
    words = {"ada": WORDS}
    assert not await service(FakeUtterances(words, error=error), FakeKeeping()).quick_persona_refresh(ADA)
    assert not await service(FakeUtterances(words), FakeKeeping(error)).quick_persona_refresh(ADA)


async def test_cards_that_cannot_be_read_raise_nothing() -> None:
    """The index of memories may be down."""
    cards = FakeCards(error=RetrievalError("unavailable"))
    assert not await service(FakeUtterances({"ada": WORDS}), FakeKeeping(), cards).quick_persona_refresh(ADA)


async def test_a_store_that_is_slow_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever gave feedback is waiting."""
    monkeypatch.setattr(profiles, "SECONDS", 0.01)
    own = FakeUtterances({"ada": WORDS}, delay=5)
    assert not await service(own, FakeKeeping()).quick_persona_refresh(ADA)


async def test_cancellation_passes_through() -> None:
    """It is not taken for a fault."""
    own = FakeUtterances({"ada": WORDS}, delay=5)
    task = asyncio.create_task(service(own, FakeKeeping()).quick_persona_refresh(ADA))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
