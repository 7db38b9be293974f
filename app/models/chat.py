"""A chat model behind the OpenAI protocol. Keeps `ports.ChatModel`; raises `ModelError` and its kin.

Opening means: the response head has arrived. The stream is read here rather than with the client's typed
events, a fifth of the work a token. Limits of length: OpenAI's reasoning models refuse `max_tokens`, Ollama
and older llama.cpp ignore `max_completion_tokens`, so the vendor is sent the one and all others the other;
a server that refuses one by name is sent the other from then on. The same for `stream_options`.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from app.config import Settings
from app.domain.answer import Finish, Usage
from app.domain.errors import ModelError, ModelTimeout
from app.domain.ports import Delta, ModelStream
from app.domain.prompt import Prompt
from app.models.openai import Peer, Server, open_peer, server, told

if TYPE_CHECKING:
    from openai import AsyncAPIResponse

LIMITS = ("max_completion_tokens", "max_tokens")
OPTIONAL = (*LIMITS, "stream_options", "include_usage")
USAGE_SECONDS = 2.0
"""Waited for the usage after the answer has ended."""
DRAIN_SECONDS = 0.1
"""Waited for the end of the body after [DONE], so that the connection can be used again."""
LINE_BYTES = 4 * 2**20


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
            raise ModelError("The model's server closed early, in the middle of the answer.")
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
            raise told(error, self.peer) from error

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


class OpenAIChat:
    """Keeps `ports.ChatModel`."""

    def __init__(self, peer: Peer, name: str, *, silence: float, answer_tokens: int) -> None:
        self.peer = peer
        self.name = name
        self.silence = silence
        """Seconds the model may be silent, before its head and between two deltas."""
        self.answer_tokens = answer_tokens

    @asynccontextmanager
    async def open(self, prompt: Prompt, *, model: str | None = None) -> AsyncIterator[ModelStream]:
        """Entered at the response head; left, the connection is closed unless the answer was read out."""
        asked = model or self.name
        async with AsyncExitStack() as held:
            pieces = await self.head(held, prompt, asked)
            yield OpenAIStream(pieces, self.peer, asked, self.silence)

    async def head(self, held: AsyncExitStack, prompt: Prompt, model: str) -> AsyncIterator[bytes]:
        """Ask, again without the optional fields that the server refuses by name."""
        try:
            async with asyncio.timeout(self.silence):
                response = await held.enter_async_context(self.request(prompt, model))
        except self.peer.faults as error:
            if self.peer.learn(error, OPTIONAL):
                return await self.head(held, prompt, model)
            raise told(error, self.peer) from error
        kind = response.headers.get("content-type", "")
        if "html" in kind or "json" in kind:
            raise ModelError("The model's server did not answer with a stream of events.")
        pieces: AsyncIterator[bytes] = response.http_response.aiter_bytes()
        return pieces

    def request(self, prompt: Prompt, model: str) -> "AbstractAsyncContextManager[AsyncAPIResponse[Any]]":
        """The request as the client makes it, not sent yet."""
        messages: Any = [{**turn, "content": printable(turn["content"])} for turn in prompt.messages()]
        return self.peer.client.chat.completions.with_streaming_response.create(
            model=model, messages=messages, stream=True, extra_body=self.options()
        )

    def options(self) -> dict[str, object]:
        """The fields that not every server knows, less those that this one refused."""
        names = LIMITS if self.peer.server.vendor else tuple(reversed(LIMITS))
        known = [name for name in names if name not in self.peer.unknown][:1]
        options: dict[str, object] = dict.fromkeys(known, self.answer_tokens)
        if not self.peer.unknown & {"stream_options", "include_usage"}:
            options["stream_options"] = {"include_usage": True}
        return options


def printable(text: str) -> str:
    """Lone surrogates, which no JSON body can carry, as `?`."""
    return text.encode("utf-8", "replace").decode()


def chat_server(settings: Settings) -> Server | None:
    """The chat model's server; None: there is none, and the extractive answerer stands in."""
    return server(settings.chat, settings.openai)


def chat_name(settings: Settings) -> str:
    """CHAT_MODEL; else the seed's model on a server of its own; else RAG_MODEL."""
    own = "Jinx-gpt-oss-20b" if settings.chat.base_url else settings.rag.model
    return settings.chat.model or own


@asynccontextmanager
async def open_chat(settings: Settings, at: Server) -> AsyncIterator[OpenAIChat]:
    """The chat model at a server. No retries: whoever asked is waiting, and may ask again."""
    chat = settings.chat
    async with open_peer(at, timeout=chat.timeout_seconds, retries=0) as peer:
        yield OpenAIChat(
            peer, chat_name(settings), silence=chat.timeout_seconds, answer_tokens=chat.answer_tokens
        )
