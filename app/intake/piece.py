"""What chunks are put together of: sentences, rows and headings, each with its page.

Sizes are o200k tokens. Raises nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from app.intake.block import Block, Kind
from app.intake.sentence import fitting

UNIT = 200
"""Tokens of the longest sentence that is not divided."""

Count: TypeAlias = Callable[[str], int]
"""o200k tokens of a text."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What is never divided: a sentence, a row, a heading."""

    text: str
    """With the white space before it."""
    tokens: int
    page: int
    page_end: int
    block: Block

    @property
    def heads(self) -> bool:
        """Whether it is (of) a heading."""
        return self.block.kind is Kind.HEADING


def pieces(block: Block, count: Count) -> list[Piece]:
    """A block's pieces, in order."""
    rows = block.text.split("\n") if block.kind is Kind.TABLE else [block.text]
    found, at, turn = [], -1, 0
    for row in rows:
        for text, tokens in fitting("\n" + row, UNIT, count):
            turn, page = page_at(block, turn, at + len(text) - len(text.lstrip()))
            at += len(text)
            turn, page_end = page_at(block, turn, at - 1)
            found.append(Piece(text, tokens, page, page_end, block))
    return found


def page_at(block: Block, turn: int, offset: int) -> tuple[int, int]:
    """(index into `block.pages`, page) of an offset, looked for from an index on."""
    while turn + 1 < len(block.pages) and block.pages[turn + 1][0] <= offset:
        turn += 1
    return turn, block.pages[turn][1]


def weight(held: Iterable[Piece]) -> int:
    """Tokens together."""
    return sum(piece.tokens for piece in held)
