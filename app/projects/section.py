"""A part of a project's context as data: what is searched and how, its heading, how a row is written down.

Cuts count characters (code points) of the column as it is stored, allowances o200k tokens. Nothing here
raises. Source: seeds 000-002, CONTRACT §4.
"""

from dataclasses import dataclass
from enum import StrEnum

NAME_CUT = 300
"""Of what the seeds show in full (titles, paths, tags): a hostile one may have 10 MB."""


class Choice(StrEnum):
    """How a section's passages are chosen."""

    NEWEST = "newest"
    """By time: the message is not looked at."""
    NEAREST = "nearest"
    """By cosine alone, as seeds 000 and 001 have it: no threshold."""
    FUSED = "fused"
    """By words and meaning; matches only (CONTRACT §0), most relevant first."""


class Kind(StrEnum):
    """What a column holds, and so how it is written."""

    NAME = "name"
    """One line."""
    NAMES = "names"
    """A JSON list, its items joined by commas."""
    PROSE = "prose"
    """Lines, none of which may look like a part of the format."""
    SYMBOL = "symbol"
    """JSON that may name a function or a class; else the path stands for it."""
    CODE = "code"
    """A fenced block in the row's language."""


@dataclass(frozen=True, slots=True)
class Line:
    """One column of a row; left out where that holds nothing."""

    column: str
    shown: str = "{}"
    cut: int = NAME_CUT
    kind: Kind = Kind.NAME
    instead: str = ""
    """The column that is shown where the first shows nothing."""


Form = tuple[Line, ...]
"""How a row is written: its lines, in order."""


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a project's context."""

    source: str
    """Of `domain/project.py`: conversations, code or dreams."""
    choice: Choice
    limit: int
    """Entries, where the request does not say."""
    heading: str
    form: Form
    noun: str
    """What its entries are called in notes."""
    note: str
    """How it went, with {count}. The seeds' notes do not know a singular, nor does it."""
    most: int = 0
    """The most entries that a request's top_k may ask for; 0: it has no say."""
    between: str = "\n\n"
    """What stands between two entries."""
    tokens: int = 0
    """The most that one entry may take: longer ones are cut shorter. 0: the cuts alone decide."""

    optional: bool = False
    """Not every project has any: where nothing was found, no note says so."""

    def wanted(self, top_k: int | None) -> int:
        """Entries for a request: never refused, above the most it is the most, below 1 the default."""
        if not self.most or top_k is None or top_k < 1:
            return self.limit
        return min(top_k, self.most)
