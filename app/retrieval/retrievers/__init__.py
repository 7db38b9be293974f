"""The engines behind the exact index: Chroma (documents), Qdrant (memories, corpora), pgvector (projects).

An engine holds an index derived from the record and is asked for the nearest vectors of a scope that is too
large to be searched exactly, and for what other tools wrote. One contract test runs against every engine.
Vectors have unit length; scores are raw cosines. Raises `RetrievalError` and nothing of the vendor's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.domain.passage import Embedding


@dataclass(frozen=True, slots=True)
class EnginePoint:
    """A vector as an engine stores it."""

    id: str
    vector: Embedding
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Near:
    """One of the nearest."""

    id: str
    score: float
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which points are meant: all conditions hold. Values are keyword strings of the payload."""

    equal: Mapping[str, str] = field(default_factory=dict)
    """The field has this value."""
    equal_or_missing: Mapping[str, str] = field(default_factory=dict)
    """The field has this value, or there is no such field, as in points of older tools."""
    not_equal: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The field has none of these values, or there is no such field."""


class Retriever(Protocol):
    """An engine that finds the nearest vectors."""

    async def nearest(
        self, collection: str, vector: Embedding, where: Filter, limit: int, *, payload: bool = False
    ) -> list[Near]:
        """About the nearest points, best first; none of a collection that is not there."""


class DerivedIndex(Retriever, Protocol):
    """One that holds copies of the record's vectors; pgvector searches the record itself."""

    async def upsert(self, collection: str, points: Sequence[EnginePoint]) -> None:
        """Write; each id again replaces. The collection is made where it is missing."""

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove; nothing there is no error."""

    async def count(self, collection: str, where: Filter) -> int:
        """How many, exactly; 0 of a collection that is not there."""
