"""The bundled embedder: the model of `encoder.py` behind lanes, in this process or in one of its own.

A service has the process (`apart.py`): its event loop then shares the interpreter with no embedding, and it
outlives a crash of the native code. A command has the model itself, which is there sooner. Raises
`StartError` when files are not the measured ones, `RetrievalError` when it cannot embed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from app.domain.grasp import grasp, whole
from app.domain.passage import Embedding
from app.domain.space import space_name
from app.index.pieces import letters, spelling
from app.models.apart import open_apart
from app.models.encoder import DIM, MODEL, load
from app.models.lanes import Kind, Lanes

FLOOR = 0.38907
"""The space's, a raw cosine: measured once, as model and texts are what they are; a test measures again."""
BEGINNING = 200
"""Characters that tell whether the model can read a question: 60 µs, on the loop."""
SHORT = 256
"""Bytes of a question that waits its turn for one thread: up to 10 ms of a processor."""


class Model(Protocol):
    """What embeds."""

    async def run(self, kind: Kind, texts: Sequence[str]) -> list[Embedding]:
        """The texts' vectors, in order. Raises `RetrievalError`."""


class Bundled:
    """Keeps `ports.Embedder`. The same text has the same vector, whatever else is embedded beside it."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def space(self) -> str:
        """Model and dimensions, as recorded with every vector."""
        return space_name(MODEL, DIM)

    async def query(self, text: str) -> Embedding:
        """One query."""
        short = len(text.encode("utf-8", "replace")) <= SHORT
        [vector] = await self.model.run(Kind.QUERY if short else Kind.LONG_QUERY, [text])
        return vector

    async def check(self) -> None:
        """One word, embedded now. Raises `RetrievalError`."""
        await self.model.run(Kind.QUERY, ["word"])

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Texts to store, in order, in the background lane."""
        return await self.model.run(Kind.PASSAGE, texts)

    async def sentences(self, texts: Sequence[str]) -> list[Embedding]:
        """Like `passages`, for texts that an answer waits for but can do without."""
        return await self.model.run(Kind.SENTENCE, texts)


def grasping(space: str) -> Callable[[str], float]:
    """What similarity counts for a question in this space: of a server's model nothing is known."""
    return grasped if space == space_name(MODEL, DIM) else whole


def grasped(question: str) -> float:
    """What the bundled model can read of it, in (0, 1]."""
    return grasp(letters(question[:BEGINNING]))


@asynccontextmanager
async def open_bundled(*, apart: bool = False) -> AsyncIterator[Bundled]:
    """The bundled embedder; `apart`: in a process of its own. It ends with the context."""
    async with open_apart() if apart else open_lanes() as model:
        yield Bundled(model)


@asynccontextmanager
async def open_lanes() -> AsyncIterator[Lanes]:
    """The model in this process, and what tells how a question is read."""
    loaded, _ = await asyncio.gather(asyncio.to_thread(load), asyncio.to_thread(spelling))
    lanes = Lanes(*loaded)
    try:
        yield lanes
    finally:
        await lanes.close()
