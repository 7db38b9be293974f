"""A chat model's stream of events, read into deltas. Keeps `ports.ModelStream`; raises `ModelError`.

Read here rather than with the client's typed events: less work a token, and no surprise in what a server
leaves out. An event is a line `data: {…}`; the last is `data: [DONE]`. Times are seconds.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import structlog

from app.domain.answer import Finish, Usage
from app.domain.errors import ModelError, ModelTimeout
from app.domain.ports import Delta
from app.models.openai import Peer

log = structlog.get_logger(__name__)

USAGE_SECONDS = 2.0
"""Waited for the usage after the answer has ended."""
DRAIN_SECONDS = 0.1
"""Waited for the end of the body after [DONE], so that the connection can be used again."""
LINE_BYTES = 4 * 2**20
EARLY = "The model's server closed early, in the middle of the answer."


class OpenAIStream:
    """An answer under way. Keeps `ports.ModelStream`; read once."""

    def __init__(self, pieces: AsyncIterator[bytes], peer: Peer, model: str, silence: float) -> None:
        self.pieces = pieces
        self.peer = peer
        self.model = model
        self.patience = silence
        """Seconds until the next piece; less once the answer has ended."""
        self.finish: Finish | None = None
        self.usage: Usage | None = None

    def __aiter__(self) -> AsyncIterator[Delta]:
        """Deltas in order; the last has `finish`."""
        return self.deltas()

    async def deltas(self) -> AsyncIterator[Delta]:
        """What the model says, then how it ended."""
        async for line in self.lines():
            if line.startswith(b"data:") and (text := self.take(line[5:].strip())):
                yield Delta(text)
        if self.finish is None:
            raise ModelError(EARLY)
        yield Delta(finish=self.finish, usage=self.usage)

    async def lines(self) -> AsyncIterator[bytes]:
        """The body's lines. Once the answer has ended, silence and faults only end the reading."""
        rest = b""
        while (piece := await self.piece()) is not None:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line
            if len(rest) > LINE_BYTES:
                raise ModelError("The model's server sent a line without an end.")
        yield rest

    async def piece(self) -> bytes | None:
        """The next bytes; None at the end."""
        try:
            async with asyncio.timeout(self.patience):
                return await anext(self.pieces, None)
        except self.peer.faults as error:
            if self.finish is not None:
                return None
            if isinstance(error, self.peer.timeouts):
                raise ModelTimeout("The model fell silent in the middle of the answer.") from error
            log.warning("model stream failed", fault=type(error).__name__)
            raise ModelError(EARLY) from error

    def take(self, data: bytes) -> str:
        """One event: its text; what else it tells is kept."""
        if data == b"[DONE]":
            self.patience = DRAIN_SECONDS
            return ""
        event = read(data)
        self.usage = usage(event.get("usage")) or self.usage
        self.model = str(event.get("model") or self.model)
        choice = first(event.get("choices"))
        if ended := choice.get("finish_reason"):
            self.finish = Finish.LENGTH if ended == "length" else Finish.STOP
            self.patience = USAGE_SECONDS
        text = first([choice.get("delta")]).get("content")
        return text if isinstance(text, str) else ""


def read(data: bytes) -> dict[str, Any]:
    """An event's JSON."""
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelError("The model's server sent what is not JSON.") from error
    if not isinstance(event, dict) or event.get("error"):
        raise ModelError("The model's server reported an error in the middle of the answer.")
    return event


def first(items: object) -> dict[str, Any]:
    """The first of a list if it is an object; servers differ in what they leave out or send as null."""
    found = items[0] if isinstance(items, list) and items else None
    return found if isinstance(found, dict) else {}


def usage(told: object) -> Usage | None:
    """Tokens as the server counted them; None: it did not say."""
    if not isinstance(told, dict):
        return None
    counts = [told.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return Usage(*(count if isinstance(count, int) else 0 for count in counts))
