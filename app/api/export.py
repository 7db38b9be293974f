"""An export as it is sent: one JSON object, written while it is read, a piece of some rows at a time.

`{"user_id", "exported_at", "holdings": {name: [row, …], …}, "complete": true}`. `complete` comes last; a
store that fails in the middle cuts the connection, so that half of it never looks whole.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Self

from starlette.types import Send

from app.api.stream import Stream, close, piece
from app.api.wire import encoded

PIECE_BYTES = 64 << 10
"""A piece is sent once it is this long: a send for every row would cost more than the row."""

Rows = AsyncIterator[tuple[str, Mapping[str, object]]]
"""Rows with the name of their holding, holding by holding."""


class ExportStream(Stream):
    """The document, piece by piece."""

    media_type = "application/json"

    def __init__(self, first: bytes, rest: AsyncIterator[bytes]) -> None:
        headers = {
            "Content-Disposition": 'attachment; filename="ibid-export.json"',
            "Cache-Control": "no-store",
        }
        super().__init__(headers=headers, media_type="application/json")
        self._first = first
        self._rest = rest

    @classmethod
    async def begun(cls, head: Mapping[str, object], holdings: Sequence[str], rows: Rows) -> Self:
        """With the first piece at hand: a store that is down is a status, not a broken download."""
        pieces = told(head, holdings, rows)
        return cls(await anext(pieces, b""), pieces)

    async def tell(self, send: Send) -> None:
        """All pieces."""
        try:
            await piece(send, self._first)
            async for more in self._rest:
                await piece(send, more)
        finally:
            await close(self._rest)


async def told(head: Mapping[str, object], holdings: Sequence[str], rows: Rows) -> AsyncIterator[bytes]:
    """The document in pieces; every holding stands there, also an empty one."""
    buffer = bytearray(encoded(head)[:-1] + b',"holdings":{')
    left, open_one = list(holdings), ""
    try:
        async for name, row in rows:
            while open_one != name:
                buffer += b"]," if open_one else b""
                open_one = left.pop(0)
                buffer += encoded(open_one) + b":["
                fresh = True
            buffer += (b"" if fresh else b",") + encoded(row)
            fresh = False
            if len(buffer) >= PIECE_BYTES:
                yield bytes(buffer)
                buffer.clear()
    finally:
        await close(rows)
    ends = [b"]"] if open_one else []
    buffer += b",".join([*ends, *(encoded(name) + b":[]" for name in left)]) + b'},"complete":true}'
    yield bytes(buffer)
