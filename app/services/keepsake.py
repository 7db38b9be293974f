"""`remember: true`: the person's own words of a turn, kept as a memory when its answer has ended.

Chat and rag hand `Reply` a `keep` (see `Keepsake.of`); the reply awaits it between `citations` and `done`,
and tells what came of it as `remembered`. It never raises, never delays the first byte, and never sees the
assistant's text. What is kept are the words as they were said, questions too; small talk is not.
Seconds. Source: CONTRACT §1 and §2 (`remember`), docs/decisions/0028-memories-written.md.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Protocol

import structlog

from app.domain.errors import IbidError
from app.domain.memory import Draft, Written
from app.domain.passage import Scope

SECONDS = 4.0
"""The end of an answer waits this long for it; then it was not kept."""
ORIGIN = "frontend/chat:user"
"""As the seeds' front end writes what a person says (seed 003, 4.3)."""

log = structlog.get_logger(__name__)


class Remembered(StrEnum):
    """What a reply says of it (`remembered`; null: nobody asked for it)."""

    CREATED = "created"
    REPEATED = "repeated"
    ECHO = "echo"
    SKIPPED = "skipped"
    """A greeting, and nothing else."""
    FAILED = "failed"


Keep = Callable[[], Awaitable[Remembered]]


class Remembers(Protocol):
    """The part of `services/memories.MemoryService` that is needed."""

    async def remember(
        self, scope: Scope, drafts: Sequence[Draft], *, asked: datetime | None = None, seconds: float = 0
    ) -> list[Written]:
        """Durable and searchable when it returns."""


class Keepsake:
    """What makes a `Keep` of a question."""

    def __init__(self, memories: Remembers, greets: Callable[[str], bool]) -> None:
        """`greets`: whether a message is nothing but a greeting."""
        self._memories = memories
        self._greets = greets

    def of(self, scope: Scope, message: str, asked: datetime) -> Keep:
        """For `Reply(keep=…)`. `scope` has a user_id (the API refuses `remember` without one); its thread,
        else its session, is where the words were said. `asked`: when the question came."""
        return partial(self.keep, scope, message, asked)

    async def keep(self, scope: Scope, message: str, asked: datetime) -> Remembered:
        """Now. Never raises but on cancellation."""
        if self._greets(message):
            return Remembered.SKIPPED
        thread = scope.thread or None
        draft = Draft(message, origin=ORIGIN, thread_id=thread, vantage_id=scope.vantage_id, created_at=asked)
        try:
            written = await self._memories.remember(
                replace(scope, thread_id=thread), [draft], asked=asked, seconds=SECONDS
            )
        except IbidError as error:
            log.warning("words not remembered", slug=error.slug)
            return Remembered.FAILED
        return Remembered(written[0].outcome)
