"""Recorded answers: look-up, also while they wait to be written.

Times are in seconds. Raises `Missing`, `InvalidField` (a cursor), and `Unavailable` if a store does not
answer.
"""

import asyncio
from collections.abc import Sequence

from app.answer import Answer
from app.answering.recorder import AnswerRecord, Recorder
from app.db.answers import AnswerLine, AnswerStore
from app.db.sessions import Utterance
from app.errors import IbidError, Missing
from app.types import Scope

ASKING_SECONDS = 1.0
"""Deadline of checking whether the session of a queued answer was removed."""


class AnswerService:
    def __init__(self, answers: AnswerStore, recorder: Recorder) -> None:
        self._answers = answers
        self._recorder = recorder

    async def get(self, scope: Scope, answer_id: str) -> Answer:
        """The answer with its trace, also while it is queued for writing. `Missing` for another user's."""
        waiting = self._recorder.find(scope, answer_id)
        found = waiting.answer if waiting else await self._answers.get(scope, answer_id)
        if found is None or (waiting and await self._removed(waiting)):
            raise Missing("there is no such answer")
        return found

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[AnswerLine], str | None]:
        await self._recorder.written(scope)
        return await self._answers.list(scope, cursor=cursor, limit=limit)

    async def of_turns(self, scope: Scope, turns: Sequence[Utterance]) -> dict[str, Answer]:
        """The answers that these turns of the scope's session belong to, by id."""
        ids = {turn.answer_id for turn in turns if turn.answer_id}
        return await self._answers.several(scope, ids) if ids else {}

    async def found(self, scope: Scope, answer_id: str) -> tuple[Scope, Answer]:
        answer = await self.get(scope, answer_id)
        waiting = self._recorder.find(scope, answer_id)
        asked = waiting.scope if waiting else await self._answers.asked(scope, answer_id)
        if asked is None:
            raise Missing("there is no such answer")
        return asked, answer

    async def last(self, scope: Scope) -> Answer:
        """The newest answer with a text of the scope's user and thread, also while it is queued."""
        kept, waiting = await self._answers.last(scope), self._recorder.last(scope)
        if waiting and (kept is None or kept.id < waiting.answer.id) and not await self._removed(waiting):
            return waiting.answer
        if kept is None:
            raise Missing("there is no answer yet")
        return kept

    async def written(self, scope: Scope, answer_id: str) -> None:
        """Wait a moment for an answer that waits to be stored."""
        if waiting := self._recorder.find(scope, answer_id):
            await self._recorder.written(waiting.scope)

    async def used(self, scope: Scope, answer_id: str) -> tuple[str, ...]:
        found = await self._answers.used(scope, answer_id)
        if found is None:
            raise Missing("there is no such answer")
        return found

    async def _removed(self, kept: AnswerRecord) -> bool:
        """True if its session was removed since, on any replica; False if that is unknown."""
        try:
            async with asyncio.timeout(ASKING_SECONDS):
                return await self._answers.removed(kept.scope, kept.answer.created_at)
        except (IbidError, TimeoutError):
            return False
