"""Plain texts read as documents, for `ibid eval --source documents`: cut as a PDF's paragraphs are.

The write side takes PDFs alone, so a text travels behind a PDF's mark, its title in the second
line; the service never reads one, only stores opened with this parser do. Raises `PdfTextless`.
"""

import asyncio
from pathlib import Path

from app.db.documents import Parsed
from app.errors import PdfTextless
from app.intake.block import Block, Kind
from app.intake.piece import Count
from app.intake.split import split

MARK = "%PDF-text"
"""In a line of its own, the first."""


def disguised(title: str, text: str) -> bytes:
    """A text as a file that an upload takes."""
    return "\n".join((MARK, " ".join(title.split()), text)).encode()


class PlainParser:
    """Keeps ports.Parser."""

    def __init__(self, count: Count) -> None:
        self._count = count

    async def parse(self, path: Path, filename: str) -> Parsed:
        """A page, a paragraph a blank line."""
        return await asyncio.to_thread(self._read, path)

    def _read(self, path: Path) -> Parsed:
        """The whole of it."""
        _, title, text = path.read_text(encoding="utf-8").split("\n", 2)
        prose = [" ".join(part.split()) for part in text.split("\n\n")]
        blocks = [Block(Kind.PROSE, part, ((0, 1),)) for part in prose if part]
        if not blocks:
            raise PdfTextless
        return Parsed(1, title, tuple(split(blocks, self._count)))
