"""Points: what Qdrant stores, for the embedded engine and a server alike.

A point has a payload and a dense vector of unit length; its score is a cosine. Postgres is the record, an
engine holds a copy. Payload values that are filtered by are keyword strings (a bool matches nothing in the
engine). `qdrant.py` has the calls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
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
    name: str
    dim: int
    dense: str = ""
    """The dense vector's name; "" is the unnamed one, as older tools wrote."""
    points: int = 0
    cosine: bool = True
    """Whether the dense vector's score is a cosine; those of other distances cannot be compared."""


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


def to_frame(points: Sequence[Point]) -> tuple[dict[str, Any], bytes]:
    """Points for a frame between processes: a row each, and their vectors as data."""
    rows = [[each.id, each.payload, each.score, each.dense and len(each.dense)] for each in points]
    return {"points": rows}, b"".join(each.dense for each in points if each.dense)


def from_frame(rows: Sequence[Sequence[Any]], data: bytes) -> list[Point]:
    """The inverse of `to_frame`."""
    points, at = [], 0
    for id_, payload, score, size in rows:
        points.append(Point(id_, payload, data[at : at + size] if size else None, score))
        at += size or 0
    return points
