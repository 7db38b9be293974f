"""Plain texts read as documents."""

from pathlib import Path

import pytest

from app.errors import PdfTextless
from app.intake.plain import PlainParser, disguised


def words(text: str) -> int:
    """Tokens, roughly."""
    return len(text.split())


async def test_a_text_comes_back_with_its_title(tmp_path: Path) -> None:
    """Every word of it, in order, cut where a document would be."""
    text = "\n\n".join(" ".join(f"w{n}x{m}" for m in range(150)) + "." for n in range(6))
    path = tmp_path / "a.pdf"
    path.write_bytes(disguised("On\nwords", text))

    parsed = await PlainParser(words).parse(path, "a.pdf")

    assert (parsed.title, parsed.pages) == ("On words", 1)
    assert len(parsed.chunks) > 1
    assert " ".join(chunk.text for chunk in parsed.chunks).split() == text.split()
    assert [chunk.ordinal for chunk in parsed.chunks] == list(range(1, len(parsed.chunks) + 1))


async def test_an_upload_takes_it() -> None:
    """It says that it is a PDF where uploads look."""
    assert b"%PDF-" in disguised("", "words")[:20]


async def test_a_blank_text_has_none(tmp_path: Path) -> None:
    """As a scan."""
    path = tmp_path / "a.pdf"
    path.write_bytes(disguised("Title", " \n\n "))

    with pytest.raises(PdfTextless):
        await PlainParser(words).parse(path, "a.pdf")
