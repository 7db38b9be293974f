"""The events of an answer, recorded or in progress, on any replica; and its end on demand.

Times are in seconds. Raises `Missing`, and `Unavailable` if a store does not answer.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass

from app.answer import Answer
from app.answering.live import LAST, Live, LiveReply, Numbered, events_of, with_texts
from app.answering.relay import Lost, Relay, Remote
from app.db.rows import is_id
from app.errors import Missing, Overloaded, Unavailable
from app.retrieval.originals import OriginalStore
from app.services.answers import AnswerService
from app.tasks import deadline
from app.types import Scope


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
