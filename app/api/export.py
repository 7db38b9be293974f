"""An export as it is sent: one JSON object, written while it is read, a piece of some rows at a time.

`{"user_id", "exported_at", "notes", "holdings": {name: [row, …], …}, "complete": true}`. `complete`
comes last; a store that fails in the middle cuts the connection, so that half of it never looks whole.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Self

from app.api.stream import Begun, close
from app.api.wire import encoded

PIECE_BYTES = 64 << 10
"""A piece is sent once it is this long: a send for every row would cost more than the row."""

Rows = AsyncIterator[tuple[str, Mapping[str, object]]]
"""Rows with the name of their holding, holding by holding."""


class ExportStream(Begun):
    """The document, piece by piece."""

    media_type = "application/json"

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        headers = {
            "Content-Disposition": 'attachment; filename="ibid-export.json"',
            "Cache-Control": "no-store",
        }
        super().__init__(pieces, headers=headers, media_type="application/json")

    @classmethod
    async def begun(cls, head: Mapping[str, object], holdings: Sequence[str], rows: Rows) -> Self:
        """With the first piece at hand."""
        return await cls(told(head, holdings, rows)).begin()


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
