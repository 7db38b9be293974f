"""What `ibid adopt` takes over from older tools: rows of the projects' tables, and collections of points.

Nothing of theirs is changed. A sample tells whether their vectors belong to our space: one model's two
vectors of a text are close, those of two models of one width are unrelated.
"""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.domain.passage import Embedding
from app.domain.space import similarity

SAMPLE = 32
"""Vectors that are compared."""
ALIKE, SHARE = 0.5, 0.9
"""Similarity of a text's vector to ours from which it counts as the same model's (the other tool may have
embedded a part of the text: .66 and more in the middle), and how many of the sample must be so. Another
space's raw cosine is .0 ± .04 (docs/decisions/0047); a doubt costs embeddings, a mistake every answer."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A row of the projects' tables that has no space yet."""

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
    """The collection in which Qdrant holds the copy of an imported one."""
    unowned: int = 0
    """Memories without a user: no question could find them."""


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
    waiting: str = ""
    """What Qdrant has yet to take, for people; "": nothing."""

    @property
    def left(self) -> int:
        """Rows that another tool was writing."""
        return sum(each.left for each in (*self.tables, *self.collections))


def same(pairs: Sequence[tuple[Embedding, Embedding]], floor: float) -> bool:
    """Whether vectors of the same texts are of one space. Nothing to compare: no."""
    alike = sum(similarity(cosine(one, other), floor) >= ALIKE for one, other in pairs)
    return bool(pairs) and alike >= SHARE * len(pairs)


def cosine(one: Embedding, other: Embedding) -> float:
    """Of two vectors of one width; 0 where one has no length."""
    a, b = array("f", one), array("f", other)
    length = math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / length if length else 0.0
