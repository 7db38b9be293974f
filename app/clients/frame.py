"""What the service and its Chroma child say to each other over a Unix socket pair: one frame a message.

A frame is two lengths (uint32, network order), a JSON object, and the raw bytes of at most one float32
matrix, whose shape the object has as `shape`. No pickle: what is read is data. `receive` raises `EOFError`
at the end of the other side; both raise `OSError`.
"""

import json
import socket
import struct
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

LENGTHS = struct.Struct("!II")
SHAPE = "shape"

REFUSED, BROKEN, INTERNAL = 3, 4, 5
"""Exit codes of the child: the folder cannot be written to; its content cannot be used; a call showed that
it cannot. All but the first are the folder's own fault."""

Matrix: TypeAlias = NDArray[np.float32]
Message: TypeAlias = dict[str, Any]


def send(to: socket.socket, message: Mapping[str, Any], matrix: Matrix | None = None) -> None:
    """One frame. Blocks; from one thread at a time."""
    if matrix is None:
        rows = b""
    else:
        rows = np.ascontiguousarray(matrix, dtype=np.float32).tobytes()
        message = {**message, SHAPE: matrix.shape}
    text = json.dumps(message).encode()
    to.sendall(LENGTHS.pack(len(text), len(rows)) + text + rows)


def receive(source: socket.socket) -> tuple[Message, Matrix | None]:
    """The next frame. Blocks; in one thread only."""
    text, rows = LENGTHS.unpack(exactly(source, LENGTHS.size))
    message: Message = json.loads(exactly(source, text))
    data = exactly(source, rows)
    shape = message.pop(SHAPE, None)
    return message, None if shape is None else np.frombuffer(data, dtype=np.float32).reshape(shape)


def exactly(source: socket.socket, size: int) -> bytearray:
    """So many bytes; without Python's lock while it waits and copies."""
    data = bytearray(size)
    rest = memoryview(data)
    while rest:
        count = source.recv_into(rest)
        if count == 0:
            raise EOFError
        rest = rest[count:]
    return data
