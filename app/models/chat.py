"""Chat models over the OpenAI protocol: the request, its stream, the models' names.

A stream is open once the response head has arrived. 401/403/404 raise `ModelRefused`, 429 `ModelBusy`,
silence `ModelTimeout`, all else `ModelError`. A model that fails several times in a row is not asked for some
seconds (`breaker.py`). OpenAI's reasoning models refuse `max_tokens`, Ollama ignores `max_completion_tokens`:
a server that refuses one gets the other. Chat templates refuse a second system message (Qwen) or drop it
(gpt-oss): all servers but OpenAI's own get one. A model's reasoning is no part of its answer. Times are in
seconds.
"""

import asyncio
import json
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from enum import Enum, auto
from typing import Any

import orjson
import structlog

from app.answer import BREAK, Finish, Message, Prompt, Role, Usage
from app.breaker import LASTING, Breaker
from app.errors import ModelError, ModelTimeout
from app.models.base import Delta, ModelStream
from app.models.client import FAULTS, ModelClient, ResponseBody, Server, model_error, open_client, server
from app.settings import Feedback, Rag, Settings, Vantage
from app.tracing import ModelCall

log = structlog.get_logger(__name__)

PATH, EVENTS = "/chat/completions", "text/event-stream"
USAGE_SECONDS = 2.0
"""Wait for the usage after the answer has ended."""
DRAIN_SECONDS = 0.1
"""Wait for the end of the body after [DONE], so that the connection can be used again."""
LINE_BYTES = 4 * 2**20
SPREAD_BYTES = 16 << 10
"""Most bytes of an event over several lines, which is parsed again with each line."""
BOM, END = b"\xef\xbb\xbf", b"\n\n"
EARLY = "The model's server closed early, in the middle of the answer."
REPORTED = "The model's server reported an error in the middle of the answer."
UNREADABLE = "The model's server sent what is not JSON."


THINK, THOUGHT = "<think>", "</think>"
UNSURE_SECONDS = 0.3  # text is held back so long if it is unknown whether the model begins in a thought
REASONS = re.compile(r"think|reason|(?<![a-z0-9])(?:r1|qwq)(?![a-z0-9])", re.IGNORECASE)
"""Names of models whose chat templates usually begin a thought: believed until an answer shows it."""


class Phase(Enum):
    BEGINNING = auto()  # what came may yet become `<think>`
    THOUGHT = auto()  # behind `<think>`
    HELD = auto()  # in a thought that the prompt began, or in the answer
    ANSWER = auto()


class Thoughts:
    """Separates a model's reasoning from its answer, however the stream is split: blocks of `<think>` at the
    beginning, or all text before a `</think>` that nothing opened, since some chat templates begin the block
    in the prompt. Marks in quotes, in code, or within a line of an answer that is being sent are text."""

    def __init__(self, inside: bool | None = None) -> None:
        self.inside = inside  # in a thought that the prompt began; None: unknown
        self.lone: bool | None = None  # True if such a thought ended
        self.place = Phase.BEGINNING
        self.pieces: list[str] = []  # since the last thought
        self.sent = 0
        self.after = False  # behind a thought, where blanks are dropped
        self.tail = ""

    @property
    def unsure(self) -> bool:
        return self.place is Phase.HELD and not self.inside

    def feed(self, text: str) -> list[Delta]:
        """What is certain now; a delta with `restart` takes back everything before it."""
        self.pieces.append(text)
        if self.place is Phase.BEGINNING:
            text = "".join(self.pieces).lstrip()
            if len(text) < len(THINK) and THINK.startswith(text):
                return []
            self.place = Phase.THOUGHT if text.startswith(THINK) else Phase.HELD
            self.pieces = [text] if self.after else self.pieces
        window = self.tail + text
        self.tail = window[-len(THOUGHT) :]
        if THOUGHT in window and (rest := self.behind()) is not None:
            return self.begin(rest)
        sure = self.place is Phase.ANSWER or (self.place is Phase.HELD and self.inside is False)
        return self.release() if sure else []

    def behind(self) -> str | None:
        """The text behind a thought; None: no thought ended."""
        said = "".join(self.pieces)
        if self.place is Phase.THOUGHT:
            return said.partition(THOUGHT)[2]
        before, _, rest = said.rpartition(THOUGHT)
        if self.after or THINK in before or before.count("```") % 2 or before.endswith(("`", '"', "'")):
            return None
        answers = self.place is Phase.ANSWER or self.inside is False
        if answers and not (rest and "\n" in (before[-1:], rest[0])):
            return None
        self.lone = True
        return rest

    def begin(self, rest: str) -> list[Delta]:
        taken_back = [Delta(restart=True)] if self.sent else []
        self.inside, self.after = False, True
        self.place, self.pieces, self.sent, self.tail = Phase.BEGINNING, [], 0, ""
        return [*taken_back, *(self.feed(rest) if rest else [])]

    def release(self) -> list[Delta]:
        self.place = Phase.ANSWER
        found, self.sent = self.pieces[self.sent :], len(self.pieces)
        return [Delta(text) for text in found if text]

    def end(self, finish: Finish | None) -> list[Delta]:
        """The rest, unless it is a thought: one that the limit of length, or a fault (None), cut short."""
        cut = self.place is Phase.HELD and self.inside and finish is not Finish.STOP
        blank = self.place is Phase.BEGINNING and self.after and not "".join(self.pieces).strip()
        if self.place is Phase.THOUGHT or cut or blank:
            return []
        if self.lone is None and finish and "".join(self.pieces).strip():
            self.lone = False
        return self.release()


class OpenAIStream:
    """A running answer as a `base.ModelStream`; read once."""

    def __init__(self, body: ResponseBody, model: str, thoughts: Thoughts | None = None) -> None:
        self.body = body
        self.model = model
        self.thoughts = thoughts or Thoughts()
        self.until: float | None = None  # when the thoughts have been unsure for too long
        self.finish: Finish | None = None
        self.usage: Usage | None = None
        self.fault = ""
        """The problem in which it ended."""
        self.done = False
        """True after [DONE]."""
        self.rest = b""
        """Beginning of a line."""
        self.half = b""
        """Beginning of an event that continues in its next `data:` line."""

    def traced(self, call: ModelCall) -> None:
        """End the span of this answer."""
        used = self.usage or Usage()
        call.end(
            error=self.fault,
            response__model=self.model,
            response__finish_reasons=[str(self.finish)] if self.finish else None,
            usage__input_tokens=used.prompt_tokens if self.usage else None,
            usage__output_tokens=used.completion_tokens if self.usage else None,
        )

    async def __aiter__(self) -> AsyncIterator[Delta]:
        """Deltas in order; the last has `finish`. Raises `ModelError`."""
        piece: bytes | None = None
        try:
            while piece != b"":
                piece, fault = await self.piece(), None
                if piece is None:
                    deltas = self.thoughts.release()
                else:
                    text, fault = self.heard(piece or END)
                    deltas = self.thoughts.feed(text) if text else []
                for delta in deltas:
                    yield delta
                if fault:
                    raise fault
            if self.finish is None:
                raise ModelError(EARLY)
        except ModelError as error:
            self.fault = error.slug
            for delta in self.thoughts.end(None):
                yield delta
            raise
        for delta in self.thoughts.end(self.finish):
            yield delta
        yield Delta(finish=self.finish, usage=self.usage)

    def heard(self, piece: bytes) -> tuple[str, ModelError | None]:
        """The text of events that arrived together, up to a fault if there is one."""
        *lines, self.rest = (self.rest + piece).split(b"\n")
        texts: list[str] = []
        try:
            texts.extend(map(self.said, lines))
            if len(self.rest) > LINE_BYTES:
                raise ModelError("The model's server sent a line without an end.")
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

    async def piece(self) -> bytes | None:
        """The next bytes, b"" at the end; once the answer has ended, silence and faults are an end too. None:
        text was held back for UNSURE_SECONDS."""
        unsure = None
        try:
            if not self.thoughts.unsure:
                return await self.body.next()
            self.until = self.until or asyncio.get_running_loop().time() + UNSURE_SECONDS
            async with asyncio.timeout_at(self.until) as unsure:
                return await self.body.next()
        except FAULTS as error:
            if unsure and unsure.expired():
                return None
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
        delta = first([choice.get("delta")])
        if delta.get("reasoning_content") or delta.get("reasoning"):
            self.thoughts.inside = False  # the server separates them
        text = delta.get("content")
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
JUDGE_TOKENS = 1_024  # a reasoning model thinks before its word
USAGE = frozenset({"stream_options", "include_usage"})
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
        self.thinking: dict[str, bool] = {}  # by model: whether its last answer began in a thought

    @asynccontextmanager
    async def open(self, prompt: Prompt, *, model: str | None = None) -> AsyncIterator[ModelStream]:
        """Entered at the response head, which decides for the breaker; on leaving, the connection is closed
        unless the answer was read to its end."""
        asked = model or self.name
        breaker = self.breaker_of(asked)
        if breaker.refuses:
            raise refusal(breaker)
        call = ModelCall("chat", asked, self.client.server.url, max_tokens=self.answer_tokens, stream=True)
        async with AsyncExitStack() as held:
            with breaker.attempt(is_down), call.current():
                content = await self.head(held, prompt, asked)
            stream = OpenAIStream(content, asked, Thoughts(self.begins_inside(asked)))
            held.callback(stream.traced, call)
            yield stream
            if stream.thoughts.lone is not None:
                self.thinking[asked] = stream.thoughts.lone
                if len(self.thinking) > MODELS:
                    del self.thinking[next(iter(self.thinking))]

    @property
    def circuits(self) -> int:
        """Open circuits of all models."""
        return sum(each.circuits for each in (self.breaker, *self.others.values()))

    def begins_inside(self, model: str) -> bool | None:
        return self.thinking.get(model, True if REASONS.search(model) else None)

    def breaker_of(self, model: str) -> Breaker:
        if model == self.name:
            return self.breaker
        if model not in self.others:
            self.others[model] = Breaker(time.monotonic, lasting=LASTING)
        self.others.move_to_end(model)
        if len(self.others) > MODELS:
            self.others.popitem(last=False)
        return self.others[model]

    async def head(self, held: AsyncExitStack, prompt: Prompt, model: str) -> ResponseBody:
        """Send the request, again without optional fields that the server refuses by name."""
        try:
            content = await held.enter_async_context(self.client.post(self.body(prompt, model), self.silence))
        except FAULTS as error:
            if self.client.learn(error, self.optional()):
                return await self.head(held, prompt, model)
            raise model_error(error) from error
        if "html" in content.content_type or "json" in content.content_type:
            raise ModelError("The model's server did not answer with a stream of events.")
        return content

    def body(self, prompt: Prompt, model: str) -> bytes:
        messages = prompt.messages() if self.client.server.vendor else one_system(prompt.messages())
        asked = {"model": model, "messages": messages, "stream": True, **self.options()}
        try:
            return orjson.dumps(asked)
        except TypeError:
            return orjson.dumps(asked | {"messages": [printable(turn) for turn in messages]})

    def options(self) -> dict[str, object]:
        """Optional fields that the server has not refused."""
        names = LIMITS if self.client.server.vendor else tuple(reversed(LIMITS))
        known = [name for name in names if name not in self.client.unknown][:1]
        options: dict[str, object] = dict.fromkeys(known, self.answer_tokens)
        if not self.client.unknown & USAGE:
            options["stream_options"] = {"include_usage": True}
        return options

    def optional(self) -> set[str]:
        """What of the next request may be refused by name. A refusal also names what to use instead."""
        sent = self.options().keys()
        return {*sent, *(USAGE if USAGE & sent else ())}


def one_system(messages: Sequence[Message]) -> list[Message]:
    """The same with one system message, the first, which has the texts of all in their order."""
    texts = [each["content"] for each in messages if each["role"] == Role.SYSTEM]
    others = [each for each in messages if each["role"] != Role.SYSTEM]
    return [Message(role=Role.SYSTEM, content=BREAK.join(texts)), *others] if texts else others


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
async def open_judge(settings: Settings, at: Server | None) -> AsyncIterator[OpenAIChat | None]:
    """FEEDBACK_MODEL at the chat model's server, for one word; None without a server."""
    if at is None:
        yield None
        return
    async with open_client(at, PATH, accept=EVENTS) as client:
        silence = settings.chat.timeout_seconds
        yield OpenAIChat(
            client, model_at(settings, settings.feedback), silence=silence, answer_tokens=JUDGE_TOKENS
        )
