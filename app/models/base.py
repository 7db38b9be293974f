"""Protocols of the embedder, the chat model and the reranker.

Cancellation is passed on. Reads raise `RetrievalError` if an answer can do without, else `Unavailable`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple, Protocol

from app.answer import Finish, Prompt, Usage
from app.types import Embedding

LEGIBLE = 0.5
"""Share of a question that the embedder must be able to read for similarity to count."""


class Embedder(Protocol):
    """Texts to vectors of one space. Batched, off the event loop; raises `RetrievalError("embedding")`."""

    @property
    def space(self) -> str:
        """The embedding space's name: model and dimensions, as recorded with every vector."""

    async def query(self, text: str) -> Embedding:
        """One query, with the model's query prefix if it has one."""

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Texts to store, in order. The model's tokenizer cuts longer ones."""


class Delta(NamedTuple):
    """A piece of the model's answer, or (last) how it ended."""

    text: str = ""
    finish: Finish | None = None
    usage: Usage | None = None
    restart: bool = False
    """True: all text before was the model's reasoning, and is none of the answer."""


class ModelStream(Protocol):
    """A running answer: the response head has arrived."""

    @property
    def model(self) -> str:
        """The model's name, from its server."""

    def __aiter__(self) -> AsyncIterator[Delta]:
        """Deltas in order; the last has `finish`. Raises `ModelError`."""


class ChatModel(Protocol):
    @property
    def name(self) -> str:
        """The model used when the request names none."""

    def open(self, prompt: Prompt, *, model: str | None = None) -> AbstractAsyncContextManager[ModelStream]:
        """Entered at the response head; leaving closes the connection. Raises `ModelError`."""


async def read_answer(
    model: ChatModel, prompt: Prompt, *, most: int, seconds: float, name: str | None = None
) -> str:
    """A short answer, read up to about `most` characters. Raises `ModelError`, `TimeoutError`."""
    text = ""
    async with asyncio.timeout(seconds), model.open(prompt, model=name) as stream:
        async for delta in stream:
            text = ("" if delta.restart else text) + delta.text
            if len(text) > most:
                break
    return text


class Reranker(Protocol):
    """A cross-encoder: reads the question together with each text."""

    @property
    def name(self) -> str:
        """Identifies server and model in cache keys."""

    async def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One finite number per text, in order; higher is better, on any scale. `RetrievalError`: timeout,
        unavailable, or rerank for an invalid reply."""
