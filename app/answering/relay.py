"""Follows and stops a reply that another replica gives, by LISTEN/NOTIFY: an answer that nobody resumes costs
nothing.

The asking replica sends its request to all, itself included. The one that has the reply sends the events
back in numbered parts, every BATCH_SECONDS, as long as the request is renewed; each other says that it has
not. If a part is missing, the request begins anew after the last event. Times are in seconds. Raises
`Unavailable` if Postgres does not answer.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

import structlog

from app.answering.live import Live, LiveReply, Numbered, as_json
from app.answering.recorder import Recorder
from app.db.jobs import LISTENERS, Listener
from app.db.pool import Pool
from app.errors import IbidError
from app.tasks import deadline
from app.types import Scope

CHANNEL = "ibid_replies"
NOTIFY = "SELECT pg_notify($1, part) FROM unnest($2::text[]) AS part"
ALL = "*"
PART = 7_000
"""Characters of a part, all ASCII: Postgres takes less than 8,000 bytes."""
BATCH_SECONDS = 0.06
ANSWER_SECONDS = 1.0
"""Longest silence before a request is renewed, and after that before the reply counts as lost."""
LEASE_SECONDS = 6.0
"""How long a request holds that is not renewed."""
LISTEN_SECONDS = 60.0
SERVED = 64
"""Most requests of other replicas that are served at once."""
WAITING = 200
"""Most parts that wait for a slow client; a further one is dropped, and asked for again."""
NOT_HERE = -1
"""In place of a part's number: this replica does not have the reply."""
NOTHING = 10**9
"""The number of an event that no answer reaches: to be told only of the end."""

log = structlog.get_logger(__name__)


class Lost(Exception):
    """No replica gives this reply any more."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A reply of another replica."""

    answer_id: str
    endpoint: str
    events: AsyncGenerator[Numbered, None]
    """Raises `Lost`."""


@dataclass(slots=True)
class Served:
    """A request of another replica."""

    until: float
    news: asyncio.Event = field(default_factory=asyncio.Event)
    due: bool = True
    """A part is due, even without events: the request is new, or was renewed."""
    parts: int = 0
    """Sent so far."""


class Gap(Exception):
    """A part was missed."""


class Relay:
    def __init__(self, pool: Pool, live: Live, recorder: Recorder) -> None:
        self._pool = pool
        self._live = live
        self._recorder = recorder
        self._name = secrets.token_hex(8)
        self._asked: dict[str, asyncio.Queue[tuple[int, str]]] = {}
        self._served: dict[str, Served] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Listen to the other replicas, and serve them."""
        try:
            async with Listener(self._pool, CHANNEL, self._heard) as listener:
                while True:
                    await listener.wait(seconds=LISTEN_SECONDS)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def ask(
        self,
        scope: Scope,
        *,
        answer_id: str = "",
        thread: str = "",
        after: int = 0,
        stop: bool = False,
        seconds: float = ANSWER_SECONDS,
    ) -> Remote | None:
        """The reply with this id, or the newest of the thread; None: each replica says that it does not have
        it, or none has answered in `seconds`. With `stop` it is ended, and the events are only waited for."""
        wanted = {"answer_id": answer_id, "thread": thread, "stop": stop, "tenant": scope.tenant}
        wanted |= {"owner": scope.owner, "user_id": scope.user_id}
        lines = self._lines(wanted, NOTHING if stop else after, seconds)
        try:
            head = await anext(lines)
        except Lost:
            return None
        return Remote(head["answer_id"], head["endpoint"], events(lines))

    async def _lines(
        self, wanted: Mapping[str, object], after: int, seconds: float
    ) -> AsyncGenerator[Any, None]:
        """What the replica says: once an object that names the reply, then its events, each as a list."""
        named = False
        while True:
            ticket = secrets.token_hex(8)
            queue = self._asked[ticket] = asyncio.Queue(WAITING)
            request = {**wanted, "ticket": ticket, "from": self._name}
            try:
                with self._pool.asking():
                    listeners = await self._pool.fetchval(LISTENERS, CHANNEL)
                await self._send(ALL, [as_json({**request, "after": after})])
                async with aclosing(self._parts(request, queue, listeners, seconds)) as parts:
                    async for told in parts:
                        if isinstance(told, list):
                            after = told[0]
                            yield told
                        elif not named:
                            named = True
                            yield told
                return
            except Gap:
                log.info("part missed", answer_id=wanted["answer_id"], after=after)
            finally:
                del self._asked[ticket]
                self._begin(self._send(ALL, [as_json({**request, "leave": True})]))

    async def _parts(
        self,
        request: Mapping[str, object],
        queue: "asyncio.Queue[tuple[int, str]]",
        listeners: int,
        seconds: float,
    ) -> AsyncGenerator[Any, None]:
        """The lines of one request, which is renewed meanwhile. Raises `Gap`; `Lost` if nobody answers, or
        all listeners say that they do not have the reply."""
        count, text, answered, until = 0, "", False, deadline(seconds)
        while True:
            if deadline(0) >= until and queue.empty():
                if not answered:
                    raise Gap if count else Lost
                answered, until = False, deadline(ANSWER_SECONDS)
                await self._send(ALL, [as_json(request)])
            try:
                async with asyncio.timeout_at(until):
                    n, part = await queue.get()
            except TimeoutError:
                continue
            if n == NOT_HERE:
                listeners -= 1
                if not listeners:
                    raise Lost
                continue
            answered = True
            if n != count:
                raise Gap
            count += 1
            *lines, text = (text + part).split("\n")
            for line in lines:
                if not line:
                    return
                yield json.loads(line)

    def _heard(self, payload: str) -> None:
        to, _, text = payload.partition(" ")
        try:
            if to == ALL:
                self._requested(json.loads(text))
            elif to == self._name:
                ticket, n, part = text.split(" ", 2)
                if queue := self._asked.get(ticket):
                    queue.put_nowait((int(n), part))
        except asyncio.QueueFull:
            pass  # the client is slow: the next part shows that this one is missing
        except (ValueError, KeyError, TypeError):
            log.warning("another replica was not understood")

    def _requested(self, told: dict[str, Any]) -> None:
        served = self._served.get(told["ticket"])
        if served:
            served.until = deadline(0 if told.get("leave") else LEASE_SECONDS)
            served.due = True
            served.news.set()
        elif "after" in told and len(self._served) < SERVED:
            scope = Scope(told["tenant"], told["owner"], told["user_id"])
            of_thread = self._live.newest(scope, told["thread"]) if told["thread"] else None
            if progress := of_thread or self._live.find(scope, told["answer_id"]):
                self._begin(self._serve(told, progress))
            elif not self._recorder.find(scope, told["answer_id"]):  # its record is about to be there
                self._begin(self._send(told["from"], [f"{told['ticket']} {NOT_HERE} "]))

    async def _serve(self, told: dict[str, Any], progress: LiveReply) -> None:
        """Send the events after number `after` until the reply ends, or its reader leaves."""
        served = self._served[told["ticket"]] = Served(deadline(LEASE_SECONDS))
        text = as_json({"answer_id": progress.answer_id, "endpoint": progress.endpoint}) + "\n"
        after = int(told["after"])
        try:
            with progress.joined(served.news):
                if told["stop"]:
                    progress.stop()
                while deadline(0) < served.until:
                    served.news.clear()
                    ended = progress.ended
                    while event := progress.event(after + 1):
                        after += 1
                        text += as_json([after, *event]) + "\n"
                    text += "\n" if ended else ""
                    if text or served.due:
                        await self._answer(told, served, text)
                        text = ""
                    if ended:
                        return
                    with suppress(TimeoutError):
                        async with asyncio.timeout_at(served.until):
                            await served.news.wait()
                            await asyncio.sleep(BATCH_SECONDS)
        except IbidError as error:  # Postgres is away, or too many follow: the request is not answered
            log.warning("reply not relayed", answer_id=progress.answer_id, slug=error.slug)
        finally:
            del self._served[told["ticket"]]

    async def _answer(self, told: Mapping[str, Any], served: Served, text: str) -> None:
        served.due = False
        cut = [text[at : at + PART] for at in range(0, len(text), PART)] or [""]
        parts = [f"{told['ticket']} {n} {part}" for n, part in enumerate(cut, served.parts)]
        served.parts += len(cut)
        await self._send(told["from"], parts)

    async def _send(self, to: str, texts: Sequence[str]) -> None:
        with self._pool.asking():
            await self._pool.execute(NOTIFY, CHANNEL, [f"{to} {text}" for text in texts])

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def quietly(work: Coroutine[Any, Any, None]) -> None:
    with suppress(IbidError):
        await work


async def events(lines: AsyncGenerator[Any, None]) -> AsyncGenerator[Numbered, None]:
    async with aclosing(lines):
        async for n, name, data in lines:
            yield n, name, data
