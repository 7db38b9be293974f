"""A parser of plain text, for `ibid eval --source documents` only: chunks are cut as in PDFs.

Uploads take nothing but PDFs, so the text is preceded by a line that looks like a PDF's first, and by a
title. The service never uses this parser. Raises `PdfTextless`.
"""

import asyncio
from pathlib import Path

from app.db.documents import Parsed
from app.errors import PdfTextless
from app.ingest.chunking import Count, chunks
from app.ingest.layout import Block, Kind

FIRST_LINE = "%PDF-text"


def disguised(title: str, text: str) -> bytes:
    """A text as a file that can be uploaded."""
    return "\n".join((FIRST_LINE, " ".join(title.split()), text)).encode()


class PlainParser:
    def __init__(self, count: Count) -> None:
        self._count = count

    async def parse(self, path: Path, filename: str) -> Parsed:
        """One page; a blank line separates paragraphs."""
        return await asyncio.to_thread(self._parse, path)

    def _parse(self, path: Path) -> Parsed:
        _, title, text = path.read_text(encoding="utf-8").split("\n", 2)
        paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
        blocks = [Block(Kind.PROSE, paragraph, ((0, 1),)) for paragraph in paragraphs if paragraph]
        if not blocks:
            raise PdfTextless
        return Parsed(1, title, tuple(chunks(blocks, self._count)))
