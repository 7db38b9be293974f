"""Lines as a page would have them, without a PDF: set below each other, ten points high."""

from collections.abc import Sequence

from app.ingest.lines import Line, Style

BODY = Style(10.0)
TITLE = Style(18.0, bold=True)
BOLD = Style(10.0, bold=True)
TOP, PITCH = 700.0, 12.0


def line(
    text: str, page: int = 1, row: int = 0, *, style: Style = BODY, left: float = 72, right: float = 540
) -> Line:
    """A line in the given row of a page; rows are 12 points apart."""
    top = TOP - PITCH * row
    return Line(text, page, left, right, top, top - style.size, style)


def page_of(texts: Sequence[str], page: int = 1) -> list[Line]:
    """A page of lines: `# ` begins a heading, an empty string leaves a row free."""
    found = []
    for row, text in enumerate(texts):
        if text.startswith("# "):
            found.append(line(text.removeprefix("# "), page, row, style=BOLD, right=200))
        elif text:
            found.append(line(text, page, row))
    return found
