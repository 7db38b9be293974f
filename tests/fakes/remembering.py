"""Hand-written people: what they said, what is kept of them, and what knows them: cards, votes, the last
activity."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from app.db.memories import Draft, Memory, MemoryOutcome, Moment, Rating, Tallies, Tally, Written, memory_id
from app.db.votes import OwnMessage, UtteranceStore
from app.errors import IbidError, Missing, RetrievalError
from app.retrieval.memories import MemorySource
from app.services.memories import MemoryService
from app.services.profiles import Profiled
from app.types import Passage, Scope
from tests.fakes.answering import NOW


def memory(key: str, text: str, similarity: float = 0.8, **fields: str) -> Passage:
    """A memory as its source gives it."""
    facts: dict[str, Any] = {"collection": "memory_raw", "kind": "note", "origin": "api", "tags": ""}
    return Passage("memories", key, text, 9, f"memory#{key}", similarity, fields=facts | fields)


def reference(key: str, text: str, similarity: float = 0.8, **fields: str) -> Passage:
    facts: dict[str, Any] = {"collection": "sleep", "kind": "text", "origin": "book", "tags": ""}
    return Passage("corpus", key, text, 9, f"sleep#{key}", similarity, fields=facts | fields)


def card(kind: str, text: str = "", at: datetime = NOW, **fields: object) -> Memory:
    """A card of a user."""
    return Memory(f"{kind}-1", "ada", text, 5, at, kind=kind, fields=fields)


@dataclass
class FakeCards(MemorySource):
    """Gives its cards, waits, or fails."""

    held: Sequence[Memory] = ()
    delay: float = 0
    error: RetrievalError | None = None
    asked: list[tuple[Scope, tuple[str, ...]]] = field(default_factory=list)

    async def cards(self, scope: Scope, kinds: Sequence[str]) -> list[Memory]:
        """Those of the kinds asked for."""
        self.asked.append((scope, tuple(kinds)))
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return [held for held in self.held if held.kind in kinds]


@dataclass
class FakeVotes:
    """Gives its tallies to whoever asks."""

    held: Mapping[str, Tally] = field(default_factory=dict)
    delay: float = 0
    error: RetrievalError | None = None
    lost: str = ""
    asked: list[tuple[str, ...]] = field(default_factory=list)

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        self.asked.append(tuple(ids))
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        found = Tallies({key: self.held[key] for key in ids if key in self.held})
        found.lost = self.lost
        return found

    async def cast(self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None) -> bool:
        raise NotImplementedError

    async def judge(
        self, scope: Scope, ids: Sequence[str], signal: int, *, answer_id: str, rating: Rating | None = None
    ) -> list[str]:
        raise NotImplementedError


@dataclass
class FakeTemporal:
    """Says when somebody was last here."""

    moment: Moment = field(default_factory=lambda: Moment("days", NOW, 200_000.0))
    delay: float = 0
    error: RetrievalError | None = None

    async def last(self, scope: Scope) -> Moment:
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return self.moment


def said(*texts: str, at: datetime = NOW) -> list[OwnMessage]:
    """Messages, a minute apart, the newest first."""
    return [OwnMessage(text, at - timedelta(minutes=n)) for n, text in enumerate(reversed(texts))]


@dataclass
class FakeUtterances(UtteranceStore):
    """Gives each user's words, waits, or fails."""

    words: Mapping[str, Sequence[OwnMessage]] = field(default_factory=dict)
    delay: float = 0
    error: IbidError | None = None
    asked: list[tuple[Scope, int]] = field(default_factory=list)

    async def own(self, scope: Scope, limit: int) -> list[OwnMessage]:
        self.asked.append((scope, limit))
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return list(self.words.get(scope.user_id or "", ()))[:limit]

    async def speakers(self, scope: Scope, after: str, limit: int) -> list[str]:
        return sorted(user for user in self.words if user > after)[:limit]

    async def count(self, scope: Scope) -> int:
        return len(self.words)


@dataclass
class FakeKeeping(MemoryService):
    """The write side of memories: keeps the newest card of each kind."""

    error: IbidError | None = None
    delay: float = 0
    cards: dict[str, Memory] = field(default_factory=dict)
    """By id."""
    written: list[Draft] = field(default_factory=list)
    asked: list[datetime | None] = field(default_factory=list)

    async def remember(
        self, scope: Scope, drafts: Sequence[Draft], *, asked: datetime | None = None, seconds: float = 1.0
    ) -> list[Written]:
        self.asked.append(asked)
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        self.written += drafts
        return [Written(MemoryOutcome.CREATED, self._kept(scope, draft)) for draft in drafts]

    def _kept(self, scope: Scope, draft: Draft) -> Memory:
        user = scope.user_id or ""
        key = memory_id(scope.tenant, user, draft)
        self.cards[key] = Memory(
            key, user, draft.text, 1, NOW, kind=draft.kind, origin=draft.origin, fields=draft.fields
        )
        return self.cards[key]

    async def remove(self, scope: Scope, memory_id: str) -> None:
        """Gone, if it was there."""
        if self.cards.pop(memory_id, None) is None:
            raise Missing

    def kinds(self, user: str) -> set[str]:
        """Of the cards that a user has."""
        return {card.kind for card in self.cards.values() if card.user_id == user}


@dataclass
class FakeProfiles:
    """Computes what it was given, page by page."""

    done: Sequence[Profiled] = (Profiled("ada", 2, ("style",)), Profiled("bob", 0))
    error: IbidError | None = None
    scopes: list[Scope] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)

    async def profile(self, scope: Scope) -> Profiled:
        self.scopes.append(scope)
        if self.error:
            raise self.error
        return next((item for item in self.done if item.user_id == scope.user_id), Profiled("nobody", 0))

    async def page(self, scope: Scope, after: str) -> tuple[list[Profiled], str | None]:
        self.pages.append(after)
        self.scopes.append(scope)
        left = [item for item in self.done if item.user_id > after]
        return left[:1], left[0].user_id if len(left) > 1 else None

    async def users(self, scope: Scope) -> int:
        return len(self.done)
