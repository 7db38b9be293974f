"""Tables of markdown, aligned so that they can be read as they are in a terminal too."""

from collections.abc import Sequence

Cell = str | float | int | None


def shown(cell: Cell) -> str:
    """A figure with as many digits as mean something."""
    if cell is None:
        return "–"
    if isinstance(cell, float):
        return f"{cell:.2f}" if abs(cell) < 10 else f"{cell:,.1f}" if abs(cell) < 100 else f"{cell:,.0f}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """The first column to the left, figures to the right."""
    lines = [list(head), *([shown(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join("| " + " | ".join(aligned(line, widths)) + " |" for line in (lines[0], rule, *lines[1:]))


def aligned(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Cells padded to their columns."""
    first, *rest = line
    return [
        first.ljust(widths[0]),
        *(cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)),
    ]
