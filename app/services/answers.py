"""An answer looked back at: what was seen, packed and said. Raises `Missing`, `Unavailable`."""

import asyncio

from app.domain.answer import Answer
from app.domain.errors import IbidError, Missing
from app.domain.passage import Scope
from app.domain.ports import Answers
from app.services.recorder import Kept, Recorder

ASKING_SECONDS = 1.0
"""For whether the session of an answer that waits was removed meanwhile."""


class AnswerService:
    """Answers, as those who asked see them."""

    def __init__(self, answers: Answers, recorder: Recorder) -> None:
        self._answers = answers
        self._recorder = recorder

    async def get(self, scope: Scope, answer_id: str) -> Answer:
        """The answer with its trace, also while it waits to be written; another's is not there."""
        waiting = self._recorder.find(scope, answer_id)
        found = waiting.answer if waiting else await self._answers.get(scope, answer_id)
        if found is None or (waiting and await self._removed(waiting)):
            raise Missing("there is no such answer")
        return found

    async def found(self, scope: Scope, answer_id: str) -> tuple[Scope, Answer]:
        """The same, with the scope in which it was asked."""
        answer = await self.get(scope, answer_id)
        waiting = self._recorder.find(scope, answer_id)
        asked = waiting.scope if waiting else await self._answers.asked(scope, answer_id)
        if asked is None:
            raise Missing("there is no such answer")
        return asked, answer

    async def last(self, scope: Scope) -> Answer:
        """The newest of the scope's user and thread that said anything, also while it waits to be written."""
        kept, waiting = await self._answers.last(scope), self._recorder.last(scope)
        if waiting and (kept is None or kept.id < waiting.answer.id) and not await self._removed(waiting):
            return waiting.answer
        if kept is None:
            raise Missing("there is no answer yet")
        return kept

    async def used(self, scope: Scope, answer_id: str) -> tuple[str, ...]:
        """The memories of an answer that an older tool gave the scope's user, by the trace it left."""
        found = await self._answers.used(scope, answer_id)
        if found is None:
            raise Missing("there is no such answer")
        return found

    async def _removed(self, kept: Kept) -> bool:
        """Whether its session was removed since, through whatever replica; no, as long as nobody can say."""
        try:
            async with asyncio.timeout(ASKING_SECONDS):
                return await self._answers.removed(kept.scope, kept.answer.created_at)
        except (IbidError, TimeoutError):
            return False
