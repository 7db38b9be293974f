"""What older tools wrote, taken over: rows of the projects' tables, and collections of points.

Additively: a row's own vector is never written over, a collection of another tool's stays as it is. What has
a space is done. Whether another tool's vectors are of our space is told by a sample of them: of the same
model a text's two vectors are close, of two models of one width they have nothing to do with each other.
"""

import math
from array import array
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from app.domain.passage import Embedding
from app.domain.space import Space, similarity

SAMPLE = 32
"""Vectors that are compared."""
ALIKE, SHARE = 0.5, 0.9
"""Similarity of a text's vector to ours from which it counts as the same model's (the other tool may have
embedded a part of the text: .66 and more in the middle), and how many of the sample must be so. Another
space's raw cosine is .0 ± .04 (docs/decisions/0047); a doubt costs embeddings, a mistake every answer."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A row that has no space yet."""

    place: str
    """Where this version of it lies (ctid)."""
    seen: str
    """Which version (xmin): one that was written since is not taken over as what it was."""
    id: str
    """Rows that were written together have one version, and a table that is packed puts them elsewhere."""
    text: str
    """What is embedded of it; "": it says nothing."""
    fits: bool
    """Whether its own vector may be of our space: it is as wide, and not zero."""


@dataclass(frozen=True, slots=True)
class Table:
    """How a table stands."""

    table: str
    rows: int
    ours: int
    """In the current space."""
    elsewhere: int
    """In another space: `ibid reembed` moves them."""
    fitting: int
    """Without a space, with a vector that may be of ours."""
    strange: int
    """Without a space, with a vector of another width, or none."""
    silent: int
    """Without a space or anything to embed: nothing is done to them."""

    @property
    def open(self) -> int:
        """Rows to be taken over."""
        return self.fitting + self.strange


@dataclass(frozen=True, slots=True)
class Shelf:
    """A collection of points that older tools wrote."""

    name: str
    points: int
    """Other tools' with a text."""
    silent: int
    """Other tools' without one."""
    dim: int
    fits: bool
    """Whether vectors of our space could stand in it."""
    home: str = ""
    """The collection of ours that already stands for it; "": none."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What was, or would be, done to a table or a collection."""

    name: str
    kept: int = 0
    """Whose own vectors are of our space, and stay."""
    embedded: int = 0
    silent: int = 0
    left: int = 0
    """Written by another tool meanwhile: run it again."""
    home: str = ""


@dataclass(frozen=True, slots=True)
class Older:
    """What needs nothing: rows that migrations have opened to us."""

    turns: int
    """Of chat_log."""
    traces: int
    """Of vantage_answer_trace."""


@dataclass(slots=True)
class Report:
    """What a run came to."""

    space: str
    tables: list[Taken] = field(default_factory=list)
    collections: list[Taken] = field(default_factory=list)
    older: Older = Older(0, 0)

    @property
    def left(self) -> int:
        """Rows that another tool was writing."""
        return sum(each.left for each in (*self.tables, *self.collections))


class Rows(Protocol):
    """The tables (`stores/adoption.py`). Raises `Unavailable`."""

    @property
    def tables(self) -> Sequence[str]:
        """Their names."""

    async def stands(self, table: str, space: Space) -> Table:
        """In figures."""

    async def sample(self, table: str, space: Space, limit: int) -> Sequence[tuple[str, Embedding]]:
        """Rows that say something and have a vector that fits, by chance: text and vector."""

    def open(self, table: str, space: Space) -> AsyncIterator[Sequence[Foreign]]:
        """Rows without a space that say something, each once, some at a time."""

    async def take(
        self, table: str, space: Space, rows: Sequence[Foreign], embeddings: Sequence[Embedding | None]
    ) -> int:
        """Of our space from now on, with our vector beside theirs; None: theirs it is. How many: what was
        written since it was read stays as it is."""

    async def older(self) -> Older:
        """Rows of the other tables."""


class Shelves(Protocol):
    """The collections (`index/adoption.py`). Raises `RetrievalError`, `Unavailable`."""

    async def found(self) -> Sequence[Shelf]:
        """Those with points of older tools."""

    async def sample(self, shelf: Shelf, limit: int) -> Sequence[tuple[str, Embedding]]:
        """Texts with their vectors, of one that fits."""

    async def missing(self, shelf: Shelf) -> int:
        """Points with a text that its home does not have, as they are now."""

    def carry(self, shelf: Shelf) -> AsyncIterator[int]:
        """Copy them into its home, made where it is missing; how many at a time. Theirs stays as it is."""

    def home(self, shelf: Shelf) -> str:
        """The collection that stands, or would stand, for it."""

    async def settle(self) -> None:
        """Give the new homes what is ours of them."""


def same(pairs: Sequence[tuple[Embedding, Embedding]], floor: float) -> bool:
    """Whether vectors of the same texts are of one space. Nothing to compare: no."""
    alike = sum(similarity(cosine(one, other), floor) >= ALIKE for one, other in pairs)
    return bool(pairs) and alike >= SHARE * len(pairs)


def cosine(one: Embedding, other: Embedding) -> float:
    """Of two vectors of one width; 0 where one has no length."""
    a, b = array("f", one), array("f", other)
    length = math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / length if length else 0.0
