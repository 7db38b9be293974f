"""The bundled embedder: in a child process for a service, in this process for a command.

In a child, embedding does not share the event loop's interpreter, and a crash of the native code does not end
the service. A call whose child died or hung is repeated once with the next child. `grasp` estimates how much
of a question the model can read, from the number of letters per word piece: 2.7 for German, 1 for Russian
with this English model (docs/adr/0004). Raises `RetrievalError` and, for unexpected model files,
`StartError`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import numpy as np

from app.errors import RetrievalError, StartError
from app.models.base import LEGIBLE
from app.models.encoder import CHARACTERS, DIM, MODEL, SCORE_SIZE, SIZE, Lanes, Purpose, load, paired
from app.process import Child, ChildProcess, Died, Fault, Full, NotStarted, Program, python
from app.text.languages import is_english
from app.text.vocabulary import letters, spelling
from app.types import Embedding, space_name

# In our session: the scheduler compares niceness within a session only (autogroup).
PROGRAM = Program(
    "embedder", python("app.models.bundled_child"), session=False, close_seconds=0.0, silence_seconds=15.0
)


class Apart:
    def __init__(self, process: ChildProcess) -> None:
        self.process = process

    async def open(self) -> None:
        """Start the first child. Raises `StartError`."""
        try:
            await self.process.child()
        except NotStarted as error:
            why = error.reason or "the bundled model's process does not start: see the log"
            raise StartError(why) from error

    async def run(self, kind: Purpose, texts: Sequence[str]) -> list[Embedding]:
        if not texts:
            return []
        asked = {"kind": kind, "texts": [text[:CHARACTERS] for text in texts]}
        try:
            vectors = bytes((await self.process.call("embed", asked, again=True)).data)
        except Fault as fault:
            raise RetrievalError(fault.payload["error"]) from None
        except Full:
            raise RetrievalError("overloaded") from None
        except NotStarted:
            raise RetrievalError("unavailable") from None
        except Died:
            raise RetrievalError("embedding") from None
        size = SCORE_SIZE if kind is Purpose.PAIR else SIZE
        return [vectors[at : at + size] for at in range(0, len(vectors), size)]


@asynccontextmanager
async def open_apart(program: Program = PROGRAM) -> AsyncIterator[Apart]:
    """The model in a child process, and its tokenizer in this one."""
    process = ChildProcess(lambda: Child.start(program))
    apart = Apart(process)
    try:
        await asyncio.gather(apart.open(), asyncio.to_thread(spelling))
        yield apart
    finally:
        await process.close()


WHOLE = 2.5
"""Letters per piece from which a question counts as read: related languages reach it."""
LEAST_WEIGHT = 0.05
"""Least weight of similarity: without lexical hits the nearest passage still leads."""


def grasp(letters: float) -> float:
    """Weight of similarity for a question with this many letters per piece, in [LEAST, 1]."""
    return max(LEAST_WEIGHT, min(1.0, letters / WHOLE) ** 2)


def whole(text: str) -> float:  # noqa: ARG001 - the signature of `grasped`
    return 1.0


FLOOR = 0.38907
"""The space's raw cosine floor: measured once, since model and texts are fixed; a test measures it again."""
BEGINNING = 200
"""Characters that show whether the model can read a question: 60 µs, on the loop."""
SHORT = 256
"""Longest question in bytes of the short lane: up to 10 ms of CPU."""


class Model(Protocol):
    async def run(self, kind: Purpose, texts: Sequence[str]) -> list[Embedding]:
        """A vector for each text. Raises `RetrievalError`."""


class Bundled:
    """Implements `base.Embedder`. A text's vector does not depend on the other texts of a call."""

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def space(self) -> str:
        return space_name(MODEL, DIM)

    async def query(self, text: str) -> Embedding:
        short = len(text.encode("utf-8", "replace")) <= SHORT
        [vector] = await self.model.run(Purpose.QUERY if short else Purpose.LONG_QUERY, [text])
        return vector

    async def check(self) -> None:
        await self.model.run(Purpose.QUERY, ["word"])

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """Uses the background lane."""
        return await self.model.run(Purpose.PASSAGE, texts)

    def reads(self, question: str) -> bool:
        """True if the models know the language of a question, by the letters per word piece."""
        return grasped(question) >= LEGIBLE

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """Logits of the cross-encoder, above 0 for a text that answers: an answer waits for them but can do
        without. Raises `RetrievalError`."""
        found = await self.model.run(Purpose.PAIR, [paired(question, text) for text in texts])
        return np.frombuffer(b"".join(found), "<f4").tolist()  # type: ignore[no-any-return]


FOREIGN = 0.29
"""Mean similarity above FLOOR of unrelated German questions and paragraphs, and of Spanish ones; of English
ones 0, of a mixed pair .07 (docs/adr/0004)."""


def unrelated(question: str) -> Callable[[str], float] | None:
    """The mean similarity of passages, by their text, that have nothing to do with the question; None: 0, as
    for an English question."""
    if is_english(question) is not False:
        return None
    return lambda text: 0.0 if is_english(text) else FOREIGN


def unrelating(space: str) -> Callable[[str], Callable[[str], float] | None]:
    """The same for a space: of a server's model nothing is known."""
    return unrelated if space == space_name(MODEL, DIM) else lambda _: None


def grasping(space: str) -> Callable[[str], float]:
    """Weight of similarity for questions in this space: 1 for a server's model, of which nothing is known."""
    return grasped if space == space_name(MODEL, DIM) else whole


def grasped(question: str) -> float:
    return grasp(letters(question[:BEGINNING]))


@asynccontextmanager
async def open_bundled(*, apart: bool = False) -> AsyncIterator[Bundled]:
    """The bundled embedder; `apart`: in a child process."""
    async with open_apart() if apart else open_lanes() as model:
        yield Bundled(model)


@asynccontextmanager
async def open_lanes() -> AsyncIterator[Lanes]:
    """The model in this process."""
    loaded, _ = await asyncio.gather(asyncio.to_thread(load), asyncio.to_thread(spelling))
    lanes = Lanes(*loaded)
    try:
        yield lanes
    finally:
        await lanes.close()
