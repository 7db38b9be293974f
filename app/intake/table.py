"""Which lines are rows of tables. By their words alone: most PDFs draw tables as loose pieces of text.

A run of lines with figures, the short lines between them (labels that wrap) and those above (the heads
of columns) make a table. Only shapes are looked at, so it works in every language with digits.
"""

import re
from collections.abc import Iterator, Sequence

from app.intake.line import Line

FIGURE = re.compile(r"[($€£¥+\-–—−~<>≤≥]*\d[\d.,:/'’]*[)%†*‡¹²³⁴⁵]*|[-–—−]+|[$€£¥%)]+|[nN]/?[aAmM]\.?")
YEAR = re.compile(r"(?:19|20)\d\d")
SENTENCE_END = re.compile(r"[.;!?。！？؟۔।]['\"”’)]*$")

LABEL_WORDS = 12
"""Words of the longest line that can be a label rather than prose."""
GAP = 3
"""Lines without figures between two rows of one table."""
ENOUGH = 3
"""Of what makes a table: a row counts two, an entry one."""
HEADS = 8
"""Lines above the first row that can be heads of columns."""


def figures(text: str) -> tuple[int, int]:
    """(figures, words) of a line; a currency sign or a dash stands for a figure."""
    words = text.split()
    return sum(1 for word in words if FIGURE.fullmatch(word)), len(words)


def is_row(text: str) -> bool:
    """At least two figures, and enough of them not to be prose about figures."""
    count, words = figures(text)
    if count < 2 or not any(char.isdigit() for char in text):
        return False
    last = text.rsplit(maxsplit=1)[-1]
    return count >= 0.3 * words or (count >= 0.2 * words and bool(FIGURE.fullmatch(last)))


def is_column_head(text: str) -> bool:
    """Whether a line of a table says what its columns are: no figures, or nothing but years."""
    return not is_row(text) or all(YEAR.fullmatch(word) for word in text.split())


def is_entry(text: str) -> bool:
    """A label and one figure at its end, as in a table of one column or of contents."""
    words = text.split()
    return 1 < len(words) <= LABEL_WORDS and words[-1][-1:].isdigit() and bool(FIGURE.fullmatch(words[-1]))


def is_label(text: str) -> bool:
    """Short, and not the end of a sentence."""
    return len(text.split()) <= LABEL_WORDS and not SENTENCE_END.search(text)


def tables(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """The tables of one page, as (first line, line after the last)."""
    weights = [2 if is_row(line.text) else 1 if is_entry(line.text) else 0 for line in lines]
    rows = [n for n, weight in enumerate(weights) if weight]
    floor = at = 0
    while at < len(rows):
        start, after = rows[at], run(lines, rows, at)
        if sum(weights[n] for n in rows[at:after]) >= ENOUGH:
            yield heads(lines, floor, start), rows[after - 1] + 1
            floor = rows[after - 1] + 1
        at = after


def run(lines: Sequence[Line], rows: Sequence[int], at: int) -> int:
    """The index in `rows` after the last row of the table that begins with `rows[at]`."""
    for n in range(at + 1, len(rows)):
        between = lines[rows[n - 1] + 1 : rows[n]]
        if len(between) > GAP or not all(is_label(line.text) for line in between):
            return n
    return len(rows)


def heads(lines: Sequence[Line], floor: int, start: int) -> int:
    """The first line of a table whose first row is `start`: its columns' heads and its caption."""
    first = start
    while first > max(floor, start - HEADS) and is_head(lines, first - 1):
        first -= 1
    return first


def is_head(lines: Sequence[Line], n: int) -> bool:
    """Whether a line above a table belongs to it: a label, not the end of a sentence begun above."""
    text = lines[n].text
    broken = n > 0 and not is_label(lines[n - 1].text) and not SENTENCE_END.search(lines[n - 1].text)
    return is_label(text) and not broken


def beside_labels(line: Line, rows: Sequence[Line]) -> bool:
    """Whether a line stands over the figures of these rows alone: the head of a column, not a caption."""
    left, right = min(row.left for row in rows), max(row.right for row in rows)
    width = right - left
    return line.left > left + 0.2 * width and line.left + line.right > left + right + 0.16 * width
