"""Answers as server-sent events, or whole; downloads from a store.

Two tasks run beside an answer: one cancels it when the client disconnects, since the model costs money; one
sends a ping every few seconds. A client that reads nothing for STALL_SECONDS counts as gone.

An answer is the events `meta`, `token`…, `citations`, `done`. Each has an id `<answer_id>:<n>`, n from 1.
After the 200 an error can only be an event: `error`, with the problem document, as the last one. A client
that lost its stream resumes it (`Resumed`); while one does, the answer goes on without the client that asked.
Times are seconds.
"""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Mapping,
)
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import structlog
from fastapi import Request
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from app.answer import Finish
from app.answering.live import Numbered
from app.answering.stream import Event, Reply
from app.api.bodies import Json, encoded
from app.api.schemas import Out
from app.api.schemas.chat import CitationMarks
from app.errors import IbidError, problem
from app.logging import request_id
from app.problems import problem_of, stopping, unexpected

MEDIA = "text/event-stream"
STALL_SECONDS = 60.0
"""Longest wait of a ping for the client to read."""
PING_SECONDS = 15.0
"""Between comments that keep proxies from closing an idle connection."""
LAST_WORD_SECONDS = 0.5
"""Time for the client to read the last event of an interrupted answer."""
# With the content type, because Starlette would add a charset, which `text/event-stream` does not have.
EVENT_HEADERS: Mapping[str, str] = {
    "Content-Type": MEDIA,
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
}

T = TypeVar("T")
ENDINGS: set[asyncio.Task[None]] = set()
"""Tasks that end other tasks; kept here until they are done, since their creator may be cancelled too."""

log = structlog.get_logger(__name__)


async def download(
    pieces: AsyncIterator[bytes], *, headers: Mapping[str, str], media_type: str, status: int = 200
) -> StreamingResponse:
    """A response of pieces from a store. The first is fetched before the status, so that a store that is down
    is a 503 and not a broken download. A later error cuts the connection, so that an incomplete download does
    not look complete."""
    first = await anext(pieces, b"")

    async def body() -> AsyncIterator[bytes]:
        try:
            yield first
            async for piece in pieces:
                yield piece
        finally:
            await close(pieces)

    return Download(body(), status, headers=headers, media_type=media_type)


class Download(StreamingResponse):
    """Cut if the client reads nothing for STALL_SECONDS."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def hurried(message: Message) -> None:
            async with asyncio.timeout(STALL_SECONDS):
                await send(message)

        try:
            with suppress(TimeoutError):
                await super().__call__(scope, receive, hurried)
        finally:
            await close(self.body_iterator)


class Wire(Protocol):
    """How an answer is sent: Ibid's own events (`Events`), or another protocol's."""

    headers: Mapping[str, str]

    def event(self, name: str, data: Mapping[str, object]) -> bytes:
        """An event of `Reply` (`meta`, `token`, `citations`, `done`), framed; b"" sends nothing."""

    def error(self, error: IbidError) -> bytes:
        """An error after the 200. Nothing follows it but `end`."""

    def end(self) -> bytes:
        """The bytes that close the stream, after `done` and after an error."""


class WholeWire(Wire, Protocol):
    """A wire that can also send an answer as one object."""

    def whole(self, told: Mapping[str, object]) -> Response:
        """From `Reply.whole`."""


class Ended(NamedTuple):
    """The words of other protocols for how an answer ended."""

    completion: Literal["stop", "length"]
    """`finish_reason` of OpenAI's chat completions."""
    response: str
    """`status` of their responses."""
    item: str
    """`status` of a response's message."""
    incomplete: str | None
    """Why a response is incomplete."""
    ui: str
    """`finishReason` of the AI SDK."""


ENDS: Mapping[Finish | None, Ended] = {
    Finish.STOP: Ended("stop", "completed", "completed", None, "stop"),
    Finish.LENGTH: Ended("length", "incomplete", "incomplete", "max_output_tokens", "length"),
    Finish.CANCELLED: Ended("stop", "cancelled", "incomplete", None, "other"),
    None: Ended("stop", "failed", "incomplete", None, "error"),
}
"""None: in an error."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """The models of an endpoint's answer: its `meta` and `done` events, and the whole (`stream: false`)."""

    meta: type[Out]
    done: type[Out]
    whole: type[Out]

    def events(self, reply: Reply, instance: str) -> WholeWire:
        return Events(self, reply.answer_id, instance)


class Events:
    """Ibid's own events. Each has an id `<answer_id>:<n>`, n from 1; `instance` is the request's id."""

    headers: Mapping[str, str] = EVENT_HEADERS

    def __init__(self, shapes: Shapes, answer_id: str, instance: str) -> None:
        # Tokens are encoded by hand: each is one text, and there are hundreds.
        self._models: dict[str, type[Out]] = {
            "meta": shapes.meta,
            "citations": CitationMarks,
            "done": shapes.done,
        }
        self._whole = shapes.whole
        self._answer_id = answer_id
        self._instance = instance
        self._count = 0

    def event(self, name: str, data: Mapping[str, object]) -> bytes:
        model = self._models.get(name)
        return self._framed(name, encoded(model.model_validate(data) if model else data))

    def error(self, error: IbidError) -> bytes:
        return self._framed("error", encoded(problem_of(error, self._instance)))

    def end(self) -> bytes:
        return b""

    def whole(self, told: Mapping[str, object]) -> Response:
        return Json(self._whole.model_validate(told))

    def at(self, n: int) -> None:
        """The next event has number n; 0: it is none of the answer's, and has no id."""
        self._count = n - 1

    def _framed(self, name: str, data: bytes) -> bytes:
        """JSON escapes line breaks, so the data is one line whatever the text."""
        self._count += 1
        number = f"id: {self._answer_id}:{self._count}\n" if self._count else ""
        head = f"{number}event: {name}\ndata: "
        return b"%b%b\n\n" % (head.encode(), data)


@dataclass(frozen=True, slots=True)
class PreparedAnswer:
    """An answer that is ready to be sent, and the form its client wants."""

    reply: Reply
    wire: WholeWire
    receive: Receive
    stream: bool
    watch: bool

    async def response(self) -> Response:
        if self.stream:
            return EventStream(self.reply, self.wire, watch=self.watch)
        whole = self.reply.whole()
        return self.wire.whole(await (unless_gone(self.receive, whole) if self.watch else whole))


@asynccontextmanager
async def prepared(
    request: Request,
    preparing: Coroutine[Any, Any, Reply],
    wire: Callable[[Reply, str], WholeWire],
    *,
    stream: bool,
    watch: bool = True,
) -> AsyncIterator[PreparedAnswer]:
    """Runs everything that can fail while a status can still be sent, and closes the reply at the end. `wire`
    gets the reply and the request's id. With `watch`, a client's disconnect cancels the work; without it, the
    request continues without a reader."""
    reply = await (unless_gone(request.receive, preparing, lost=Reply.aclose) if watch else preparing)
    try:
        framing = wire(reply, request_id(request.scope))
        yield PreparedAnswer(reply, framing, request.receive, stream, watch)
    finally:
        await reply.aclose()


What: TypeAlias = Literal["answer", "document"]
BROKE_OFF: Mapping[What, str] = {"answer": "answer broke off", "document": "following a document broke off"}
FAILED: Mapping[What, str] = {"answer": "answer failed", "document": "following a document failed"}


class EventStream(Response):
    """An answer as server-sent events. With `watch`, a client's disconnect cancels the answer, unless another
    one follows it. `what` the events are of, for the log."""

    def __init__(
        self, reply: "Reply | Resumed", wire: Wire, *, watch: bool = True, what: What = "answer"
    ) -> None:
        self.status_code = 200
        self.background = None
        self.init_headers(wire.headers)
        self._reply = reply
        self._wire = wire
        self._watch = watch
        self._what = what
        self._gone = False
        self._done = False
        self._ready = b""
        """Events that wait for the next one, or for the end."""
        # A ping that waited for a slow client must not come after the end.
        self._last = asyncio.Lock()
        self._ended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        work = asyncio.create_task(self._work(send))
        tasks = {work, asyncio.create_task(self._pings(send))}
        if self._watch:
            tasks.add(asyncio.create_task(self._abandoned(receive)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                work.result()
        finally:
            await end(*tasks)

    async def _abandoned(self, receive: Receive) -> None:
        await gone(receive)
        self._gone = True
        await self._reply.unfollowed()

    async def _pings(self, send: Send) -> None:
        with suppress(TimeoutError):
            while True:
                await asyncio.sleep(PING_SECONDS)
                async with asyncio.timeout(STALL_SECONDS), self._last:
                    if not self._ended:
                        await send(piece(b": ping\n\n"))

    async def _end(self, send: Send) -> None:
        body = self._ready + self._wire.end()
        await send({"type": "http.response.body", "body": body, "more_body": False})

    async def _work(self, send: Send) -> None:
        """All events, and the end."""
        try:
            async with aclosing(self._reply.events()) as events:
                if (meta := self._reply.meta) is not None:
                    await send(piece(self._wire.event("meta", meta)))
                async for name, data in events:
                    # Events that are ready at the same time are sent together, so that a service that falls
                    # behind its model catches up.
                    self._done = name == "done"
                    self._ready += self._wire.event(name, data)
                    if self._ready and not self._reply.more:
                        body, self._ready = self._ready, b""
                        await send(piece(body))
        except asyncio.CancelledError:
            # Either the client has left and reads nothing more, or the service is stopping.
            if not self._done:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LAST_WORD_SECONDS):
                        self._error(stopping())
                        await self._end(send)
                if not self._gone:
                    self._reply.fail(stopping())
            raise
        except IbidError as error:
            log.warning(BROKE_OFF[self._what], slug=error.slug, **self._named())
            self._error(error)
        except Exception:
            log.exception(FAILED[self._what], **self._named())
            self._reply.fail(unexpected())
            self._error(unexpected())
        async with self._last:
            self._ended = True
            await self._end(send)

    def _named(self) -> dict[str, str]:
        return {f"{self._what}_id": self._reply.answer_id}

    def _error(self, error: IbidError) -> None:
        self._ready += self._wire.error(error)


@dataclass(slots=True)
class Resumed:
    """The rest of an answer that another request began, in the place of its `Reply`. A client's disconnect
    ends this stream alone. `at` tells the wire the number of the next event."""

    answer_id: str
    numbered: AsyncIterator[Numbered]
    at: Callable[[int], None] = lambda _: None
    meta: None = None
    more: bool = False

    async def events(self) -> AsyncGenerator[Event]:
        """Raises the error that the answer ended with."""
        try:
            async for n, name, data in self.numbered:
                self.at(n)
                if name == "error":
                    raise problem(str(data["slug"]), str(data["detail"]))
                yield name, dict(data)
                self.at(0)  # an error of this stream
        finally:
            await close(self.numbered)

    def fail(self, error: IbidError) -> None:
        """It is this stream's, not the answer's."""

    async def unfollowed(self) -> None:
        """Nobody else reads this stream."""


def piece(body: bytes) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": True}


async def close(iterator: AsyncIterable[object]) -> None:
    if isinstance(iterator, AsyncGenerator):
        await iterator.aclose()


async def gone(receive: Receive) -> None:
    """Return when the client has disconnected. Call it only after the whole body was read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_gone(
    receive: Receive, work: Coroutine[Any, Any, T], *, lost: Callable[[T], Awaitable[None]] | None = None
) -> T:
    """The result of `work`. If the client disconnects, `work` is cancelled and `ClientDisconnect` raised;
    `lost` closes a result that came at the same moment."""
    task, leaving = asyncio.create_task(work), asyncio.create_task(gone(receive))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        # If both are done, the result must reach its owner, who closes it.
        if task.done():
            await end(leaving)
            return task.result()
        raise ClientDisconnect
    except (asyncio.CancelledError, ClientDisconnect):
        ending = asyncio.create_task(_let_go(task, leaving, lost))
        ENDINGS.add(ending)
        ending.add_done_callback(ENDINGS.discard)
        await asyncio.shield(ending)
        raise


async def _let_go(
    task: asyncio.Task[T], leaving: asyncio.Task[None], lost: Callable[[T], Awaitable[None]] | None
) -> None:
    """End both, and close a result that came nevertheless."""
    await end(task, leaving)
    if lost and not task.cancelled() and not task.exception():
        await lost(task.result())


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks and wait until each has ended, however it ends."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()
