"""The bundled model in a child process (`child.py`), restarted when it dies.

A call that a child did not answer because it died or hung is repeated once with the next. Raises
`RetrievalError`: embedding (it failed twice), unavailable (no child can be started now, or it is closing),
overloaded, and the errors of a lane; `StartError` when the model's files are not the expected ones, or no
child can be started at all.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from app.domain.errors import RetrievalError, StartError
from app.domain.passage import Embedding
from app.index.pieces import spelling
from app.models.encoder import CHARACTERS, SIZE
from app.models.lanes import Kind
from app.process import Child, ChildProcess, Died, Fault, Full, NotStarted, Program, python

# In our session: the scheduler compares niceness within a session only (autogroup).
PROGRAM = Program(
    "embedder", python("app.models.child"), session=False, close_seconds=0.0, silence_seconds=15.0
)


class Apart:
    """Implements `embedder.Model`."""

    def __init__(self, process: ChildProcess) -> None:
        self.process = process

    async def open(self) -> None:
        """Start the first child. Raises `StartError`."""
        try:
            await self.process.child()
        except NotStarted as error:
            why = error.reason or "the bundled model's process does not start: see the log"
            raise StartError(why) from error

    async def run(self, kind: Kind, texts: Sequence[str]) -> list[Embedding]:
        """The texts' vectors, in order."""
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
        return [vectors[at : at + SIZE] for at in range(0, len(vectors), SIZE)]


@asynccontextmanager
async def open_apart(program: Program = PROGRAM) -> AsyncIterator[Apart]:
    """The model in its process, and in this one what tells how a question is tokenised."""
    process = ChildProcess(lambda: Child.start(program))
    apart = Apart(process)
    try:
        await asyncio.gather(apart.open(), asyncio.to_thread(spelling))
        yield apart
    finally:
        await process.close()
