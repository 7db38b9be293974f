"""A response that is sent piece by piece for as long as its client is there. Raw ASGI, one send a piece.

Three things run beside each other without a timeout around any of them: the work that sends, the watch for
the client's leaving (which cancels the work at once), and a ping while the line is otherwise silent or not.
A client that reads nothing for STALL_SECONDS is treated as gone. Times are seconds.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Self

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.peer import end, gone

STALL_SECONDS = 60.0
"""Longest that one ping may wait for the client to read."""


class Stream(Response):
    """Sends what `tell` sends. `watch` False: goes on although the client has left."""

    def __init__(
        self,
        *,
        headers: Mapping[str, str],
        media_type: str,
        ping: bytes = b"",
        every: float | None = None,
        watch: bool = True,
    ) -> None:
        self.status_code = 200
        self.background = None
        # Given whole: Starlette would add a charset, and `text/event-stream` has none to choose.
        self.init_headers({"Content-Type": media_type, **headers})
        self._ping = ping
        self._every = every
        self._watch = watch
        # A ping that waited for a slow client must not come out after the end.
        self._last = asyncio.Lock()
        self._ended = False

    async def tell(self, send: Send) -> None:
        """Send all pieces; the end of the body is sent afterwards."""
        raise NotImplementedError

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one response."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        work = asyncio.create_task(self._work(send))
        tasks = {work, asyncio.create_task(gone(receive))} if self._watch else {work}
        try:
            while not await self._settled(tasks):
                if not await self._pinged(send):
                    return
            if work.done():
                work.result()
        finally:
            await end(*tasks)

    async def _work(self, send: Send) -> None:
        """All pieces and the end."""
        await self.tell(send)
        async with self._last:
            self._ended = True
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _settled(self, tasks: set[asyncio.Task[None]]) -> bool:
        """Whether something ended before the next ping is due."""
        done, _ = await asyncio.wait(tasks, timeout=self._every, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)

    async def _pinged(self, send: Send) -> bool:
        """Send a ping; False: the client does not read."""
        try:
            async with asyncio.timeout(STALL_SECONDS), self._last:
                if not self._ended:
                    await piece(send, self._ping)
        except TimeoutError:
            return False
        return True


class Begun(Stream):
    """Pieces that come from a store: the first is fetched before the status, so that a store that is down is
    a 503 and not a broken download. A fault later cuts the connection: half of it must not look whole."""

    def __init__(self, pieces: AsyncIterator[bytes], *, headers: Mapping[str, str], media_type: str) -> None:
        super().__init__(headers=headers, media_type=media_type)
        self._pieces = pieces
        self._first = b""

    async def begin(self) -> Self:
        """With the first piece at hand. Raises what the store raises."""
        self._first = await anext(self._pieces, b"")
        return self

    async def tell(self, send: Send) -> None:
        """All pieces."""
        try:
            await piece(send, self._first)
            async for more in self._pieces:
                await piece(send, more)
        finally:
            await close(self._pieces)


async def piece(send: Send, body: bytes) -> None:
    """One piece of the body."""
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def close(iterator: AsyncIterator[object]) -> None:
    """End a generator that was left in the middle, now and not when it is collected."""
    if isinstance(iterator, AsyncGenerator):
        await iterator.aclose()
