"""Points: what Qdrant stores, for the embedded engine and a server alike.

A point has a payload and a dense vector of unit length; its score is a cosine. Postgres is the record, an
engine holds a copy. Every call raises `RetrievalError("unavailable" | "timeout" | "overloaded")` and nothing
of the vendor's; with `rejected=True` nothing is down: there is no such collection, or it has another shape.
Payload values that are filtered by are keyword strings (a bool matches nothing in the engine).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

import numpy as np

from app.types import Embedding

Payload = Mapping[str, Any]
TEXTS = ("text", "content", "chunk")
"""Where a point's text lies, ours and that of older tools."""
DENSE = "meaning"
"""The name of the dense vector in a collection of ours."""
DIGITS = 20
"""Longest number that is read as an id; 32 digits are a UUID."""


@dataclass(frozen=True, slots=True)
class Point:
    """One, as it is written and as it is read back."""

    id: str
    """A UUID, or a number's digits: engines know both; ours are UUIDs."""
    payload: Payload = field(default_factory=dict)
    dense: Embedding | None = None
    score: float = 0.0
    """Of the search that found it; 0 where nothing was ranked."""


@dataclass(frozen=True, slots=True)
class Where:
    """A filter: all of its conditions hold. Fields are payload keys, values keyword strings."""

    has: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The field holds one of the values."""
    lacks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The field holds none of the values (no such field: holds)."""
    open: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The field holds one of the values, or there is no such field."""
    ids: tuple[str, ...] | None = None
    """The point is one of these."""


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection's shape."""

    name: str
    dim: int
    dense: str = ""
    """The dense vector's name; "" is the unnamed one, as older tools wrote."""
    points: int = 0
    cosine: bool = True
    """Whether the dense vector's score is a cosine; those of other distances cannot be compared."""


class Points(Protocol):
    """An engine: embedded (`qdrant_process.py`) or a server (`qdrant_server.py`); one contract test for both.

    Writes are searchable when they return, and durable as the engine makes them.
    """

    async def collections(self) -> list[Collection]:
        """All collections, by name."""

    async def create(
        self,
        name: str,
        dim: int,
        *,
        keys: Sequence[str] = (),
        tenants: Sequence[str] = (),
        times: Sequence[str] = (),
    ) -> None:
        """A collection with the dense vector DENSE (cosine); `keys` are indexed keyword fields, `tenants`
        those that tell users apart, `times` datetimes. A collection that exists stays as it is, but for
        fields that are not indexed yet."""

    async def drop(self, name: str) -> None:
        """Delete a collection with its files; nothing there is no error."""

    async def put(self, name: str, points: Sequence[Point]) -> None:
        """Write; each id again replaces."""

    async def remove(self, name: str, where: Where) -> None:
        """Delete points; no such collection is no error."""

    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        """The nearest points, best first (equal scores by id), without their vectors."""

    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        """Points by id, those after `after`; `vectors` gives their dense vectors."""

    async def count(self, name: str, where: Where) -> int:
        """How many, exactly."""

    async def compact(self, name: str) -> None:
        """Rewrite the files so that what was removed is in none of them (a server: as far as it lets us)."""

    async def check(self) -> Mapping[str, str | int | float]:
        """Facts about the engine; raises if it does not answer."""


def by_score(found: Sequence[Point]) -> list[Point]:
    """Best first, equal scores by id: engines order those by their place in the files."""
    return sorted(found, key=lambda point: (-point.score, point.id))


def identity(text: str) -> int | UUID:
    """A point's id as engines have it. `ValueError`: no point can have this one."""
    plain = text.isascii() and text.isdigit() and len(text) <= DIGITS
    return int(text) if plain and int(text) < 1 << 64 else UUID(text)


def identities(texts: Sequence[str]) -> set[int | UUID]:
    """Those that can be ids at all."""
    found = set()
    for text in texts:
        try:
            found.add(identity(text))
        except ValueError:
            continue
    return found


def floats(dense: Embedding) -> list[float]:
    """The numbers of an embedding, bit for bit."""
    numbers: list[float] = np.frombuffer(dense, dtype="<f4").tolist()
    return numbers


def packed(dense: object) -> Embedding | None:
    """The embedding of these numbers; None: there are none."""
    return np.asarray(dense, dtype="<f4").tobytes() if isinstance(dense, list) else None
