"""Lines set apart from the text, by size or in bold, gathered: a heading over several lines becomes one.

A longer run of such lines is no heading but a paragraph in bold or in large type: it is taken for text.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from app.intake.line import Line, Style
from app.intake.table import is_row

LARGER = 1.15
"""Times the size of the text, from which a line is set apart."""
MAX_LINES = 3
"""Of a heading."""


def body_style(lines: Sequence[Line]) -> Style:
    """How the text is set: the size of most characters, bold or italic if nearly all of it is."""
    sizes: Counter[float] = Counter()
    bold = italic = 0
    for line in lines:
        sizes[line.style.size] += len(line.text)
        bold += len(line.text) * line.style.bold
        italic += len(line.text) * line.style.italic
    most = 0.8 * sizes.total()
    return Style(sizes.most_common(1)[0][0], bold > most, italic > most) if sizes else Style()


def gathered(lines: Sequence[Line]) -> list[Line]:
    """The lines of a document, headings whole, long runs of emphasis taken for text."""
    body = body_style(lines)
    found: list[Line] = []
    for _, page in groupby(lines, lambda line: line.page):
        on_page = list(page)
        edge = max(line.right for line in on_page)
        for run in runs(on_page, body, edge):
            found += merged(run) if len(run) <= MAX_LINES else [as_text(line, body) for line in run]
    return found


def runs(lines: Sequence[Line], body: Style, edge: float) -> Iterator[list[Line]]:
    """Lines that go on from one to the next in the same emphasis; others alone."""
    run: list[Line] = []
    for line in lines:
        if run and not (is_apart(line, body) and goes_on(run[-1], line, edge)):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def is_apart(line: Line, body: Style) -> bool:
    """Whether its type sets it apart from the text."""
    return (line.style.bold and not body.bold) or line.style.size >= LARGER * body.size


def goes_on(above: Line, line: Line, edge: float) -> bool:
    """Whether a line continues the one above: set alike, close by, and that one full, centred like
    it, or without the end of its sentence. `edge` is where the page's text ends."""
    if above.style != line.style or is_row(above.text) or is_row(line.text):
        return False
    if not -0.5 < (above.bottom - line.top) / max(line.style.size, 1.0) < 0.5:
        return False
    centred = abs(above.left + above.right - line.left - line.right) < 4 < abs(above.left - line.left)
    return centred or above.right >= 0.85 * edge or line.text[0].islower()


def merged(run: list[Line]) -> list[Line]:
    """The lines of a heading as one."""
    first, last = run[0], run[-1]
    whole = replace(
        first,
        text=" ".join(line.text for line in run),
        left=min(line.left for line in run),
        right=max(line.right for line in run),
        bottom=last.bottom,
    )
    return [whole]


def as_text(line: Line, body: Style) -> Line:
    """The line in the type of the text."""
    return replace(line, style=body)
