"""Sessions and recorded answers: look-up, removal, replay against the present stores and policy; answers'
events, recorded or in progress.

A replay neither searches nor asks a model: it compares the version of the ranking, and reads in the scope of
the question. Times are in seconds. Raises `Missing`, `InvalidField` (a cursor), and `Unavailable` if a store
does not answer.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace

from app.answer import CHAT_LOG_REF, KNOWLEDGE, MEMORY_REF, NOTES, Answer, Recipe, Ref
from app.answering.live import LAST, Live, LiveReply, Numbered, events_of, with_texts
from app.answering.recorder import AnswerRecord, Recorder
from app.answering.relay import Lost, Relay, Remote
from app.answering.replay import (
    NOT_ASKED,
    NOT_KEPT,
    Difference,
    Replayed,
    Today,
    replayed,
    unkept,
)
from app.db.answers import AnswerLine, AnswerStore
from app.db.cards import CardStore
from app.db.projects import Knowledge, KnowledgeStore
from app.db.rows import is_id
from app.db.sessions import Session, SessionStore, Utterance
from app.errors import RETRY_SECONDS, IbidError, Missing, Overloaded, Unavailable, required
from app.retrieval.originals import OriginalStore
from app.services.projects import entries
from app.tasks import deadline
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


@dataclass(frozen=True, slots=True)
class Following:
    """The rest of an answer's events."""

    answer_id: str
    endpoint: str
    events: AsyncIterator[Numbered]


THREAD_SECONDS = 0.5
"""How long another replica with a reply of a thread is waited for."""
STOP_SECONDS = 5.0
"""Time for a stopped answer to end."""
RECORD_SECONDS, RECORD_PAUSE = 3.0, 0.1
"""Time for the record of an answer that has ended to be written, and between two looks at it."""


class StreamService:
    """The events of answers for clients that lost them, and the end of answers in progress."""

    def __init__(
        self, live: Live, answers: AnswerService, originals: OriginalStore, relay: Relay | None = None
    ) -> None:
        self._live = live
        self._answers = answers
        self._originals = originals
        self._relay = relay

    async def follow(self, scope: Scope, answer_id: str, after: int) -> Following | None:
        """The events after number `after`; None: nothing follows. Raises `Missing`, `Overloaded`."""
        if progress := self._live.find(scope, answer_id):
            progress.check_room()
            return self._following(scope, progress, progress.follow(after), after)
        try:
            asked, answer = await self._answers.found(scope, answer_id)
        except Missing:
            if remote := await self._asked(scope, answer_id, after=after):
                return self._following(scope, remote, remote.events, after)
            asked, answer = await self._answers.found(scope, answer_id)
        events = await self._recorded(asked, answer, after)
        return Following(answer_id, answer.endpoint, listed(events)) if events else None

    async def follow_thread(self, scope: Scope, thread: str) -> Following | None:
        """All events of the thread's newest reply in progress; None: there is none."""
        if progress := self._live.newest(scope, thread):
            progress.check_room()
            return self._following(scope, progress, progress.follow(0), 0)
        if self._relay and (remote := await self._relay.ask(scope, thread=thread, seconds=THREAD_SECONDS)):
            return self._following(scope, remote, remote.events, 0)
        return None

    async def stop(self, scope: Scope, answer_id: str) -> Answer:
        """End an answer in progress; returns it as it is recorded."""
        if progress := self._live.find(scope, answer_id):
            progress.stop()
            with suppress(TimeoutError, Overloaded):
                async with asyncio.timeout(STOP_SECONDS):
                    await progress.over()
            return (await self._ended(scope, answer_id))[1]
        try:
            return await self._answers.get(scope, answer_id)
        except Missing:
            if not (remote := await self._asked(scope, answer_id, stop=True)):
                return await self._answers.get(scope, answer_id)
        with suppress(TimeoutError, Lost):
            async with asyncio.timeout(STOP_SECONDS), aclosing(remote.events):
                async for _ in remote.events:
                    pass
        return (await self._ended(scope, answer_id))[1]

    async def _asked(
        self, scope: Scope, answer_id: str, *, after: int = 0, stop: bool = False
    ) -> Remote | None:
        if self._relay is None or not is_id(answer_id):
            return None
        return await self._relay.ask(scope, answer_id=answer_id, after=after, stop=stop)

    def _following(
        self, scope: Scope, reply: LiveReply | Remote, events: AsyncGenerator[Numbered, None], after: int
    ) -> Following:
        return Following(
            reply.answer_id, reply.endpoint, self._to_the_end(scope, reply.answer_id, events, after)
        )

    async def _to_the_end(
        self, scope: Scope, answer_id: str, events: AsyncGenerator[Numbered, None], after: int
    ) -> AsyncIterator[Numbered]:
        """A reply's events. If it ended without its last ones, they are in the record."""
        name = ""
        with suppress(Lost):
            async with aclosing(events):
                async for event in events:
                    yield event
                    after, name, _ = event
        if name not in LAST:
            asked, answer = await self._ended(scope, answer_id)
            for event in await self._recorded(asked, answer, after):
                yield event

    async def _ended(self, scope: Scope, answer_id: str) -> tuple[Scope, Answer]:
        """The record of an answer that has just ended."""
        until = deadline(RECORD_SECONDS)
        while True:
            try:
                return await self._answers.found(scope, answer_id)
            except Missing:
                if deadline(0) > until:
                    raise Unavailable("the replica that gave this answer does not answer") from None
            await asyncio.sleep(RECORD_PAUSE)

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
        self, scope: Scope, *, cursor: str | None, limit: int, containing: str | None = None
    ) -> tuple[list[Session], str | None]:
        return await self._sessions.recent(scope, cursor=cursor, limit=limit, containing=containing)

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        await self._recorder.written(scope)
        return await self._sessions.turns(scope, cursor=cursor, limit=limit)

    async def rename(self, scope: Scope, title: str) -> Session:
        """The session with this title, or with "" with its own."""
        await self._recorder.written(scope)
        if (found := await self._sessions.rename(scope, title)) is None:
            raise Missing("there is no such session")
        return found

    async def remove(self, scope: Scope) -> None:
        removed = await self._sessions.remove(scope)
        if not self._recorder.forget(scope) and not removed:
            raise Missing("there is no such session")
