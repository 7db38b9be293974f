"""A stored file as a response: its first piece is fetched before the status, so that a store that is down is
a 503 and not a broken download. Nothing of it is kept in memory but one piece.
"""

from collections.abc import AsyncIterator
from typing import Self

from starlette.types import Send

from app.api.stream import Stream, close, piece


class FileStream(Stream):
    """A PDF, piece by piece."""

    media_type = "application/pdf"

    def __init__(
        self, first: bytes, rest: AsyncIterator[bytes], disposition: str, *, size: int | None = None
    ) -> None:
        headers = {
            "Content-Disposition": disposition,
            "Cache-Control": "private, no-cache",
            "Cross-Origin-Resource-Policy": "same-origin",
            # What a browser would guess from the bytes must not matter.
            "X-Content-Type-Options": "nosniff",
        }
        length = {} if size is None else {"Content-Length": str(size)}
        super().__init__(headers={**headers, **length}, media_type="application/pdf")
        self._first = first
        self._rest = rest

    @classmethod
    async def begun(cls, pieces: AsyncIterator[bytes], disposition: str, *, size: int | None) -> Self:
        """With the first piece at hand."""
        return cls(await anext(pieces, b""), pieces, disposition, size=size)

    async def tell(self, send: Send) -> None:
        """All pieces. A fault here cuts the connection: a truncated file must not look whole."""
        try:
            await piece(send, self._first)
            async for more in self._rest:
                await piece(send, more)
        finally:
            await close(self._rest)
