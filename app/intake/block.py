"""Lines put together: paragraphs, list items, tables and headings, each with the headings above it.

A paragraph ends at a wider gap, an indent, a bullet, another size of type, or a short line that ends a
sentence; it goes on over a page or column that breaks a sentence.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby, pairwise
from statistics import median

from app.intake.heading import Headings, stands_out
from app.intake.line import Bookmark, Line
from app.intake.table import SENTENCE_END, beside_labels, rowed, tables

BULLET = re.compile(r"[•●○▪■□◦‣⁃∙·*–—-](?:\s|$)|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]\s")
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]"
)
"""Scripts written without spaces: Thai, Lao, Burmese, Khmer, Chinese, Japanese and their marks."""


class Kind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PROSE = "prose"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of structure, on one page or over the turn of one."""

    kind: Kind
    text: str
    """The rows of a table are lines; prose is one line."""
    pages: tuple[tuple[int, int], ...]
    """(offset in `text`, page) where each page begins; the first offset is 0."""
    path: tuple[str, ...] = ()
    """Headings above it, outermost first; a heading's own text is the last."""


def blocks(lines: Sequence[Line], outline: Sequence[Bookmark] = ()) -> list[Block]:
    """A document's blocks, in its order. No character but white space is lost or added."""
    builder = Builder(Headings(lines, outline), usual_gap(lines))
    for page, group in groupby(lines, lambda line: line.page):
        builder.page(page, list(group))
    builder.close()
    return builder.done


def usual_gap(lines: Sequence[Line]) -> float:
    """The space between two lines of a paragraph, in parts of the type's size."""
    near = [gap(above, below) for above, below in pairwise(lines) if above.page == below.page]
    near = [value for value in near if -1 < value < 2]
    return median(near) if near else 0.0


def gap(above: Line, below: Line) -> float:
    """The space between two lines, in parts of the type's size."""
    return (above.bottom - below.top) / max(below.style.size, 1.0)


class Builder:
    """Takes lines page by page."""

    def __init__(self, heads: Headings, pitch: float) -> None:
        self.heads = heads
        self.pitch = pitch
        self.done: list[Block] = []
        self.prose: list[Line] = []
        """The paragraph under way."""
        self.path: tuple[str, ...] = ()
        """The headings above it."""

    def page(self, number: int, lines: list[Line]) -> None:
        """All lines of one page."""
        self.heads.turn(number, lines)
        ends = {self.below_headings(lines, start, end): end for start, end in tables(lines)}
        n = 0
        while n < len(lines):
            end = ends.get(n, n + 1)
            self.table(lines[n:end]) if n in ends else self.line(lines[n])
            n = end

    def below_headings(self, lines: Sequence[Line], start: int, end: int) -> int:
        """Where a table begins, without the headings that stand right above it."""
        while start < end - 1 and stands_out(lines[start], self.heads.body):
            if beside_labels(lines[start], lines[start:end]):
                break
            start += 1
        return start

    def table(self, lines: list[Line]) -> None:
        """A whole table."""
        self.close()
        self.add(Kind.TABLE, "\n".join(rowed(lines)), ((0, lines[0].page),), self.here)

    def line(self, line: Line) -> None:
        """A line outside tables."""
        level = self.heads.level(line)
        if level is not None:
            self.close()
            self.heads.enter(level, line.text)
            self.add(Kind.HEADING, line.text, ((0, line.page),), self.here)
            return
        if self.prose and parted(self.prose, line, self.pitch):
            self.close()
        if not self.prose:
            self.path = self.here
        self.prose.append(line)

    def close(self) -> None:
        """End the paragraph under way."""
        if self.prose:
            self.add(Kind.PROSE, *joined(self.prose), self.path)
            self.prose = []

    @property
    def here(self) -> tuple[str, ...]:
        """The headings above what comes next."""
        return tuple(said for _, said in self.heads.path)

    def add(self, kind: Kind, text: str, pages: tuple[tuple[int, int], ...], path: tuple[str, ...]) -> None:
        """Keep a block."""
        self.done.append(Block(kind, text, pages, path))


def parted(prose: Sequence[Line], line: Line, pitch: float) -> bool:
    """Whether a line begins a new paragraph."""
    above, ended = prose[-1], bool(SENTENCE_END.search(prose[-1].text))
    if BULLET.match(line.text):
        return True
    if line.page != above.page or line.bottom > above.top:
        return ended or line.text[0].isupper()
    if is_wider(above, line, pitch):
        return True
    short = above.right < 0.8 * max(line.right, prose[0].right)
    return ended and (short or line.left - above.left > 0.8 * above.style.size)


def is_wider(above: Line, below: Line, pitch: float) -> bool:
    """Whether two lines are further apart than those of a paragraph, or set in another size of type."""
    resized = abs(below.style.size - above.style.size) > 0.15 * above.style.size
    return resized or gap(above, below) > pitch + 0.3


def joined(lines: Sequence[Line]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A paragraph as one line of text, and where in it each page begins."""
    text, pages = "", [(0, lines[0].page)]
    pieces: list[str] = []
    length = 0
    for line in lines:
        if pieces:
            pieces.append("" if UNSPACED.match(pieces[-1][-1]) and UNSPACED.match(line.text[0]) else " ")
            length += len(pieces[-1])
        if line.page != pages[-1][1]:
            pages.append((length, line.page))
        pieces.append(line.text)
        length += len(line.text)
    text = "".join(pieces)
    return text, tuple(pages)
