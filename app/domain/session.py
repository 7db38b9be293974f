"""Sessions as their owner looks back at them: what was uploaded into one, and what was said in it.

A session is keyed (tenant, owner, id) and is there as long as it holds a document or a turn. Times are UTC.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from app.domain.passage import Scope


@dataclass(frozen=True, slots=True)
class Session:
    """One session in figures."""

    session_id: str
    documents: int
    """Its own; the global ones are in every session."""
    turns: int
    created_at: datetime
    """Of its first document or turn that is still there."""
    last_active_at: datetime


@dataclass(frozen=True, slots=True)
class Utterance:
    """A turn where it stands: in which thread, of which answer."""

    thread_id: str
    role: str
    content: str
    at: datetime
    answer_id: str | None


class Sessions(Protocol):
    """The sessions of a scope's owner (`stores/sessions.py`). `Unavailable` when Postgres does not answer,
    `InvalidField` for a cursor that is none."""

    async def recent(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Session], str | None]:
        """Most recently active first, and the cursor of the next page."""

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        """Of the scope's session, or of its thread there; oldest first, and the cursor of the next page."""

    async def remove(self, scope: Scope) -> bool:
        """The scope's session: documents, turns and answers, gone at once. False: there was nothing."""
