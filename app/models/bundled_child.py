"""The embedding process (`main`), called by `bundled.py`.

Embedding holds the GIL for part of the time; in a process of its own it does not delay the event loop.
"""

from concurrent.futures import Future
from functools import partial

from app.child import Call, connected, end
from app.errors import RetrievalError, StartError
from app.models.encoder import Lanes, Purpose, load
from app.types import Embedding

BEAT_SECONDS = 5.0


def main() -> None:
    """Load the model, then answer until the parent ends."""
    parent, _ = connected()
    try:
        lanes = Lanes(*load())
    except StartError as error:
        parent.refuse(str(error))
    parent.ready()
    parent.serve(partial(answer, lanes), beat=BEAT_SECONDS)
    end(0)  # freeing the model takes longer than a plain exit


def answer(lanes: Lanes, call: Call) -> None:
    """`embed`: the texts' vectors, concatenated, float32 little-endian."""
    try:
        vectors = lanes.submit(Purpose(call.payload["kind"]), call.payload["texts"])
    except RetrievalError as error:
        call.fail({"error": error.reason})
        return
    call.on_cancel = vectors.cancel
    vectors.add_done_callback(partial(tell, call))


def tell(call: Call, vectors: "Future[list[Embedding]]") -> None:
    if vectors.cancelled():
        call.fail({"error": "cancelled"})
    elif isinstance(error := vectors.exception(), RetrievalError):
        call.fail({"error": error.reason})
    else:
        call.reply(data=b"".join(vectors.result()))


if __name__ == "__main__":
    main()
