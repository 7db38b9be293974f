"""The child process that embeds: `-m app.models.child PARENT SOCKET`.

Python's lock is taken for a part of each embedding; here nobody waits for it but others who embed. Speaks
frames (`wire.py`) with `process.py` over an inherited socket until that ends. Reads no environment; says on
stderr what the service's log should have, and never a text.
"""

import asyncio
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

from app.clients.bond import settle
from app.clients.frame import INTERNAL
from app.domain.errors import RetrievalError, StartError
from app.models.encoder import Encoder, Faults, load
from app.models.lanes import Kind, Lanes
from app.models.wire import HEAD, Wire, Word

BEAT_SECONDS = 5.0


class Desk:
    """What is asked and not yet answered."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.gone = asyncio.Event()
        self.wire = Wire(self.hear, self.gone.set)
        self.tasks: dict[int, asyncio.Task[None]] = {}

    def hear(self, number: int, kind: int, body: bytes) -> None:
        """A question, or that nobody waits for it any more."""
        if kind == Word.CANCEL:
            if task := self.tasks.get(number):
                task.cancel()
            return
        task = self.tasks[number] = asyncio.create_task(self.answer(number, Kind(kind), json.loads(body)))
        task.add_done_callback(lambda _: self.tasks.pop(number, None))

    async def answer(self, number: int, kind: Kind, texts: list[str]) -> None:
        """Its vectors, or why there are none."""
        try:
            vectors = await self.lanes.run(kind, texts)
        except RetrievalError as error:
            self.wire.send(number, Word.FAULT, error.reason.encode())
        else:
            self.wire.send(number, Word.VECTORS, b"".join(vectors))

    async def beat(self) -> None:
        """Say that this process lives, while somebody waits."""
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            if self.tasks:
                self.wire.send(0, Word.BEAT)

    async def close(self) -> None:
        """Nobody is there any more."""
        for task in list(self.tasks.values()):
            task.cancel()
        await self.lanes.close()


async def serve(inherited: socket.socket, loaded: Callable[[], tuple[Encoder, Faults]] = load) -> None:
    """Load the model, then answer until the other side ends."""
    try:
        lanes = Lanes(*loaded())
    except StartError as error:
        why = str(error).encode()
        return inherited.sendall(HEAD.pack(0, Word.FAULT, len(why)) + why)
    desk = Desk(lanes)
    await asyncio.get_running_loop().create_unix_connection(lambda: desk.wire, sock=inherited)
    beating = asyncio.create_task(desk.beat())
    desk.wire.send(0, Word.READY)
    await desk.gone.wait()
    beating.cancel()
    return await desk.close()


def end(error: type[BaseException]) -> NoReturn:
    """What nobody foresaw: the next child begins anew. The name alone is told: its words may be a text's."""
    print(error.__name__, flush=True)  # noqa: T201 - the parent logs it
    os._exit(INTERNAL)


def main() -> None:
    """Bound to the parent, until it ends."""
    parent, descriptor = map(int, sys.argv[1:])
    settle(parent)
    threading.excepthook = lambda failed: end(failed.exc_type)
    with socket.socket(fileno=descriptor) as inherited, asyncio.Runner() as runner:
        runner.get_loop().set_exception_handler(lambda _, told: end(type(told.get("exception", OSError()))))
        runner.run(serve(inherited))
    sys.stdout.flush()
    os._exit(0)  # to free the model takes longer than the kernel takes


if __name__ == "__main__":
    main()
