"""Hand-written stand-ins of what knows a person: cards, votes, the last activity; and memories to find."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.db.memories import Memory, Moment, Tallies, Tally
from app.errors import RetrievalError
from app.retrieval.memories import MemorySource
from app.types import Passage, Scope
from tests.fakes.answering import NOW


def memory(key: str, text: str, similarity: float = 0.8, **fields: str) -> Passage:
    """A memory as its source gives it."""
    facts: dict[str, Any] = {"collection": "memory_raw", "kind": "note", "origin": "api", "tags": ""}
    return Passage("memories", key, text, 9, f"memory#{key}", similarity, fields=facts | fields)


def reference(key: str, text: str, similarity: float = 0.8, **fields: str) -> Passage:
    """A reference text, likewise."""
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
        """The votes on these."""
        self.asked.append(tuple(ids))
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        found = Tallies({key: self.held[key] for key in ids if key in self.held})
        found.lost = self.lost
        return found

    async def cast(self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None) -> bool:
        """Nobody votes here."""
        raise NotImplementedError

    async def judge(self, scope: Scope, ids: Sequence[str], signal: int, *, answer_id: str) -> list[str]:
        """Nor so."""
        raise NotImplementedError


@dataclass
class FakeTemporal:
    """Says when somebody was last here."""

    moment: Moment = field(default_factory=lambda: Moment("days", NOW, 200_000.0))
    delay: float = 0
    error: RetrievalError | None = None

    async def last(self, scope: Scope) -> Moment:
        """The moment."""
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return self.moment
