"""Qdrant points, for the embedded engine and a server alike; `qdrant.py` has the calls.

A point has a payload and a dense vector of unit length; its score is a cosine. Postgres is the record, an
engine holds a copy. Payload values used in filters are keyword strings (a bool matches nothing in the
engine).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np

from app.db.rows import DIGITS
from app.types import Embedding

Payload = Mapping[str, Any]
TEXTS = ("text", "content", "chunk")
"""Payload fields that may hold a point's text, in ours and older tools'."""
DENSE = "meaning"
"""Name of the dense vector in our collections."""


@dataclass(frozen=True, slots=True)
class Point:
    id: str
    """A UUID, or a number's digits: engines accept both; ours are UUIDs."""
    payload: Payload = field(default_factory=dict)
    dense: Embedding | None = None
    score: float = 0.0
    """Of the search that found it; 0 if nothing was ranked."""


@dataclass(frozen=True, slots=True)
class Where:
    """A filter: all of its conditions hold. Fields are payload keys, values keyword strings."""

    has: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The field holds one of the values."""
    lacks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The field holds none of the values, or is missing."""
    open: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The field holds one of the values, or is missing."""
    ids: tuple[str, ...] | None = None
    """The point has one of these ids."""


@dataclass(frozen=True, slots=True)
class Collection:
    name: str
    dim: int
    dense: str = ""
    """Name of the dense vector; "" is the unnamed one of older tools."""
    points: int = 0
    cosine: bool = True
    """True if scores are cosines; others cannot be compared."""


def by_score(found: Sequence[Point]) -> list[Point]:
    """Best first, equal scores by id: engines order those by their place in the files."""
    return sorted(found, key=lambda point: (-point.score, point.id))


def identity(text: str) -> int | UUID:
    """A point's id as engines take it. `ValueError` for an impossible one."""
    plain = text.isascii() and text.isdigit() and len(text) <= DIGITS
    return int(text) if plain and int(text) < 1 << 64 else UUID(text)


def identities(texts: Sequence[str]) -> set[int | UUID]:
    """Possible ids; others are dropped."""
    found = set()
    for text in texts:
        try:
            found.add(identity(text))
        except ValueError:
            continue
    return found


def floats(dense: Embedding) -> list[float]:
    numbers: list[float] = np.frombuffer(dense, dtype="<f4").tolist()
    return numbers


def packed(dense: object) -> Embedding | None:
    return np.asarray(dense, dtype="<f4").tobytes() if isinstance(dense, list) else None


def to_frame(points: Sequence[Point]) -> tuple[dict[str, Any], bytes]:
    rows = [[each.id, each.payload, each.score, each.dense and len(each.dense)] for each in points]
    return {"points": rows}, b"".join(each.dense for each in points if each.dense)


def from_frame(rows: Sequence[Sequence[Any]], data: bytes) -> list[Point]:
    points, at = [], 0
    for id_, payload, score, size in rows:
        points.append(Point(id_, payload, data[at : at + size] if size else None, score))
        at += size or 0
    return points
