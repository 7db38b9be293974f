"""Sessions and recorded answers: look-up, removal, replay against the present stores and policy; answers'
events, recorded or in progress.

A replay neither searches nor asks a model: it compares the version of the ranking, and reads in the scope of
the question. Seconds. Raises `Missing`, `InvalidField` (a cursor), and `Unavailable` if a store does not
answer.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from app.answer import CHAT_LOG_REF, KNOWLEDGE, MEMORY_REF, NOTES, Answer, Recipe, Ref
from app.answering.live import LAST, Live, Numbered, Progress, events_of, with_texts
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
from app.db.answers import AnswerStore, OriginalStore
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


@dataclass(frozen=True, slots=True)
class Following:
    """The rest of an answer's events."""

    answer_id: str
    endpoint: str
    events: AsyncIterator[Numbered]


STOP_SECONDS = 5.0
"""Time for a stopped answer to be recorded."""


class StreamService:
    """The events of answers for clients that lost them, and the end of answers in progress."""

    def __init__(self, live: Live, answers: AnswerService, originals: OriginalStore) -> None:
        self._live = live
        self._answers = answers
        self._originals = originals

    async def follow(self, scope: Scope, answer_id: str, after: int) -> Following | None:
        """The events after number `after`; None: nothing follows. Raises `Missing`, `Overloaded`."""
        if progress := self._live.find(scope, answer_id):
            return Following(answer_id, progress.endpoint, self._followed(scope, progress, after))
        asked, answer = await self._answers.found(scope, answer_id)
        events = await self._recorded(asked, answer, after)
        return Following(answer_id, answer.endpoint, listed(events)) if events else None

    async def stop(self, scope: Scope, answer_id: str) -> Answer:
        """The answer, ended."""
        if progress := self._live.find(scope, answer_id):
            progress.stop()
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await progress.over()
        return await self._answers.get(scope, answer_id)

    async def _followed(self, scope: Scope, progress: Progress, after: int) -> AsyncIterator[Numbered]:
        """Of a reply that ended without its last events, they are in the record."""
        async for event in progress.follow(after):
            yield event
            after = event[0]
        if not progress.tail[-1:] or progress.tail[-1][0] not in LAST:
            asked, answer = await self._answers.found(scope, progress.answer_id)
            for event in await self._recorded(asked, answer, after):
                yield event

    async def _recorded(self, asked: Scope, answer: Answer, after: int) -> list[Numbered]:
        facts: dict[str, object] = {}
        if after < 1 and answer.sent and answer.sent.facts:
            found = await self._originals.passages(asked, answer.trace.packed)
            facts = with_texts(answer, {key: passage.text for key, passage in found.items()})
        return list(events_of(answer, asked.session_id, facts, after))


async def listed(events: Iterable[Numbered]) -> AsyncIterator[Numbered]:
    for event in events:
        yield event


class SessionService:
    def __init__(self, sessions: SessionStore, recorder: Recorder) -> None:
        self._sessions = sessions
        self._recorder = recorder

    async def recent(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Session], str | None]:
        return await self._sessions.recent(scope, cursor=cursor, limit=limit)

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        await self._recorder.written(scope)
        return await self._sessions.turns(scope, cursor=cursor, limit=limit)

    async def remove(self, scope: Scope) -> None:
        removed = await self._sessions.remove(scope)
        if not self._recorder.forget(scope) and not removed:
            raise Missing("there is no such session")
