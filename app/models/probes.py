"""Probes of the embedding and chat models for /readyz (`types.Probe`): a server by GET /models, which costs
nothing, the bundled embedder by a word.

A result holds for FRESH_SECONDS: /readyz needs no key, and must not keep a server or a processor busy. Raises
`RetrievalError` and `ModelError`. Times are seconds.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from app.errors import IbidError, RetrievalError
from app.models.base import Embedder
from app.models.bundled import Bundled
from app.models.chat import chat_name, chat_server
from app.models.client import FAULTS, ModelClient, Refused, Server, model_error, open_client
from app.models.spaces import reachable
from app.settings import Settings
from app.types import Probe, Space

FRESH_SECONDS = 5.0
PROBE_SECONDS = 1.5
"""Less than /readyz gives a dependency, so that the result is cached."""
SERVER_SECONDS = 1.0

Facts = Mapping[str, str | int | float]


class ModelProbe:
    """Checks a model. For one event loop."""

    def __init__(self, name: str, facts: Facts, ask: Callable[[], Awaitable[None]]) -> None:
        self.name = name
        self._facts = facts
        self._ask = ask
        self._turn = asyncio.Lock()
        self._until = 0.0
        self._ms = 0
        self._error: IbidError | None = None

    async def check(self) -> Facts:
        """Its kind and name, and the milliseconds of the last check."""
        async with self._turn:
            if time.monotonic() >= self._until:
                await self._asked()
        if self._error:
            raise self._error.with_traceback(None)
        return {**self._facts, "ms": self._ms}

    async def _asked(self) -> None:
        began = time.monotonic()
        try:
            await self._ask()
            self._error = None
        except IbidError as error:
            self._error = error
        self._ms = round((time.monotonic() - began) * 1000)
        self._until = time.monotonic() + FRESH_SECONDS


class ServerProbe:
    """Checks a server that answers can do without."""

    def __init__(self, name: str, client: ModelClient) -> None:
        self.name = name
        self._client = client

    async def check(self) -> Facts:
        """Raises `RetrievalError` if the server is down. Requests no scores: they may cost money."""
        await self._client.ping(SERVER_SECONDS)
        return {}


async def answers(client: ModelClient) -> None:
    """Checks that the server answers and accepts the key. Raises `ModelError`.

    A refusal other than of the key (401) counts as an answer: not every server lists its models, and some
    keys may only create answers (403).
    """
    try:
        await client.get(PROBE_SECONDS)
    except FAULTS as error:
        status = error.status if isinstance(error, Refused) else 0
        if not 400 <= status < 500 or status in (401, 408):
            raise model_error(error) from error


@asynccontextmanager
async def open_probes(
    settings: Settings, embedder: Embedder, space: Space
) -> AsyncIterator[tuple[Probe, Probe]]:
    """(of the chat model, of the embedding model)."""
    chat = chat_server(settings)
    name = chat_name(settings) if chat else "extractive"
    embedding = reachable(settings, space.model, space.dim)

    async def embeds() -> None:
        if not isinstance(embedder, Bundled):
            return
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                await embedder.check()
        except TimeoutError as error:
            raise RetrievalError("timeout") from error

    async def quotes() -> None:
        """The extractive answerer needs no check."""

    async with asking(chat, quotes) as said, asking(embedding, embeds) as embedded:
        yield (
            ModelProbe("chat", facts(chat, name), said),
            ModelProbe("embedding", facts(embedding, space.model), embedded),
        )


@asynccontextmanager
async def asking(
    at: Server | None, bundled: Callable[[], Awaitable[None]]
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """The check of a model: its server, or the bundled one."""
    if at is None:
        yield bundled
        return
    async with open_client(at, "/models") as client:
        yield lambda: answers(client)


def facts(at: Server | None, model: str) -> Facts:
    """Neither address nor key."""
    return {"kind": "server" if at else "bundled", "model": model}
