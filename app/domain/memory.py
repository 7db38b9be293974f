"""Memories: what a person said and kept, and the cards derived from it. Reference texts: the corpus.

A memory belongs to (tenant, user_id); its id is a UUIDv5 of (tenant, user, namespace, its words), so that
the same words are the same memory on every replica. Times are UTC, tokens o200k. Source: CONTRACT §2, seed
003 (2.1, 4.3).
"""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from app.domain.passage import Embedding, Scope

RAW = "memory_raw"
"""The collection of memories and cards (seed 003, 2.1)."""
NOTE = "note"
"""The kind of a memory that names none."""
CARDS = ("persona", "style", "preference")
"""Kinds that make the persona block."""
GRAVITY, DESIRE = "gravity_profile", "vb_desire_profile"
"""Kinds of the cards that profiles compute."""
ASSISTANT = "frontend/chat:assistant"
DAEMONS = ("gravity_daemon", "vb_desire_daemon", "persona_daemon")
"""Origins of derived cards, in the order of GRAVITY, DESIRE and the style card."""
UNTOLD = (ASSISTANT, *DAEMONS)
"""Origins that are no episodic memories (CONTRACT §2.2; `persona_daemon` is ours)."""
IDS = uuid.UUID("a51c3a52-6f0a-5d0c-9b0e-7f2f6f6d6d31")
"""What the ids of memories are named under."""


def memory_id(tenant: str, user_id: str, draft: "Draft") -> str:
    """A UUIDv5: of the words in their namespace, case and white space aside; a daemon's card's: its kind; a
    card's that a person wrote: both, so that a note of the same words is not in its way."""
    derived = draft.origin in DAEMONS
    told = "" if derived else " ".join(draft.text.casefold().split())
    card = draft.kind if derived or draft.kind in CARDS else ""
    parts = (tenant, user_id, draft.vantage_id or "", draft.origin if derived else "", card, told)
    return str(uuid.uuid5(IDS, "\x1f".join(parts)))


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory to be written."""

    text: str
    kind: str = NOTE
    tags: tuple[str, ...] = ()
    origin: str = "api"
    vantage_id: str | None = None
    thread_id: str | None = None
    """The conversation it was said in: its neighbours there speak for it in a search."""
    created_at: datetime | None = None
    """None: now."""
    fields: Mapping[str, object] = field(default_factory=dict)
    """What a card holds beside its text (`weights` of a profile)."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory that is kept."""

    id: str
    user_id: str
    text: str
    tokens: int
    created_at: datetime
    kind: str = NOTE
    tags: tuple[str, ...] = ()
    origin: str = "api"
    vantage_id: str | None = None
    thread_id: str | None = None
    place: int = 0
    """Its number among the user's memories of that thread, from 1, as they were written."""
    fields: Mapping[str, object] = field(default_factory=dict)
    revision: int = field(default=0, compare=False)
    """Of this write of it, and of no other: what was written again is another text."""


class Outcome(StrEnum):
    """What became of a draft."""

    CREATED = "created"
    REPEATED = "repeated"
    """The user has a memory of the same words: that one stands."""
    ECHO = "echo"
    """Nothing but what was recalled, or said by the assistant, in the same thread: not stored."""


@dataclass(frozen=True, slots=True)
class Written:
    """One draft's outcome; `memory` is None for an echo."""

    outcome: Outcome
    memory: Memory | None = None


class Memories(Protocol):
    """The record of memories (`stores/memories.py`). `Unavailable` when Postgres does not answer."""

    async def admit(
        self,
        scope: Scope,
        drafts: Sequence[Draft],
        embeddings: Sequence[Embedding],
        tokens: Sequence[int],
        space: str,
        *,
        since: datetime,
    ) -> list[Written]:
        """Keep those whose words are new to the user, in order, all or none, searchable from then on.
        A card of a daemon's origin is keyed by its kind: again replaces.
        Nothing of a user who was erased after `since`: `RemovedMeanwhile`."""

    async def clock(self) -> datetime:
        """Now, as the record counts time: replicas' clocks differ."""

    async def known(self, scope: Scope, drafts: Sequence[Draft]) -> Mapping[str, Memory]:
        """By id, those whose words the user has already and can find (case and white space aside)."""

    async def get(self, scope: Scope, memory_id: str) -> Memory | None:
        """A memory of the scope's tenant (and of its user, where it has one)."""

    async def list(self, scope: Scope, *, cursor: str | None, limit: int) -> tuple[list[Memory], str | None]:
        """The user's, newest first, cards too, and the cursor of the next page."""

    async def remove(self, scope: Scope, memory_id: str) -> bool:
        """Gone with its votes. False: not there."""


class Cards(Protocol):
    """A user's cards, ours and those that older tools wrote (`sources/memories.py`). `RetrievalError`."""

    async def cards(self, scope: Scope, kinds: Sequence[str]) -> list[Memory]:
        """Cards of these kinds, newest first."""


@dataclass(frozen=True, slots=True)
class Tally:
    """The votes on one memory."""

    positive: int = 0
    negative: int = 0

    @property
    def net(self) -> int:
        """More good than bad."""
        return self.positive - self.negative


class Tallies(dict[str, Tally]):
    """Votes by memory."""

    lost: str = ""
    """Why the outside service did not give them (`Degraded.reason`), so that they are the built-in's."""


OUTSIDE = "memory_service"
"""The outside service, as `degraded` names it."""


class Votes(Protocol):
    """`/memory_feedback`: built in (`stores/votes.py`), or an outside service by MEMORY_SERVICE_URL.

    Raises `RetrievalError` from `tallies`, `Unavailable` from the others, `Missing` for another's memory.
    """

    async def cast(self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None) -> bool:
        """+1, -1, or 0 that takes the vote back, by the scope's user; one for each answer and memory: again
        replaces. Without an answer one a day, and 0 takes back those of all days. False: it was so before."""

    async def judge(self, scope: Scope, ids: Sequence[str], signal: int, *, answer_id: str) -> list[str]:
        """The same vote on all that an answer used, all or none; those it changed. What is not the user's
        (any more) is passed over."""

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        """The user's votes on these memories; without any: left out."""


Told = Callable[[Mapping[str, int]], Awaitable[None]]
"""Called with the memories whose vote changes and by how much their net changes (-2 to 2, or more where the
votes of several days are taken back), before it is committed; what it raises takes that back."""


class Ballots(Votes, Protocol):
    """The built-in votes, beside which an outside service may be told of each."""

    async def cast(
        self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None, told: Told | None = None
    ) -> bool:
        """As `Votes.cast`."""

    async def judge(
        self, scope: Scope, ids: Sequence[str], signal: int, *, answer_id: str, told: Told | None = None
    ) -> list[str]:
        """As `Votes.judge`."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a user last said something (`/temporal`)."""

    bucket: str
    """new, minutes (< 1 h), hours (< 24 h), days (< 7 d), weeks (< 31 d), months."""
    last_message_at: datetime | None = None
    seconds_since: float | None = None
    lost: str = ""
    """As `Tallies.lost`."""


class Temporal(Protocol):
    """`/temporal/{user_id}`: built in (`stores/temporal.py`), or an outside service. `RetrievalError`."""

    async def last(self, scope: Scope) -> Moment:
        """Of the scope's user, before the request that asks."""
