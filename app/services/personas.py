"""The style card: how a person writes and what they keep asking for, by rule from their recent messages.

Refreshed after every feedback, so it asks no model, and is written only when it says something else than
before. Seconds. Source: seed 003 (3.2.5, 4.4), CONTRACT §2. Never raises but on cancellation.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import structlog

from app.domain.errors import IbidError
from app.domain.memory import Cards, Draft, Written
from app.domain.passage import Scope
from app.domain.persona import RECENT, style_text
from app.domain.ports import Clock
from app.domain.profile import ORIGINS, STYLE, Utterances, draft

SECONDS = 5.0
"""For all of it: whoever gave feedback is waiting."""

log = structlog.get_logger(__name__)


class Writes(Protocol):
    """The part of `services/memories.MemoryService` that is needed."""

    async def remember(
        self,
        scope: Scope,
        drafts: Sequence[Draft],
        *,
        asked: datetime | None = None,
        seconds: float = SECONDS,
    ) -> list[Written]:
        """Durable and searchable when it returns."""


class PersonaService:
    """Keeps style cards."""

    def __init__(self, own: Utterances, cards: Cards, memories: Writes, clock: Clock) -> None:
        self._own = own
        self._cards = cards
        self._memories = memories
        self._clock = clock

    async def quick_persona_refresh(self, scope: Scope) -> bool:
        """Whether the card of the scope's user says what they are like now; False: they said nothing yet, or
        a store was away (and the card is as it was)."""
        try:
            async with asyncio.timeout(SECONDS):
                return await self._refreshed(scope)
        except (IbidError, TimeoutError) as error:
            log.warning("style card not refreshed", fault=type(error).__name__)
            return False

    async def _refreshed(self, scope: Scope) -> bool:
        """Read, told, written if it is new."""
        asked = self._clock()
        said = await self._own.own(scope, RECENT)
        # Tags of two hundred messages: tens of milliseconds.
        text = await asyncio.to_thread(style_text, said)
        if not text:
            return False
        if text != await self._known(scope):
            await self._memories.remember(scope, [draft(STYLE, text)], asked=asked, seconds=SECONDS)
        return True

    async def _known(self, scope: Scope) -> str:
        """What the card says now."""
        cards = await self._cards.cards(scope, [STYLE])
        return next((card.text for card in cards if card.origin == ORIGINS[STYLE]), "")
