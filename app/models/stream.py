"""A chat model's stream of events, read into deltas. Keeps `ports.ModelStream`; raises `ModelError`.

Read here rather than with the client's typed events: less work a token, and no surprise in what a server
leaves out. An event is a line `data: {…}`; the last is `data: [DONE]`. Times are seconds.
"""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import orjson
import structlog

from app.domain.answer import Finish, Usage
from app.domain.errors import ModelError, ModelTimeout
from app.domain.ports import Delta
from app.models.line import Bytes

log = structlog.get_logger(__name__)

USAGE_SECONDS = 2.0
"""Waited for the usage after the answer has ended."""
DRAIN_SECONDS = 0.1
"""Waited for the end of the body after [DONE], so that the connection can be used again."""
LINE_BYTES = 4 * 2**20
SPREAD_BYTES = 16 << 10
"""Of an event over several lines, which is read again with each of them."""
BOM = b"\xef\xbb\xbf"
EARLY = "The model's server closed early, in the middle of the answer."
REPORTED = "The model's server reported an error in the middle of the answer."
UNREADABLE = "The model's server sent what is not JSON."


class OpenAIStream:
    """An answer under way. Keeps `ports.ModelStream`; read once."""

    def __init__(self, pieces: Bytes, faults: tuple[type[Exception], ...], model: str) -> None:
        self.pieces = pieces
        self.faults = faults
        self.model = model
        self.finish: Finish | None = None
        self.usage: Usage | None = None
        self.done = False
        """Whether [DONE] was said."""
        self.half = b""
        """The beginning of an event that goes on in its next `data:` line."""

    def __aiter__(self) -> AsyncIterator[Delta]:
        """Deltas in order; the last has `finish`."""
        return self.deltas()

    async def deltas(self) -> AsyncIterator[Delta]:
        """What the model says, then how it ended."""
        rest = b""
        while piece := await self.piece():
            *lines, rest = (rest + piece).split(b"\n")
            texts, fault = self.heard(lines)
            for left, text in enumerate(texts, 1 - len(texts)):
                yield Delta(text, more=left < 0)
            if fault:
                raise fault
            if len(rest) > LINE_BYTES:
                raise ModelError("The model's server sent a line without an end.")
        if text := self.said(rest) or self.said(b""):
            yield Delta(text)
        if self.finish is None:
            raise ModelError(EARLY)
        yield Delta(finish=self.finish, usage=self.usage)

    def heard(self, lines: Sequence[bytes]) -> tuple[list[str], ModelError | None]:
        """The texts of some lines, up to a fault if there is one."""
        texts: list[str] = []
        try:
            texts.extend(text for line in lines if (text := self.said(line)))
        except ModelError as error:
            return texts, error
        return texts, None

    def said(self, line: bytes) -> str:
        """A line's text, if it has any. The stream may begin with a byte order mark."""
        if line[:5] == b"data:":
            return self.take(line[5:].strip())
        if line[:3] == BOM:
            return self.said(line[3:])
        if line[:6] == b"event:" and line[6:].strip() == b"error":
            raise ModelError(REPORTED)
        if self.half and not line.strip():
            raise NotJson(UNREADABLE)
        return ""

    async def piece(self) -> bytes:
        """The next bytes, b"" at the end; once the answer has ended, silence and faults are an end too."""
        try:
            return await self.pieces.next()
        except self.faults as error:
            if self.finish is not None or self.done:
                return b""
            if isinstance(error, TimeoutError):
                raise ModelTimeout("The model fell silent in the middle of the answer.") from error
            log.warning("model stream failed", fault=type(error).__name__)
            raise ModelError(EARLY) from error

    def take(self, data: bytes) -> str:
        """One event: its text; what else it tells is kept."""
        self.pieces.heard()
        if data == b"[DONE]":
            self.done = True
            self.pieces.hurry(DRAIN_SECONDS)
            return ""
        event = self.event(data)
        self.usage = usage(event.get("usage")) or self.usage
        self.model = str(event.get("model") or self.model)
        choice = first(event.get("choices"))
        if ended := choice.get("finish_reason"):
            self.finish = Finish.LENGTH if ended == "length" else Finish.STOP
            self.pieces.hurry(USAGE_SECONDS)
        text = first([choice.get("delta")]).get("content")
        return text if isinstance(text, str) else ""

    def event(self, data: bytes) -> dict[str, Any]:
        """An event's JSON; {} where it goes on in the next line. Taken at once where it can be: servers that
        leave out the empty line between two events are understood too."""
        data = self.half + data
        try:
            event = read(data)
        except NotJson:
            if len(data) > SPREAD_BYTES:
                raise
            self.half = data + b"\n"
            return {}
        self.half = b""
        return event


class NotJson(ModelError):
    """An event cannot be read, or not yet."""


def read(data: bytes) -> dict[str, Any]:
    """An event's JSON."""
    try:
        event = orjson.loads(data)
    except ValueError:
        event = lenient(data)
    if not isinstance(event, dict) or event.get("error"):
        raise ModelError(REPORTED)
    return event


def lenient(data: bytes) -> object:
    """What is JSON to Python alone: some servers cut an emoji's two halves between two deltas."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotJson(UNREADABLE) from error


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
