"""Replays: a recorded answer against the present stores and policy.

A replay neither searches nor asks a model: it compares the version of the ranking, and reads in the scope of
the question. Times are in seconds. Raises `Missing`, and `Unavailable` if a store does not answer.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.answer import CHAT_LOG_REF, KNOWLEDGE, MEMORY_REF, NOTES, Answer, Recipe, Ref
from app.answering.replay import (
    NOT_ASKED,
    NOT_KEPT,
    Difference,
    Replayed,
    Today,
    replayed,
    unkept,
)
from app.db.cards import CardStore
from app.db.projects import Knowledge, KnowledgeStore
from app.errors import RETRY_SECONDS, Unavailable, required
from app.retrieval.originals import OriginalStore
from app.services.answers import AnswerService
from app.services.projects import entries
from app.types import Scope

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
            what = Difference("recipe", None, NOT_KEPT if answer.prompt_sha256 else NOT_ASKED)
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
