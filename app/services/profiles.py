"""`ibid profiles`: the cards of a person, computed from what they said and kept, and written as memories.

Read -> tags with their weights, texts -> a model's words where there is one -> the write side of memories,
which replaces each card. A person of whom nothing is left keeps no card. Seconds. Raises `Unavailable`, and
`RemovedMeanwhile` for a person who was erased while it was done. Source: CONTRACT §2, seed 003 (2.1).
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from app.domain.errors import Missing, RemovedMeanwhile
from app.domain.memory import Draft, memory_id
from app.domain.passage import Scope
from app.domain.ports import Clock
from app.domain.profile import ORIGINS, Portrait, Utterances, draft, drafts, portrait
from app.domain.weights import Said
from app.services.personas import Writes
from app.services.summary import Summary

MESSAGES = 2_000
"""The newest of a person that are read: with a half-life of a month, older ones hardly count."""
PAGE = 50
"""People a call looks at, at most…"""
PAGE_SECONDS = 20.0
"""… and for so long, or until the first is done."""

WRITE_SECONDS = 30.0
"""For the cards of one; with a page and a model's words, less than what a command waits in silence (90 s)."""


class Keeps(Writes, Protocol):
    """What is asked of `services/memories.MemoryService`."""

    async def remove(self, scope: Scope, memory_id: str) -> None:
        """Gone. `Missing`: it was not there."""


@dataclass(frozen=True, slots=True)
class Profiled:
    """What was done for one person."""

    user_id: str
    messages: int
    """Read; 0: nothing is known of them, and their cards are gone."""
    kinds: tuple[str, ...] = ()
    """Of the cards that were written."""


class ProfileService:
    """Computes cards."""

    def __init__(self, own: Utterances, memories: Keeps, summary: Summary, clock: Clock) -> None:
        self._own = own
        self._memories = memories
        self._summary = summary
        self._clock = clock

    async def profile(self, scope: Scope) -> Profiled:
        """The cards of the scope's user."""
        user, asked = scope.user_id or "", self._clock()
        said = await self._own.own(scope, MESSAGES)
        made = drafts(await self._portrait(said)) if said else []
        if made:
            await self._memories.remember(scope, made, asked=asked, seconds=WRITE_SECONDS)
        await self._drop(scope, {card.kind for card in made})
        return Profiled(user, len(said), tuple(card.kind for card in made))

    async def page(self, scope: Scope, after: str) -> tuple[list[Profiled], str | None]:
        """The cards of the tenant's next users, and after whom to go on; None: nobody is left."""
        users = await self._own.speakers(scope, after, PAGE + 1)
        until = time.monotonic() + PAGE_SECONDS
        done: list[Profiled] = []
        for user in users[:PAGE]:
            try:
                done.append(await self.profile(replace(scope, user_id=user)))
            except RemovedMeanwhile:
                done.append(Profiled(user, 0))
            if time.monotonic() > until:
                break
        return done, done[-1].user_id if len(done) < len(users) else None

    async def users(self, scope: Scope) -> int:
        """How many the scope's tenant has."""
        return await self._own.count(scope)

    async def _portrait(self, said: Sequence[Said]) -> Portrait:
        """By rule, in a thread: tags of two thousand messages take a moment; then in a model's words."""
        found = await asyncio.to_thread(portrait, said, self._clock())
        return replace(found, persona=await self._summary.persona(said, found.persona))

    async def _drop(self, scope: Scope, written: set[str]) -> None:
        """What an earlier run wrote and this one has nothing to say of."""
        for kind in ORIGINS:
            if kind not in written:
                try:
                    await self._memories.remove(scope, card_id(scope, draft(kind, "")))
                except Missing:
                    continue


def card_id(scope: Scope, card: Draft) -> str:
    """The one id that a daemon's card of a kind has."""
    return memory_id(scope.tenant, scope.user_id or "", card)
