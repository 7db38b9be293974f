"""The child process that has the embedded Chroma: `-m app.clients.child PARENT SOCKET FOLDER [aside|look]`.

The vendor holds Python's lock for whole calls; here nobody waits for it but others who ask Chroma. Speaks
frames (`frame.py`) with `keeper.py` over an inherited socket, a few calls at once, until that ends. Reads no
environment; says on stderr what the service's log should have. Ends with REFUSED where its folder cannot be
written to, BROKEN where its content cannot be used, INTERNAL where that shows later; the parent acts on it.
"""

import os
import queue
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, TypeAlias

import numpy as np

from app.clients.bond import settle
from app.clients.collection import Client, Lost, VendorCollection
from app.clients.embedded import SCARCE, open_folder, put_aside
from app.clients.engine import alone
from app.clients.frame import BROKEN, INTERNAL, REFUSED, Matrix, Message, receive, send

THREADS = 4
NICE = 5
"""Below the service: writes must not take its core."""
JOIN_SECONDS = 4.0
"""What the end waits for calls under way: less than the parent does before it kills."""

Line: TypeAlias = "queue.SimpleQueue[tuple[Message, Matrix | None] | None]"
Reply: TypeAlias = tuple[Message, Matrix | None]


def main() -> None:
    """Open the folder, serve it, close it."""
    parent, descriptor, folder, *mode = sys.argv[1:]
    sys.excepthook = fatal
    threading.excepthook = lambda error: end(INTERNAL, f"{error.exc_type.__name__}: {error.exc_value}")
    settle(int(parent))
    os.nice(NICE)
    alone()
    with socket.socket(fileno=int(descriptor)) as wire:
        client = opened(wire, Path(folder), mode)
        serve(wire, client)
        client.close()


def opened(wire: socket.socket, folder: Path, mode: Sequence[str] = ()) -> Client:
    """The folder's client, and the first frame; ends the process if there is none."""
    try:
        if "aside" in mode:
            put_aside(folder)
        client, anew = open_folder(folder, look="look" in mode)
    except OSError as error:
        refuse(wire, str(error))
    except Lost as error:
        if SCARCE.search(error.detail):
            refuse(wire, error.detail)
        end(BROKEN, error.detail)
    send(wire, {"id": 0, "anew": anew})
    return client


def serve(wire: socket.socket, client: Client) -> None:
    """Answer until the other side ends."""
    line: Line = queue.SimpleQueue()
    arguments = (wire, threading.Lock(), client, line)
    threads = [threading.Thread(target=work, args=arguments, daemon=True) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    with suppress(EOFError, OSError):
        while True:
            line.put(receive(wire))
    for _ in threads:
        line.put(None)
    for thread in threads:
        thread.join(JOIN_SECONDS)


def work(wire: socket.socket, sending: threading.Lock, client: Client, line: Line) -> None:
    """A thread's life: one call after the other, until it is told to go."""
    while (asked := line.get()) is not None:
        reply, matrix = answer(client, *asked)
        with sending, suppress(OSError):  # nobody is there any more
            send(wire, reply, matrix)
        if reply.get("internal"):
            end(INTERNAL, reply["error"])


def answer(client: Client, message: Message, matrix: Matrix | None) -> Reply:
    """What a call gives, or why it does not."""
    try:
        reply, found = perform(client, message, matrix)
    except Lost as error:
        # The vendor's own fault, and not the machine's: a new child looks at the folder again.
        own = error.detail.startswith("InternalError")
        internal = own and not SCARCE.search(error.detail)
        return {"id": message["id"], "error": error.detail, "down": own, "internal": internal}, None
    return {"id": message["id"], **reply}, found


def perform(client: Client, message: Message, matrix: Matrix | None) -> Reply:
    """One call: of the client, or of the collection that it names."""
    if message["do"] == "beat":
        client.beat()
        return {}, None
    if message["do"] == "names":
        return {"names": client.names()}, None
    if message["do"] == "forget":
        client.forget(message["of"])
        return {}, None
    return client.use(message["of"], partial(CALLS[message["do"]], message["with"], matrix))


def count(_: Mapping[str, Any], __: Matrix | None, store: VendorCollection) -> Reply:
    """Vectors in a collection."""
    return {"count": store.count()}, None


def get(arguments: Mapping[str, Any], _: Matrix | None, store: VendorCollection) -> Reply:
    """Ids and, if included, vectors."""
    found = store.get(**arguments)
    return {"ids": found["ids"], "metadatas": found["metadatas"]}, rows(found["embeddings"])


def query(arguments: Mapping[str, Any], vector: Matrix | None, store: VendorCollection) -> Reply:
    """The nearest of one vector."""
    found = store.query(query_embeddings=vector, **arguments)
    told = (found["metadatas"] or [None])[0]
    return {"ids": found["ids"][0], "metadatas": told}, rows((found["embeddings"] or [None])[0])


def upsert(arguments: Mapping[str, Any], matrix: Matrix | None, store: VendorCollection) -> Reply:
    """Written, and durable."""
    store.upsert(embeddings=matrix, **arguments)
    return {}, None


def delete(arguments: Mapping[str, Any], _: Matrix | None, store: VendorCollection) -> Reply:
    """Gone."""
    store.delete(**arguments)
    return {}, None


Call: TypeAlias = Callable[[Mapping[str, Any], Matrix | None, VendorCollection], Reply]
CALLS: Mapping[str, Call] = {"count": count, "get": get, "query": query, "upsert": upsert, "delete": delete}


def rows(found: Sequence[Sequence[float]] | None) -> Matrix | None:
    """The vendor's rows as a matrix; of none, one without rows."""
    if found is None:
        return None
    matrix = np.asarray(found, dtype=np.float32)
    return matrix if matrix.ndim == 2 else matrix.reshape(0, 0)


def refuse(wire: socket.socket, reason: str) -> NoReturn:
    """Tell the parent why this folder cannot be served, and end."""
    send(wire, {"id": 0, "error": reason})
    end(REFUSED, reason)


def end(code: int, said: str) -> NoReturn:
    """At once, also from a thread: what was acknowledged is on the disk."""
    sys.stderr.write(f"{said}\n")
    sys.stderr.flush()
    os._exit(code)


def fatal(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """While the folder is opened: the vendor's panics are no `Exception`, and mean that it is broken."""
    sys.__excepthook__(kind, error, trace)
    if not issubclass(kind, Exception) and kind.__module__ == "pyo3_runtime":
        end(BROKEN, kind.__name__)


if __name__ == "__main__":
    main()
