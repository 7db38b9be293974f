"""Chat models over the OpenAI protocol: the request, its stream, the models' names.

A stream is open once the response head has arrived. 401/403/404 raise `ModelRefused`, 429 `ModelBusy`,
silence `ModelTimeout`, all else `ModelError`. A model that fails several times in a row is not asked for some
seconds (`breaker.py`). OpenAI's reasoning models refuse `max_tokens`, Ollama ignores `max_completion_tokens`:
a server that refuses one gets the other. Seconds.
"""

import json
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import orjson
import structlog

from app.answer import Finish, Message, Prompt, Usage
from app.breaker import LASTING, Breaker
from app.errors import ModelError, ModelTimeout
from app.models.base import Delta, ModelStream
from app.models.client import FAULTS, Body, ModelClient, Server, model_error, open_client, server
from app.settings import Feedback, Rag, Settings, Vantage

log = structlog.get_logger(__name__)

PATH, EVENTS = "/chat/completions", "text/event-stream"
USAGE_SECONDS = 2.0
"""Wait for the usage after the answer has ended."""
DRAIN_SECONDS = 0.1
"""Wait for the end of the body after [DONE], so that the connection can be used again."""
LINE_BYTES = 4 * 2**20
SPREAD_BYTES = 16 << 10
"""Most bytes of an event over several lines, which is parsed again with each line."""
BOM = b"\xef\xbb\xbf"
EARLY = "The model's server closed early, in the middle of the answer."
REPORTED = "The model's server reported an error in the middle of the answer."
UNREADABLE = "The model's server sent what is not JSON."


class OpenAIStream:
    """A running answer as a `base.ModelStream`; read once."""

    def __init__(self, body: Body, model: str) -> None:
        self.body = body
        self.model = model
        self.finish: Finish | None = None
        self.usage: Usage | None = None
        self.done = False
        """True after [DONE]."""
        self.half = b""
        """Beginning of an event that continues in its next `data:` line."""

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self.deltas()

    async def deltas(self) -> AsyncIterator[Delta]:
        """Deltas in order; the last has `finish`."""
        rest = b""
        while piece := await self.piece():
            *lines, rest = (rest + piece).split(b"\n")
            text, fault = self.heard(lines)
            if text:
                yield Delta(text)
            if fault:
                raise fault
            if len(rest) > LINE_BYTES:
                raise ModelError("The model's server sent a line without an end.")
        if text := self.said(rest) or self.said(b""):
            yield Delta(text)
        if self.finish is None:
            raise ModelError(EARLY)
        yield Delta(finish=self.finish, usage=self.usage)

    def heard(self, lines: Sequence[bytes]) -> tuple[str, ModelError | None]:
        """The text of lines that arrived together, up to a fault if there is one."""
        texts: list[str] = []
        try:
            texts.extend(map(self.said, lines))
        except ModelError as error:
            return "".join(texts), error
        return "".join(texts), None

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
            return await self.body.next()
        except FAULTS as error:
            if self.finish is not None or self.done:
                return b""
            if isinstance(error, TimeoutError):
                raise ModelTimeout("The model fell silent in the middle of the answer.") from error
            log.warning("model stream failed", fault=type(error).__name__)
            raise ModelError(EARLY) from error

    def take(self, data: bytes) -> str:
        """The text of one event; finish, usage and model are stored."""
        self.body.reset()
        if data == b"[DONE]":
            self.done = True
            self.body.reset(DRAIN_SECONDS)
            return ""
        event = self.event(data)
        self.usage = usage(event.get("usage")) or self.usage
        self.model = str(event.get("model") or self.model)
        choice = first(event.get("choices"))
        if ended := choice.get("finish_reason"):
            self.finish = Finish.LENGTH if ended == "length" else Finish.STOP
            self.body.reset(USAGE_SECONDS)
        text = first([choice.get("delta")]).get("content")
        return text if isinstance(text, str) else ""

    def event(self, data: bytes) -> dict[str, Any]:
        """An event's JSON; {} if it continues in the next line. Parsed at once if possible: some servers omit
        the empty line between events."""
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
    try:
        event = orjson.loads(data)
    except ValueError:
        event = lenient(data)
    if not isinstance(event, dict) or event.get("error"):
        raise ModelError(REPORTED)
    return event


def lenient(data: bytes) -> object:
    """For JSON that only Python's parser accepts: some servers split an emoji's surrogates between two
    deltas."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotJson(UNREADABLE) from error


def first(items: object) -> dict[str, Any]:
    found = items[0] if isinstance(items, list) and items else None
    return found if isinstance(found, dict) else {}


def usage(told: object) -> Usage | None:
    if not isinstance(told, dict):
        return None
    counts = [told.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return Usage(*(count if isinstance(count, int) else 0 for count in counts))


RAG_MODEL, FEEDBACK_MODEL = "gpt-5.2", "gpt-4o-mini"
"""Defaults; not in the settings, so that a copy of `.env.example` sets neither."""
LIMITS = ("max_completion_tokens", "max_tokens")
OPTIONAL = (*LIMITS, "stream_options", "include_usage")
MODELS = 64
"""Most models with a breaker of their own; the least recently used is dropped first."""


class OpenAIChat:
    def __init__(self, client: ModelClient, name: str, *, silence: float, answer_tokens: int) -> None:
        self.client = client
        self.name = name
        self.silence = silence
        """Seconds the model may be silent, before its head and between two deltas."""
        self.answer_tokens = answer_tokens
        self.breaker = Breaker(time.monotonic, lasting=LASTING)
        """Of the default model."""
        self.others: OrderedDict[str, Breaker] = OrderedDict()
        """Breakers of other models: requests for a failing one must not open the default's."""

    @asynccontextmanager
    async def open(self, prompt: Prompt, *, model: str | None = None) -> AsyncIterator[ModelStream]:
        """Entered at the response head, which decides for the breaker; on leaving, the connection is closed
        unless the answer was read to its end."""
        asked = model or self.name
        breaker = self.breaker_of(asked)
        if breaker.refuses:
            raise refusal(breaker)
        async with AsyncExitStack() as held:
            with breaker.attempt(is_down):
                content = await self.head(held, prompt, asked)
            yield OpenAIStream(content, asked)

    def breaker_of(self, model: str) -> Breaker:
        if model == self.name:
            return self.breaker
        if model not in self.others:
            self.others[model] = Breaker(time.monotonic, lasting=LASTING)
        self.others.move_to_end(model)
        if len(self.others) > MODELS:
            self.others.popitem(last=False)
        return self.others[model]

    async def head(self, held: AsyncExitStack, prompt: Prompt, model: str) -> Body:
        """Send the request, again without optional fields that the server refuses by name."""
        try:
            content = await held.enter_async_context(self.client.post(self.body(prompt, model), self.silence))
        except FAULTS as error:
            if self.client.learn(error, OPTIONAL):
                return await self.head(held, prompt, model)
            raise model_error(error) from error
        if "html" in content.content_type or "json" in content.content_type:
            raise ModelError("The model's server did not answer with a stream of events.")
        return content

    def body(self, prompt: Prompt, model: str) -> bytes:
        asked = {"model": model, "messages": prompt.messages(), "stream": True, **self.options()}
        try:
            return orjson.dumps(asked)
        except TypeError:
            return orjson.dumps(asked | {"messages": [printable(turn) for turn in prompt.messages()]})

    def options(self) -> dict[str, object]:
        """Optional fields that the server has not refused."""
        names = LIMITS if self.client.server.vendor else tuple(reversed(LIMITS))
        known = [name for name in names if name not in self.client.unknown][:1]
        options: dict[str, object] = dict.fromkeys(known, self.answer_tokens)
        if not self.client.unknown & {"stream_options", "include_usage"}:
            options["stream_options"] = {"include_usage": True}
        return options


def is_down(error: Exception) -> bool:
    return isinstance(error, ModelError) and error.down


def refusal(breaker: Breaker) -> ModelError:
    kind = ModelTimeout if isinstance(breaker.last, ModelTimeout) else ModelError
    detail = "The model's server has failed several times in a row, and is left alone for a moment."
    return kind(detail, retry_after=breaker.retry_after)


def printable(turn: Message) -> Message:
    """Replaces lone surrogates, which no JSON body can carry, by `?`."""
    return {**turn, "content": turn["content"].encode("utf-8", "replace").decode()}


def chat_server(settings: Settings) -> Server | None:
    return server(settings.chat, settings.openai)


def chat_name(settings: Settings) -> str:
    """CHAT_MODEL; else Jinx-gpt-oss-20b if CHAT_BASE_URL is set; else RAG_MODEL."""
    own = "Jinx-gpt-oss-20b" if settings.chat.base_url else settings.rag.model or RAG_MODEL
    return settings.chat.model or own


def model_at(settings: Settings, group: Rag | Feedback | Vantage) -> str:
    """RAG_MODEL, FEEDBACK_MODEL or VANTAGE_MODEL. If it is unset and CHAT_BASE_URL is set, the chat model:
    such a server hardly has OpenAI's models."""
    vendors = FEEDBACK_MODEL if isinstance(group, Feedback) else RAG_MODEL
    return group.model or (chat_name(settings) if settings.chat.base_url else vendors)


@asynccontextmanager
async def open_chat(settings: Settings, at: Server) -> AsyncIterator[OpenAIChat]:
    """The chat model at a server. No retries: a client is waiting, and may ask again."""
    async with open_client(at, PATH, accept=EVENTS) as client:
        chat = settings.chat
        yield OpenAIChat(
            client, chat_name(settings), silence=chat.timeout_seconds, answer_tokens=chat.answer_reserve
        )


@asynccontextmanager
async def open_token(settings: Settings, at: Server | None) -> AsyncIterator[OpenAIChat | None]:
    """FEEDBACK_MODEL at the chat model's server, limited to one token; None without a server."""
    if at is None:
        yield None
        return
    async with open_client(at, PATH, accept=EVENTS) as client:
        silence = settings.chat.timeout_seconds
        yield OpenAIChat(client, model_at(settings, settings.feedback), silence=silence, answer_tokens=1)
