"""Talking to the chat model through a fake server, for the tests of its parts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from app.config import Chat, Settings
from app.domain.ports import Delta
from app.domain.prompt import Prompt, Role, Turn
from app.models.chat import OpenAIChat, chat_server, open_chat
from tests.fakes.model import ModelServer

PROMPT = Prompt("Be brief.", "Hello?", turns=(Turn(Role.USER, "Before"), Turn(Role.ASSISTANT, "Yes")))
REPLY = "The bridge is  closed\n\nuntil March. 日本 🙂"


@asynccontextmanager
async def chat_with(fake: ModelServer, **chat: Any) -> AsyncIterator[OpenAIChat]:
    """The chat model as wired to a fake server."""
    settings = Settings(chat=Chat(base_url=fake.url, **chat))
    at = chat_server(settings)
    assert at
    async with open_chat(settings, at) as model:
        yield model


async def said(
    chat: OpenAIChat, prompt: Prompt = PROMPT, *, model: str | None = None, heard: list[Delta] | None = None
) -> list[Delta]:
    """A whole answer; `heard` keeps what came before a fault."""
    deltas: list[Delta] = [] if heard is None else heard
    async with chat.open(prompt, model=model) as stream:
        async for delta in stream:
            deltas.append(delta)  # noqa: PERF401 - a comprehension would lose them at a fault
    return deltas
