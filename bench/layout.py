"""Which documents the corpus is made of, and where each lives: files of 50 rows, turn about over some homes.

`shared`: a quarter each to the asking session, to what all share, to another session, to another tenant;
`reach`: session and global; `one`: the session alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.corpus import SESSION

ROWS_A_DOCUMENT = 50


@dataclass(frozen=True, slots=True)
class Home:
    """Where a document lives; `session` None: for all sessions of the tenant."""

    tenant: str
    session: str | None


OURS, EVERYBODYS = Home("default", SESSION), Home("default", None)
LAYOUTS: Mapping[str, Sequence[Home]] = {
    "shared": (OURS, EVERYBODYS, Home("default", "another"), Home("other", None)),
    "reach": (OURS, EVERYBODYS),
    "one": (OURS,),
}


@dataclass(frozen=True, slots=True)
class File:
    """A document's worth of rows."""

    number: int
    home: Home
    rows: Sequence[int]

    @property
    def name(self) -> str:
        """`file-00012.pdf`."""
        return f"file-{self.number:05}.pdf"


def files(rows: int, layout: str) -> Iterator[File]:
    """All documents of a corpus, turn about over the layout's homes."""
    homes = LAYOUTS[layout]
    for number, first in enumerate(range(0, rows, ROWS_A_DOCUMENT)):
        yield File(number, homes[number % len(homes)], range(first, min(rows, first + ROWS_A_DOCUMENT)))


def row_of(filename: str, ordinal: int) -> int:
    """The row that a passage is."""
    return int(filename[5:10]) * ROWS_A_DOCUMENT + ordinal - 1
