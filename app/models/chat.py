"""A chat model behind the OpenAI protocol. Keeps `ports.ChatModel`; raises `ModelError` and its kin.

Opening means: the response head has arrived. Limits of length: OpenAI's reasoning models refuse
`max_tokens`, Ollama and older llama.cpp ignore `max_completion_tokens`, so the vendor is sent the one and
all others the other; a server that refuses one by name is sent the other from then on. The same for
`stream_options`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from app.config import Settings
from app.domain.errors import ModelError
from app.domain.ports import ModelStream
from app.domain.prompt import Prompt
from app.models.openai import Peer, Server, open_peer, server, told
from app.models.stream import OpenAIStream

if TYPE_CHECKING:
    from openai import AsyncAPIResponse

LIMITS = ("max_completion_tokens", "max_tokens")
OPTIONAL = (*LIMITS, "stream_options", "include_usage")


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
            peer, chat_name(settings), silence=chat.timeout_seconds, answer_tokens=chat.answer_reserve
        )
