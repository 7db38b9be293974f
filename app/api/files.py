"""A stored file as a response: its first piece is fetched before the status, so that a store that is down is
a 503 and not a broken download. Nothing of it is kept in memory but one piece.
"""

from collections.abc import AsyncIterator
from typing import Self

from app.api.stream import Begun


class FileStream(Begun):
    """A PDF, piece by piece."""

    media_type = "application/pdf"

    def __init__(self, pieces: AsyncIterator[bytes], disposition: str, *, size: int | None = None) -> None:
        headers = {
            "Content-Disposition": disposition,
            "Cache-Control": "private, no-cache",
            "Cross-Origin-Resource-Policy": "same-origin",
            # What a browser would guess from the bytes must not matter.
            "X-Content-Type-Options": "nosniff",
        }
        length = {} if size is None else {"Content-Length": str(size)}
        super().__init__(pieces, headers={**headers, **length}, media_type="application/pdf")

    @classmethod
    async def begun(cls, pieces: AsyncIterator[bytes], disposition: str, *, size: int | None) -> Self:
        """With the first piece at hand."""
        return await cls(pieces, disposition, size=size).begin()
