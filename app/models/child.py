"""The process that embeds: `-m app.models.child`, asked by `apart.py`.

Python's lock is taken for a part of each embedding; here nobody waits for it but others who embed.
"""

from concurrent.futures import Future
from functools import partial

from app.child import Call, connected, end
from app.domain.errors import RetrievalError, StartError
from app.domain.passage import Embedding
from app.models.encoder import load
from app.models.lanes import Kind, Lanes

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
    end(0)  # to free the model takes longer than the kernel takes


def answer(lanes: Lanes, call: Call) -> None:
    """`embed` texts: float32 little-endian, one text's after the other's."""
    try:
        vectors = lanes.submit(Kind(call.payload["kind"]), call.payload["texts"])
    except RetrievalError as error:
        call.fail({"error": error.reason})
        return
    call.on_cancel = vectors.cancel
    vectors.add_done_callback(partial(tell, call))


def tell(call: Call, vectors: "Future[list[Embedding]]") -> None:
    """Its vectors, or why there are none."""
    if vectors.cancelled():
        call.fail({"error": "cancelled"})
    elif isinstance(error := vectors.exception(), RetrievalError):
        call.fail({"error": error.reason})
    else:
        call.reply(data=b"".join(vectors.result()))


if __name__ == "__main__":
    main()
