"""Records answers: turns in the chat log, and the answer with its trace. A failure never fails an answer.

The write is tried before the last event is sent, so that the next question finds its history. If the store
does not answer in time, the answer waits in a bounded backlog that one task drains, as do answers of clients
that disconnected. Times are in seconds. Source: docs/contract.md.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import is_

import structlog

from app.answer import Answer, Turn
from app.db.answers import AnswerStore
from app.errors import Damaged, IbidError, Rejected
from app.types import Scope

BACKLOG = 1_000
"""Most waiting answers, of some kilobytes each."""
PATIENCE = 2.0
"""Seconds an answer's end waits for the store."""
FINISH_SECONDS = 5.0
"""Seconds for the backlog when the service stops."""
PAUSE = 1.0
"""Seconds between two attempts at the backlog."""
TRIES = 3
"""Attempts at the oldest answer of the backlog if the store refuses it."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    scope: Scope
    answer: Answer
    turns: Sequence[Turn]
    """Empty for a dry run, which asked no model."""
    first: float | None = None
    """Seconds from the question to the first text of the answer."""


class Recorder:
    """Writes answers with their turns; a backlog bridges outages of the store."""

    def __init__(self, answers: AnswerStore) -> None:
        self._answers = answers
        self._backlog: deque[AnswerRecord] = deque()
        self._more = asyncio.Event()
        self._turn = asyncio.Lock()
        """Held by `written`: concurrent questions of one session would each write what waits."""
        self._rejected: AnswerRecord | None = None
        self._tries = 0
        self.lost = 0
        """Answers dropped because the backlog was full, or the store refused them."""

    name = "answers"

    @property
    def waiting(self) -> int:
        return len(self._backlog)

    async def check(self) -> Mapping[str, str | int | float]:
        """For /readyz; never fails: the store has a probe of its own."""
        return {"waiting": self.waiting, "lost": self.lost}

    async def keep(self, kept: AnswerRecord) -> None:
        """Write now, or queue the record. It takes the place of an earlier one of the same answer."""
        self._leave_out(lambda other: other.answer.id == kept.answer.id)
        try:
            async with asyncio.timeout(PATIENCE):
                await self._write(kept)
        except (IbidError, TimeoutError):
            self.later(kept)
        except asyncio.CancelledError:
            self.later(kept)
            raise

    def later(self, kept: AnswerRecord) -> None:
        if len(self._backlog) >= BACKLOG:
            self._drop(self._backlog.popleft(), "no room")
        self._backlog.append(kept)
        self._more.set()

    async def written(self, scope: Scope) -> None:
        """Wait until no record of the scope's session or thread is in the backlog, at most PATIENCE."""
        if not self._waiting_of(scope):
            return
        with suppress(IbidError, TimeoutError):
            async with asyncio.timeout(PATIENCE), self._turn:
                for kept in self._waiting_of(scope):
                    await self._write(kept)
                    self._leave_out(partial(is_, kept))

    def _waiting_of(self, scope: Scope) -> list[AnswerRecord]:
        return [kept for kept in self._backlog if _of_thread(kept.scope, scope)]

    def find(self, scope: Scope, answer_id: str) -> AnswerRecord | None:
        """The scope's answer with its own scope, if it is in the backlog."""
        ours = (kept for kept in reversed(self._backlog) if may_see(scope, kept.scope))
        return next((kept for kept in ours if kept.answer.id == answer_id), None)

    def last(self, scope: Scope) -> AnswerRecord | None:
        """The newest answer with a text of the scope's user and thread in the backlog."""
        ours = [kept for kept in self._backlog if _same_user(scope, kept.scope) and kept.answer.text]
        heard = [kept for kept in ours if kept.scope.thread == scope.thread]
        return max(heard, key=lambda kept: kept.answer.id, default=None)

    def forget(self, scope: Scope) -> bool:
        return self._leave_out(lambda kept: _of_session(kept.scope, scope)) > 0

    def forget_user(self, scope: Scope) -> int:
        """Drop the records of the scope's user, with any key; returns their number."""
        return self._leave_out(lambda kept: _of_user(kept.scope, scope))

    def _leave_out(self, chosen: Callable[[AnswerRecord], bool]) -> int:
        waiting = [kept for kept in self._backlog if not chosen(kept)]
        left_out = len(self._backlog) - len(waiting)
        self._backlog = deque(waiting)
        return left_out

    async def run(self) -> None:
        while True:
            await self._more.wait()
            if not await self.drain():
                await asyncio.sleep(PAUSE)

    async def finish(self) -> None:
        """At shutdown: write the backlog, or count it as lost."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FINISH_SECONDS):
                while not await self.drain():  # noqa: ASYNC110 - no event announces that the store is back
                    await asyncio.sleep(PAUSE)
        if self._backlog:
            log.error("answers not kept", lost=self.lost + len(self._backlog))

    async def drain(self) -> bool:
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

    def _hopeless(self, kept: AnswerRecord) -> bool:
        self._tries = self._tries + 1 if kept is self._rejected else 1
        self._rejected = kept
        return self._tries >= TRIES

    def _drop(self, kept: AnswerRecord, why: str) -> None:
        self.lost += 1
        log.error("answer not kept", answer_id=kept.answer.id, why=why, lost=self.lost)

    async def _write(self, kept: AnswerRecord) -> None:
        await self._answers.keep(kept.scope, kept.answer, kept.turns)


def _same_asker(one: Scope, other: Scope) -> bool:
    return (one.tenant, one.owner) == (other.tenant, other.owner)


def _same_user(asker: Scope, asked: Scope) -> bool:
    """True if a record belongs to the same key user, and to the user that the request names."""
    return _same_asker(asker, asked) and asker.user_id in (None, asked.user_id)


def may_see(asker: Scope, asked: Scope) -> bool:
    """True if a record belongs to the user that the request acts for, whichever key asked; a tenant key
    without a user sees all of its tenant."""
    if asker.tenant != asked.tenant:
        return False
    if asker.user_id is None:
        return asker.owner in ("", asked.owner)
    return asker.user_id in (asked.user_id, asked.owner)


def _of_session(one: Scope, other: Scope) -> bool:
    return _same_asker(one, other) and one.session_id == other.session_id


def _of_thread(one: Scope, other: Scope) -> bool:
    return _of_session(one, other) or (_same_asker(one, other) and one.thread == other.thread)


def _of_user(one: Scope, other: Scope) -> bool:
    return one.tenant == other.tenant and other.user_id in (one.user_id, one.owner)
