"""The opening of a model's stream: begun by a task of its own, waited for twice, closed exactly once.

The status of a reply is decided at the response head or after some seconds, whichever is first; the stream
is then read by whoever answers. Raises `ModelError` as the model does.
"""

import asyncio
from contextlib import AbstractAsyncContextManager

from app.domain.ports import ModelStream


class Opening:
    """The model's stream, being opened by a task of its own; closed exactly once."""

    def __init__(self, manager: AbstractAsyncContextManager[ModelStream], model: str) -> None:
        self._manager = manager
        self._task = asyncio.create_task(manager.__aenter__())
        self._closing: asyncio.Task[None] | None = None
        self.model = model

    async def head(self, seconds: float) -> None:
        """Wait for the response head, at most `seconds`. Raises what the model raised by then."""
        try:
            await asyncio.wait({self._task}, timeout=seconds)
        except asyncio.CancelledError:
            await self.close()
            raise
        if self._task.done():
            self.model = self._task.result().model

    async def stream(self) -> ModelStream:
        """The opened stream."""
        opened = await asyncio.shield(self._task)
        self.model = opened.model
        return opened

    async def close(self) -> None:
        """Let the model go: its connection closes, also if who waits for that is cancelled meanwhile."""
        self._closing = self._closing or asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        """Once."""
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled() and self._task.exception() is None:
            await self._manager.__aexit__(None, None, None)
