"""What a crash left between the record and the index, and what a lost index must be given back.

A stray is a row of the record that is not as the index has it: written and not indexed, or removed and its
point still there. Postgres has every text with its vector, so nothing is embedded for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.corpus import Reference
from app.domain.memory import Memory
from app.domain.passage import Embedding, Scope


@dataclass(frozen=True, slots=True)
class StrayMemory:
    """A memory's row; the scope names its tenant and user."""

    scope: Scope
    memory: Memory
    embedding: Embedding
    removed: bool


@dataclass(frozen=True, slots=True)
class StrayText:
    """A reference text's row; the scope names its tenant."""

    scope: Scope
    collection: str
    reference: Reference
    embedding: Embedding
    removed: bool


@dataclass(frozen=True, slots=True)
class Stock:
    """What of a collection should be searchable."""

    count: int
    tenants: tuple[str, ...]


class Strays(Protocol):
    """Rows by id (memories) or point (texts), in pages (`stores/strays.py`). `Unavailable`."""

    async def memories(self, after: str, limit: int, *, all_of_them: bool) -> Sequence[StrayMemory]:
        """Strays after that id; `all_of_them`: everything that should be in the index."""

    async def texts(self, after: str, limit: int, *, all_of_them: bool) -> Sequence[StrayText]:
        """Likewise."""

    async def kept(self) -> tuple[str, dict[str, Stock]]:
        """The current space, and the searchable rows with vectors of it, by collection; those without any
        are left out."""
