"""Protocols of the embedder, the chat model and the reranker.

Cancellation is passed on. Reads raise `RetrievalError` where an answer can do without, else `Unavailable`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from app.answer import Finish, Prompt, Usage
from app.types import Embedding


class Embedder(Protocol):
    """Texts to vectors of one space. Batched and off the loop; raises `RetrievalError("embedding")`."""

    @property
    def space(self) -> str:
        """The embedding space's name: model and dimensions, as recorded with every vector."""

    async def query(self, text: str) -> Embedding:
        """One query, with the model's query prefix where it wants one."""

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Texts to store, in order. Longer than the model reads: cut by the model's tokenizer."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the model's answer, or (last) how it ended."""

    text: str = ""
    finish: Finish | None = None
    usage: Usage | None = None


class ModelStream(Protocol):
    """An answer under way: the response head has arrived."""

    @property
    def model(self) -> str:
        """The model that answers, as its server names it."""

    def __aiter__(self) -> AsyncIterator[Delta]:
        """Deltas in order; the last has `finish`. Raises `ModelError`."""


class ChatModel(Protocol):
    """Something that answers a prompt."""

    @property
    def name(self) -> str:
        """The model asked when the request names none."""

    def open(self, prompt: Prompt, *, model: str | None = None) -> AbstractAsyncContextManager[ModelStream]:
        """Entered when the response head is there; leaving closes the connection. `ModelError`."""


async def read_answer(
    model: ChatModel, prompt: Prompt, *, most: int, seconds: float, name: str | None = None
) -> str:
    """A short answer, read up to about `most` characters. Raises `ModelError`, `TimeoutError`."""
    text = ""
    async with asyncio.timeout(seconds), model.open(prompt, model=name) as stream:
        async for delta in stream:
            text += delta.text
            if len(text) > most:
                break
    return text


class Reranker(Protocol):
    """Reads a question and each of several texts together."""

    @property
    def name(self) -> str:
        """Whose scores they are: results of two are never taken for each other's."""

    async def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One finite number a text, in their order; higher is better, of any scale. `RetrievalError`:
        timeout, unavailable, or rerank for an answer that is none."""
