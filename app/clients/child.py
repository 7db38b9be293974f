"""The process of the embedded Chroma (`-m app.clients.child FOLDER [aside|look]`), called by
`chroma_process.py`.

Exit codes: REFUSED when the folder cannot be written to, BROKEN when its content cannot be used, INTERNAL
when that shows later, during a call.
"""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from app.child import INTERNAL, Call, Parent, connected, end
from app.clients.collection import BROKEN, Client, Lost, packed, perform, unpacked
from app.clients.embedded import SCARCE, open_folder, put_aside
from app.clients.engine import alone

THREADS = 4
NICE = 5
"""Below the service: writes must not take its core."""


def main() -> None:
    """Open the folder, answer calls, close it."""
    parent, (folder, *mode) = connected()
    os.nice(NICE)
    alone()
    client = opened(parent, Path(folder), mode)
    parent.serve(partial(answer, client), threads=THREADS)
    client.close()


def opened(parent: Parent, folder: Path, mode: Sequence[str] = ()) -> Client:
    """Open the folder and report READY; exit if it cannot be used."""
    try:
        if "aside" in mode:
            put_aside(folder)
        client, anew = open_folder(folder, look="look" in mode)
    except OSError as error:
        parent.refuse(str(error))
    except Lost as error:
        if SCARCE.search(error.detail):
            parent.refuse(error.detail)
        end(BROKEN, error.detail)
    except BaseException as error:
        if type(error).__module__ == "pyo3_runtime":  # the vendor's panics are no `Exception`
            end(BROKEN, type(error).__name__)
        raise
    parent.ready({"anew": anew})
    return client


def answer(client: Client, call: Call) -> None:
    """Answer a call; see `collection.perform`."""
    arguments, matrix = unpacked(call.payload, call.data)
    try:
        reply, found = perform(client, call.name, arguments["of"], arguments["with"], matrix)
    except Lost as error:
        own = error.detail.startswith("InternalError")
        call.fail({"error": error.detail, "down": own})
        if own and not SCARCE.search(
            error.detail
        ):  # not the machine's fault: a new child looks at the folder
            end(INTERNAL, error.detail)
    else:
        shape, data = packed(found)
        call.reply({**reply, **shape}, data)


if __name__ == "__main__":
    main()
