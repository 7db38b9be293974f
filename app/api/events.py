"""The SSE grammar of an answer: meta, token…, citations, done; or error, and nothing more.

Each event has an id `<answer_id>:<n>`, n from 1; a comment every PING_SECONDS keeps proxies awake. After
the 200 is out a fault can only be an event: problems of ours as they are, anything else as `internal`.
A token costs one JSON encoding and at most one send.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Protocol

import structlog
from starlette.types import Send

from app.api.stream import Stream, close, piece
from app.api.wire import encoded
from app.errors import IbidError
from app.problems import document, stopping

MEDIA = "text/event-stream"
PING_SECONDS = 15.0
LAST_WORD_SECONDS = 0.5
"""What a client that reads slowly is given when its answer is cut short."""
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

log = structlog.get_logger(__name__)


class Told(Protocol):
    """An answer under way, as `answering/stream.py` has it."""

    answer_id: str
    more: bool
    """Whether another event follows the last one at once."""

    @property
    def meta(self) -> dict[str, object]:
        """The first event."""

    def events(self) -> AsyncIterator[tuple[str, dict[str, object]]]:
        """The others: (name, data). Raises `IbidError` once it is too late for a status."""


class EventStream(Stream):
    """An answer as server-sent events. `instance` is the request's id."""

    def __init__(
        self, reply: Told, instance: str, *, every: float = PING_SECONDS, watch: bool = True
    ) -> None:
        super().__init__(headers=HEADERS, media_type=MEDIA, ping=b": ping\n\n", every=every, watch=watch)
        self._reply = reply
        self._instance = instance
        self._count = 0
        self._done = False
        self._ready = b""
        """Events that wait for the next one."""

    async def tell(self, send: Send) -> None:
        """The answer, and how it ended if it ended badly."""
        try:
            await self._answer(send)
        except asyncio.CancelledError:
            # Its client has left, and does not hear it; or the service is stopping.
            if not self._done:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LAST_WORD_SECONDS):
                        await self._event(send, "error", document(stopping(), self._instance))
                        await send({"type": "http.response.body", "body": b"", "more_body": False})
            raise
        except IbidError as error:
            log.warning("answer broke off", slug=error.slug, answer_id=self._reply.answer_id)
            await self._event(send, "error", document(error, self._instance))
        except Exception:
            log.exception("answer failed", answer_id=self._reply.answer_id)
            told = IbidError("The cause is in the service's log, under this request's id.")
            await self._event(send, "error", document(told, self._instance))

    async def _answer(self, send: Send) -> None:
        """Every event of an answer that goes well."""
        await self._event(send, "meta", self._reply.meta)
        events = self._reply.events()
        try:
            async for name, data in events:
                await self._event(send, name, data, more=self._reply.more)
        finally:
            await close(events)

    async def _event(self, send: Send, name: str, data: Mapping[str, object], *, more: bool = False) -> None:
        """One event. JSON escapes line breaks, so that data is one line whatever the text holds. What is
        ready at once leaves in one send: a service that falls behind its model catches up."""
        self._count += 1
        self._done = name == "done"
        head = f"id: {self._reply.answer_id}:{self._count}\nevent: {name}\ndata: "
        self._ready += b"%b%b\n\n" % (head.encode(), encoded(data))
        if not more:
            body, self._ready = self._ready, b""
            await piece(send, body)
