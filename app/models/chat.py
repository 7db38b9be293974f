"""A chat model behind the OpenAI protocol. Keeps `ports.ChatModel`; raises `ModelError` and its kin.

Opening means: the response head has arrived. Limits of length: OpenAI's reasoning models refuse
`max_tokens`, Ollama and older llama.cpp ignore `max_completion_tokens`, so the vendor is sent the one and
all others the other; a server that refuses one by name is sent the other from then on. The same for
`stream_options`. A model that has failed several times in a row is not asked for some seconds
(`domain/breaker.py`): no answer, nobody there and 5xx count, refusals do not.
"""

import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import orjson

from app.config import Settings
from app.domain.breaker import Breaker
from app.domain.errors import ModelError, ModelTimeout
from app.domain.ports import ModelStream
from app.domain.prompt import Message, Prompt
from app.knobs import Feedback, Rag, Vantage
from app.models.line import Bytes, Line, open_line
from app.models.openai import Server, server, told
from app.models.stream import OpenAIStream

if TYPE_CHECKING:
    from aiohttp import ClientResponse

RAG_MODEL, FEEDBACK_MODEL = "gpt-5.2", "gpt-4o-mini"
"""Where they are unset: the seeds'. Not in the settings, so that a copy of `.env.example` sets neither."""
LIMITS = ("max_completion_tokens", "max_tokens")
OPTIONAL = (*LIMITS, "stream_options", "include_usage")
LASTING = 3.0
"""Failures within less (seconds) open no breaker: the server may be restarting (docs/decisions/0020)."""
MODELS = 64
"""Models asked by name that have a breaker of their own; the one least lately asked is forgotten first."""


class OpenAIChat:
    """Keeps `ports.ChatModel`."""

    def __init__(self, line: Line, name: str, *, silence: float, answer_tokens: int) -> None:
        self.line = line
        self.name = name
        self.silence = silence
        """Seconds the model may be silent, before its head and between two deltas."""
        self.answer_tokens = answer_tokens
        self.breaker = Breaker(time.monotonic, lasting=LASTING)
        """The default model's."""
        self.others: OrderedDict[str, Breaker] = OrderedDict()
        """Those of other models: who asks for one that fails must not close the default to everybody."""

    @asynccontextmanager
    async def open(self, prompt: Prompt, *, model: str | None = None) -> AsyncIterator[ModelStream]:
        """Entered at the response head, which decides for the breaker; left, the connection is closed unless
        the answer was read out."""
        asked = model or self.name
        breaker = self.breaker_of(asked)
        if breaker.refuses:
            raise refusal(breaker)
        async with AsyncExitStack() as held:
            with breaker.attempt(is_down):
                response = await self.head(held, prompt, asked)
            pieces = Bytes(response, self.silence)
            held.callback(pieces.close)
            yield OpenAIStream(pieces, self.line.faults, asked)

    def breaker_of(self, model: str) -> Breaker:
        """The model's own."""
        if model == self.name:
            return self.breaker
        if model not in self.others:
            self.others[model] = Breaker(time.monotonic, lasting=LASTING)
        self.others.move_to_end(model)
        if len(self.others) > MODELS:
            self.others.popitem(last=False)
        return self.others[model]

    async def head(self, held: AsyncExitStack, prompt: Prompt, model: str) -> "ClientResponse":
        """Ask, again without the optional fields that the server refuses by name."""
        body = self.body(prompt, model)
        try:
            response = await held.enter_async_context(self.line.post(body, self.silence))
        except self.line.faults as error:
            if self.line.learn(error, OPTIONAL):
                return await self.head(held, prompt, model)
            raise told(error, self.line) from error
        kind = response.headers.get("content-type", "")
        if "html" in kind or "json" in kind:
            raise ModelError("The model's server did not answer with a stream of events.")
        return response

    def body(self, prompt: Prompt, model: str) -> bytes:
        """The request, whole."""
        asked = {"model": model, "messages": prompt.messages(), "stream": True, **self.options()}
        try:
            return orjson.dumps(asked)
        except TypeError:
            return orjson.dumps(asked | {"messages": [printable(turn) for turn in prompt.messages()]})

    def options(self) -> dict[str, object]:
        """The fields that not every server knows, less those that this one refused."""
        names = LIMITS if self.line.server.vendor else tuple(reversed(LIMITS))
        known = [name for name in names if name not in self.line.unknown][:1]
        options: dict[str, object] = dict.fromkeys(known, self.answer_tokens)
        if not self.line.unknown & {"stream_options", "include_usage"}:
            options["stream_options"] = {"include_usage": True}
        return options


def is_down(error: Exception) -> bool:
    """Whether an error is about the server, not about this request."""
    return isinstance(error, ModelError) and error.down


def refusal(breaker: Breaker) -> ModelError:
    """What is told to those who are not let through: 504 after silence, else 502, and when to ask again."""
    kind = ModelTimeout if isinstance(breaker.last, ModelTimeout) else ModelError
    detail = "The model's server has failed several times in a row, and is left alone for a moment."
    return kind(detail, retry_after=breaker.retry_after)


def printable(turn: Message) -> Message:
    """Lone surrogates, which no JSON body can carry, as `?`."""
    return {**turn, "content": turn["content"].encode("utf-8", "replace").decode()}


def chat_server(settings: Settings) -> Server | None:
    """The chat model's server; None: there is none, and the extractive answerer stands in."""
    return server(settings.chat, settings.openai)


def chat_name(settings: Settings) -> str:
    """CHAT_MODEL; else the seed's model on a server of its own; else RAG_MODEL."""
    own = "Jinx-gpt-oss-20b" if settings.chat.base_url else settings.rag.model or RAG_MODEL
    return settings.chat.model or own


def model_at(settings: Settings, group: Rag | Feedback | Vantage) -> str:
    """RAG_MODEL, FEEDBACK_MODEL or VANTAGE_MODEL. A server of its own hardly has the vendor's models: there,
    one that is not set gives way to the chat model, which is."""
    vendors = FEEDBACK_MODEL if isinstance(group, Feedback) else RAG_MODEL
    return group.model or (chat_name(settings) if settings.chat.base_url else vendors)


@asynccontextmanager
async def open_chat(settings: Settings, at: Server) -> AsyncIterator[OpenAIChat]:
    """The chat model at a server. No retries: whoever asked is waiting, and may ask again."""
    chat = settings.chat
    async with open_line(at) as line:
        yield OpenAIChat(
            line, chat_name(settings), silence=chat.timeout_seconds, answer_tokens=chat.answer_reserve
        )


@asynccontextmanager
async def open_token(settings: Settings, at: Server | None) -> AsyncIterator[OpenAIChat | None]:
    """FEEDBACK_MODEL at the chat model's server, which says one token of its answer; None: there is none."""
    if at is None:
        yield None
        return
    async with open_line(at) as line:
        silence = settings.chat.timeout_seconds
        yield OpenAIChat(line, model_at(settings, settings.feedback), silence=silence, answer_tokens=1)
