"""The sample that the page offers on a first visit: `python -m tests.web.sample` writes app/web/sample.pdf.

Its text, in sample.md, is our own and about a lighthouse that does not exist, so no model knows the answers.
Deterministic.
"""

from io import BytesIO
from pathlib import Path

from reportlab.lib import colors
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, PageBreak, Paragraph, SimpleDocTemplate, Table, TableStyle

TEXT = Path(__file__).with_name("sample.md")
FILE = Path(__file__).parents[2] / "app" / "web" / "sample.pdf"
BODY = ParagraphStyle("body", fontName="Times-Roman", fontSize=11, leading=15, spaceAfter=7)
HEAD = ParagraphStyle("head", fontName="Helvetica-Bold", fontSize=12, leading=16, spaceBefore=8, spaceAfter=4)
TITLE = ParagraphStyle("title", fontName="Times-BoldItalic", fontSize=20, leading=25, spaceAfter=6)
NOTE = ParagraphStyle("note", fontName="Times-Italic", fontSize=9, leading=12, spaceAfter=10)
LINES = [
    ("FONT", (0, 0), (-1, 0), "Helvetica-Bold", 9),
    ("FONT", (0, 1), (-1, -1), "Times-Roman", 10),
    ("LINEBELOW", (0, 0), (-1, -1), 0.4, colors.grey),
]


def block(text: str) -> Flowable:
    """A heading, table, rule or paragraph of sample.md."""
    if text == "---":
        return PageBreak()
    if text.startswith("|"):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
        return Table(rows, colWidths=[100, 82, 88, 70], hAlign="LEFT", style=TableStyle(LINES))
    for mark, style in (("## ", HEAD), ("# ", TITLE), ("_", NOTE)):
        if text.startswith(mark):
            return Paragraph(text.removeprefix(mark).removesuffix("_"), style)
    return Paragraph(text, BODY)


def footer(canvas: Canvas, document: SimpleDocTemplate) -> None:
    canvas.setFont("Times-Roman", 9)
    canvas.drawCentredString(A5[0] / 2, 28, str(document.page))


def made() -> bytes:
    """The PDF."""
    blocks = TEXT.read_text().strip().split("\n\n")
    title, out = blocks[0].removeprefix("# "), BytesIO()
    document = SimpleDocTemplate(
        out,
        pagesize=A5,
        margins=48,
        title=title,
        author="The authors of Ibid",
        invariant=1,
        pageCompression=1,
    )
    document.build([*map(block, blocks)], onFirstPage=footer, onLaterPages=footer)
    return out.getvalue()


if __name__ == "__main__":
    FILE.write_bytes(made())
