"""Records what was said: the turns in the chat log and the answer with its trace. It never fails an answer.

The write is tried before the last event leaves, so that the next question finds its history. If the store
does not answer in time, the answer waits in a bounded backlog that one task drains; answers of askers who
left wait there too. `Keepsake` stores the asker's own words as a memory (`remember: true`), never the
assistant's text. Seconds. Source: docs/contract.md.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Protocol

import structlog

from app.answer import Answer, Finish, Role, Turn, Usage, new_id
from app.db.answers import AnswerStore
from app.db.memories import Draft, Written
from app.errors import Damaged, IbidError, Rejected
from app.types import Reason, Scope, Trace

BACKLOG = 1_000
"""Answers that wait at most; some kilobytes each."""
PATIENCE = 2.0
"""Seconds an answer's end waits for the store."""
FINISH_SECONDS = 5.0
"""Seconds the backlog has when the service stops."""
PAUSE = 1.0
"""Seconds between two tries at the backlog."""
TRIES = 3
"""Times the backlog's oldest is tried that the store answers and will not take."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    """What one request leaves behind."""

    scope: Scope
    answer: Answer
    turns: Sequence[Turn]


class Recorder:
    """Writes answers with their turns, with a backlog for when the store is away."""

    def __init__(self, answers: AnswerStore) -> None:
        self._answers = answers
        self._backlog: deque[Kept] = deque()
        self._more = asyncio.Event()
        self._rejected: Kept | None = None
        self._tries = 0
        self.lost = 0
        """Answers dropped because the backlog was full, or the store would not take them."""

    @property
    def waiting(self) -> int:
        """Answers in the backlog."""
        return len(self._backlog)

    async def keep(self, kept: Kept) -> None:
        """Write now, or have it written later."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self._write(kept)
        except (IbidError, TimeoutError):
            self.later(kept)
        except asyncio.CancelledError:
            self.later(kept)
            raise

    def later(self, kept: Kept) -> None:
        """Put it into the backlog; the oldest makes room."""
        if len(self._backlog) >= BACKLOG:
            self._drop(self._backlog.popleft(), "no room")
        self._backlog.append(kept)
        self._more.set()

    async def written(self, scope: Scope) -> None:
        """Return when nothing of the scope's session or thread waits, at the latest after PATIENCE."""
        with suppress(IbidError, TimeoutError):
            async with asyncio.timeout(PATIENCE):
                for kept in [kept for kept in self._backlog if _of_thread(kept.scope, scope)]:
                    await self._write(kept)
                    with suppress(ValueError):  # written, or forgotten, by another meanwhile
                        self._backlog.remove(kept)

    def find(self, scope: Scope, answer_id: str) -> Kept | None:
        """The asker's answer with where it belongs, if it waits here."""
        ours = (kept for kept in reversed(self._backlog) if _may_see(scope, kept.scope))
        return next((kept for kept in ours if kept.answer.id == answer_id), None)

    def last(self, scope: Scope) -> Kept | None:
        """The newest of the scope's user and thread that said anything, if it waits here."""
        ours = [kept for kept in self._backlog if _same_user(scope, kept.scope) and kept.answer.text]
        heard = [kept for kept in ours if kept.scope.thread == scope.thread]
        return max(heard, key=lambda kept: kept.answer.id, default=None)

    def forget(self, scope: Scope) -> bool:
        """Drop what waits of the scope's session; False: nothing did."""
        waiting = [kept for kept in self._backlog if not _of_session(kept.scope, scope)]
        dropped = len(self._backlog) - len(waiting)
        self._backlog = deque(waiting)
        return dropped > 0

    def forget_user(self, scope: Scope) -> int:
        """Drop what waits of the scope's user, asked by himself or in his name; how many answers."""
        waiting = [kept for kept in self._backlog if not _of_user(kept.scope, scope)]
        dropped = len(self._backlog) - len(waiting)
        self._backlog = deque(waiting)
        return dropped

    async def run(self) -> None:
        """Drain the backlog for as long as the service lives."""
        while True:
            await self._more.wait()
            if not await self.drain():
                await asyncio.sleep(PAUSE)

    async def finish(self) -> None:
        """At the end of the service: what waits is written now, or lost and counted."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FINISH_SECONDS):
                while not await self.drain():  # noqa: ASYNC110 - nobody tells us when it is back
                    await asyncio.sleep(PAUSE)
        if self._backlog:
            log.error("answers not kept", lost=self.lost + len(self._backlog))

    async def drain(self) -> bool:
        """Write what waits, oldest first; False: the store does not answer, or will not take the oldest."""
        while self._backlog:
            kept = self._backlog[0]
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._write(kept)
            except (Rejected, Damaged):
                if not self._hopeless(kept):
                    return False
                self._drop(kept, "rejected")
            except (IbidError, TimeoutError):
                return False
            if self._backlog and self._backlog[0] is kept:
                self._backlog.popleft()
        self._more.clear()
        return True

    def _hopeless(self, kept: Kept) -> bool:
        """True if it was tried often enough: what is behind it must be written too."""
        self._tries = self._tries + 1 if kept is self._rejected else 1
        self._rejected = kept
        return self._tries >= TRIES

    def _drop(self, kept: Kept, why: str) -> None:
        """Count one that is lost."""
        self.lost += 1
        log.error("answer not kept", answer_id=kept.answer.id, why=why, lost=self.lost)

    async def _write(self, kept: Kept) -> None:
        """All or none; safe to repeat (keyed by the answer's id)."""
        await self._answers.keep(kept.scope, kept.answer, kept.turns)


def unanswered(
    scope: Scope,
    endpoint: str,
    question: str,
    *,
    model: str,
    began: datetime,
    now: datetime,
    ruling: Mapping[str, object] | None = None,
) -> Kept:
    """The record of a question whose asker left before the model was asked, so that nobody can say what
    there was to find. `ruling`: what /vantage had decided by then."""
    answer = Answer(
        id=new_id(),
        endpoint=endpoint,
        question=question,
        text="",
        model=model,
        finish=Finish.CANCELLED,
        citations=(),
        cited=(),
        unknown=(),
        prompt_sha256="",
        trace=Trace(Reason.CANCELLED),
        usage=Usage(),
        created_at=began,
        timings={"total": round((now - began).total_seconds() * 1000)},
        ruling=ruling,
    )
    return Kept(scope, answer, [Turn(Role.USER, question, began)])


def _same_asker(one: Scope, other: Scope) -> bool:
    """True if two scopes are of one tenant and key user: another's record is not there."""
    return (one.tenant, one.owner) == (other.tenant, other.owner)


def _same_user(asker: Scope, asked: Scope) -> bool:
    """True if a record is the asker's, and of the user that the asker names."""
    return _same_asker(asker, asked) and asker.user_id in (None, asked.user_id)


def _may_see(asker: Scope, asked: Scope) -> bool:
    """True if a record is of the user that the asker acts for, whichever key asked; a key for all that names
    nobody sees any of its tenant."""
    if asker.tenant != asked.tenant:
        return False
    if asker.user_id is None:
        return asker.owner in ("", asked.owner)
    return asker.user_id in (asked.user_id, asked.owner)


def _of_session(one: Scope, other: Scope) -> bool:
    """True if two scopes are of one session, which is keyed (tenant, owner, id)."""
    return _same_asker(one, other) and one.session_id == other.session_id


def _of_thread(one: Scope, other: Scope) -> bool:
    """True if two scopes are of one session, or of one thread."""
    return _of_session(one, other) or (_same_asker(one, other) and one.thread == other.thread)


def _of_user(one: Scope, other: Scope) -> bool:
    """True if a record is of the other scope's user."""
    return one.tenant == other.tenant and other.user_id in (one.user_id, one.owner)


class Backlog:
    """The probe of the backlog. It never fails: the store has a probe of its own."""

    name = "answers"

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    async def check(self) -> Mapping[str, str | int | float]:
        return {"waiting": self._recorder.waiting, "lost": self._recorder.lost}


SECONDS = 4.0
"""The end of an answer waits this long for it; then it was not kept."""
ORIGIN = "frontend/chat:user"
"""As front ends write what a person says."""


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
    """`services/memories.py`, which this layer may not import."""

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
