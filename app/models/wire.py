"""What the service and its embedding child say to each other over a Unix socket pair: one frame a message.

A frame is a number, a kind and a length (network order), and so many bytes. Questions have a number of their
own and a kind of `lanes.Kind`, with a JSON list of texts; answers have the question's number.
"""

import asyncio
import struct
from collections.abc import Callable
from enum import IntEnum
from typing import cast

HEAD = struct.Struct("!IBI")


class Word(IntEnum):
    """Kinds of frames that are no question."""

    READY = 100
    """The model is there; or FAULT with the number 0, and why not."""
    BEAT = 101
    """Still at work."""
    CANCEL = 102
    """Nobody waits for that number any more."""
    VECTORS = 103
    """float32 little-endian, one text's after the other's."""
    FAULT = 104
    """`RetrievalError.reason`."""


class Wire(asyncio.Protocol):
    """One end. `hear` gets each frame, `lost` is called once when the other side is gone."""

    def __init__(self, hear: Callable[[int, int, bytes], None], lost: Callable[[], None]) -> None:
        self._hear, self._lost = hear, lost
        self._rest = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none of its kin

    def connection_lost(self, exc: Exception | None) -> None:
        """The other side ended."""
        self._transport = None
        self._lost()

    def data_received(self, data: bytes) -> None:
        """Hand out the frames that are whole."""
        self._rest += data
        while len(self._rest) >= HEAD.size:
            number, kind, length = HEAD.unpack_from(self._rest)
            if len(self._rest) < (end := HEAD.size + length):
                break
            body = bytes(self._rest[HEAD.size : end])
            del self._rest[:end]
            self._hear(number, kind, body)

    def send(self, number: int, kind: int, body: bytes = b"") -> None:
        """One frame; to nobody, if the other side is gone."""
        if self._transport is not None:
            self._transport.write(HEAD.pack(number, kind, len(body)) + body)

    def close(self) -> None:
        """Nothing more is said, and what was not sent yet is not either."""
        if self._transport is not None:
            self._transport.abort()
