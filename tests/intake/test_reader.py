"""PDFium's view of a PDF: lines, places, type, outline, and what cannot be opened."""

from pathlib import Path

import pytest

from app.errors import IbidError, PdfDamaged, PdfEncrypted, PdfTooComplex
from app.intake import reader
from app.intake.line import Bookmark, Line
from tests.fakes.pdfs import (
    assemble,
    damaged_pdf,
    empty_pdf,
    encrypted_pdf,
    leaves,
    script_pdf,
    stream,
    text_pdf,
)


def opened(path: Path, data: bytes) -> list[Line]:
    """The lines of these bytes."""
    path.write_bytes(data)
    with reader.opened(path, max_pages=100) as pdf:
        return reader.lines(pdf)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test puts its PDF."""
    return tmp_path / "a.pdf"


def test_lines_stand_in_order_with_their_physical_page(path: Path) -> None:
    """Pages count from 1, whatever is printed on them, and blank lines are left out."""
    lines = opened(path, text_pdf(["First.\n\nSecond.", "Third."], footer="{page}"))
    assert [(line.page, line.text) for line in lines if len(line.text) > 1] == [
        (1, "First."),
        (1, "Second."),
        (2, "Third."),
    ]


def test_a_line_knows_its_place_and_type(path: Path) -> None:
    """A heading is larger and bold, text below it lies lower."""
    heading, text = [line for line in opened(path, text_pdf("# Big\nSmall text.")) if line.text != " "]
    assert heading.style.bold
    assert not text.style.bold
    assert heading.style.size > 1.4 * text.style.size
    assert heading.bottom > text.top
    assert heading.left == pytest.approx(text.left, abs=2)


def test_a_bold_word_does_not_make_a_bold_line(path: Path) -> None:
    """Only a line whose first and last letter are bold is bold."""
    shown = stream(b"BT /B 10 Tf 72 700 Td (Bold) Tj /F 10 Tf ( then plain) Tj ET")
    fonts = [b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica%s >>" % kind for kind in (b"-Bold", b"")]
    [line] = opened(path, leaves([shown], b"/Font << /B 3 0 R /F 4 0 R >>", fonts))
    assert line.text == "Bold then plain"
    assert not line.style.bold


def test_places_hold_behind_characters_outside_the_basic_plane(path: Path) -> None:
    """PDFium counts UTF-16 units: a line after emoji still has its own place."""
    first, second = opened(path, script_pdf(["😀" * 40 + " end\nnext line"]))
    assert first.text.endswith("😀 end")
    assert second.text == "next line"
    assert second.left == pytest.approx(first.left, abs=1)
    assert second.top < first.bottom + 5


@pytest.mark.parametrize(
    "text", ["مرحبا بالعالم", "你好，世界。", "नमस्ते दुनिया।", "Привет, мир!"], ids=["ar", "zh", "hi", "ru"]
)
def test_every_script_is_read(path: Path, text: str) -> None:
    """Text comes out as it reads, right-to-left scripts too."""
    assert [line.text for line in opened(path, script_pdf([text]))] == [text]


@pytest.mark.parametrize(
    ("data", "problem", "said"),
    [
        (encrypted_pdf(), PdfEncrypted, "password"),
        (damaged_pdf("garbage"), PdfDamaged, "structure"),
        (damaged_pdf("truncated"), PdfDamaged, "structure"),
        (damaged_pdf("treeless"), PdfDamaged, "structure"),
        (b"%PDF-1.7\n", PdfDamaged, "structure"),
        (empty_pdf(101), PdfTooComplex, "101 pages; at most 100"),
    ],
    ids=["encrypted", "garbage", "truncated", "treeless", "header", "pages"],
)
def test_what_cannot_be_opened_says_why(path: Path, data: bytes, problem: type[IbidError], said: str) -> None:
    """Each refusal is its own problem, and its detail says what was found."""
    with pytest.raises(problem) as refused:
        opened(path, data)
    assert said in refused.value.detail


def test_an_empty_password_opens(path: Path) -> None:
    """A PDF protected against changes alone is read."""
    assert opened(path, encrypted_pdf("Open to all.", user=""))[0].text == "Open to all."


def test_pages_that_cannot_be_read_are_damage_only_if_all_are(path: Path) -> None:
    """A document with a broken page gives the others."""
    loop = b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"
    with pytest.raises(PdfDamaged, match="2 pages, none of which"):
        opened(path, assemble([b"<< /Type /Catalog /Pages 2 0 R >>", loop]))


def test_more_text_than_is_taken_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text has a limit of its own, beside memory and time."""
    monkeypatch.setattr(reader, "MAX_CHARS", 100)
    with pytest.raises(PdfTooComplex, match="100 characters of text by page 2"):
        opened(path, text_pdf(["x" * 60] * 3))


def test_the_outline_and_the_title_are_the_files_own(path: Path) -> None:
    """Bookmarks have level, page and place; the title is its metadata's, on one line."""
    data = text_pdf(["One.", "Two."], title="On\nOutlines", outline=[("Top", 1, 0), ("Below", 2, 1)])
    path.write_bytes(data)
    with reader.opened(path, max_pages=10) as pdf:
        first, second = reader.outline(pdf)
        assert reader.title(pdf) == "On Outlines"
    assert (first.title, first.level, first.page) == ("Top", 0, 1)
    assert (second.title, second.level, second.page) == ("Below", 1, 2)


def test_a_circular_outline_ends(path: Path) -> None:
    """Bookmarks that follow themselves are read once."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Outlines 3 0 R >>",
        b"<< /Type /Pages /Kids [5 0 R] /Count 1 >>",
        b"<< /Type /Outlines /First 4 0 R /Last 4 0 R >>",
        b"<< /Title (Again) /Parent 3 0 R /Next 4 0 R /Dest [5 0 R /Fit] >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] >>",
    ]
    path.write_bytes(assemble(objects))
    with reader.opened(path, max_pages=10) as pdf:
        assert reader.outline(pdf) == [Bookmark("Again", 0, 1, None)]


def test_rows_close_to_each_other_are_lines_of_their_own(path: Path) -> None:
    """PDFium takes them for one where they nearly touch."""
    rows = [(f"Row {n}", f"{n},000", f"{n},500") for n in range(1, 6)]
    shown = "".join(
        f"1 0 0 1 72 {700 - 9 * n} Tm ({row[0]}) Tj 1 0 0 1 300 {700 - 9 * n} Tm ({row[1]}) Tj "
        f"1 0 0 1 400 {700 - 9 * n} Tm ({row[2]}) Tj "
        for n, row in enumerate(rows)
    )
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    data = leaves([stream(f"BT /F 10 Tf {shown} ET".encode())], b"/Font << /F 3 0 R >>", [font])
    assert [line.text for line in opened(path, data)] == [" ".join(row) for row in rows]
