"""Sessions and recorded answers: look-up, removal, and replay against the present stores and policy.

A replay neither searches nor asks a model: it compares the version of the ranking, and reads in the scope of
the question. Seconds. Raises `Missing`, `InvalidField` (a cursor), and `Unavailable` if a store does not
answer.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.answer import CHAT_LOG_REF, KNOWLEDGE, MEMORY_REF, NOTES, Answer, Recipe, Ref
from app.answering.recorder import AnswerRecord, Recorder
from app.answering.replay import (
    NOT_ASKED,
    NOT_KEPT,
    Change,
    Replayed,
    Today,
    replayed,
    unkept,
)
from app.db.answers import AnswerLine, AnswerStore, OriginalStore
from app.db.cards import CardStore
from app.db.projects import Knowledge, KnowledgeStore
from app.db.sessions import Session, SessionStore, Utterance
from app.errors import RETRY_SECONDS, IbidError, Missing, Unavailable, required
from app.services.projects import entries
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


REPLAY_SECONDS = 10.0
"""Deadline of all look-ups of a replay."""


class ReplayService:
    def __init__(
        self,
        answers: AnswerService,
        originals: OriginalStore,
        notices: CardStore,
        knowledge: KnowledgeStore,
        count: Callable[[str], int],
    ) -> None:
        """`notices`: vantage cards and facts; `count` gives o200k tokens."""
        self._answers = answers
        self._originals = originals
        self._notices = notices
        self._knowledge = knowledge
        self._count = count

    async def replay(self, scope: Scope, answer_id: str) -> Replayed:
        asked, answer = await self._answers.found(scope, answer_id)
        if answer.recipe is None:  # an older version's, or its client disconnected before there was a prompt
            what = Change("recipe", None, NOT_KEPT if answer.prompt_sha256 else NOT_ASKED)
            return Replayed(answer.prompt_sha256, None, (what,))
        try:
            async with asyncio.timeout(REPLAY_SECONDS):
                today = await self._today(asked, answer, answer.recipe)
        except TimeoutError:
            raise Unavailable("a store does not answer", retry_after=RETRY_SECONDS) from None
        # Weighing a long message, quoting and hashing forty passages takes milliseconds.
        return await asyncio.to_thread(replayed, answer, answer.recipe, today)

    async def _today(self, asked: Scope, answer: Answer, recipe: Recipe) -> Today:
        asked = replace(asked, project=recipe.project)
        refs = [ref for block in recipe.blocks for ref in block.refs]
        others = [ref.id for ref in refs if ref.source not in (MEMORY_REF, CHAT_LOG_REF, KNOWLEDGE, NOTES)]
        lost = [block.sha256 for block in recipe.turns if unkept(block)]
        passages = await self._originals.passages(asked, answer.trace.packed)
        return Today(
            await asyncio.to_thread(entries, recipe, passages, self._count),
            await self._originals.cards(asked, ids(refs, MEMORY_REF)),
            await self._originals.turns(asked, ids(refs, CHAT_LOG_REF)),
            await self._notices.by_id(asked, others) if others else {},
            said=await self._originals.said(asked, lost) if lost else {},
            knowledge=await self._known(asked),
        )

    async def _known(self, asked: Scope) -> Knowledge:
        with required():
            return (await self._knowledge.get(asked) if asked.project else None) or Knowledge()


def ids(refs: Sequence[Ref], source: str) -> list[str]:
    return [ref.id for ref in refs if ref.source == source]


class SessionService:
    def __init__(self, sessions: SessionStore, recorder: Recorder) -> None:
        self._sessions = sessions
        self._recorder = recorder

    async def recent(
        self, scope: Scope, *, cursor: str | None, limit: int, containing: str | None = None
    ) -> tuple[list[Session], str | None]:
        return await self._sessions.recent(scope, cursor=cursor, limit=limit, containing=containing)

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        await self._recorder.written(scope)
        return await self._sessions.turns(scope, cursor=cursor, limit=limit)

    async def remove(self, scope: Scope) -> None:
        removed = await self._sessions.remove(scope)
        if not self._recorder.forget(scope) and not removed:
            raise Missing("there is no such session")
