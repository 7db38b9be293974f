"""Points nobody wrote, the same on every run: unit vectors, owners; and what a filter should find."""

import uuid
from collections.abc import Sequence

import numpy as np

from app.retrieval.retrievers.points import Point, Where
from app.types import Embedding

DIM = 8


def embedding(number: int, dim: int = DIM) -> Embedding:
    row = np.random.default_rng(number).normal(size=dim).astype("<f4")
    return bytes((row / np.linalg.norm(row)).astype("<f4").tobytes())


def point(number: int, user: str = "ann", **payload: str) -> Point:
    held = {"tenant": "t", "user_id": user, "text": f"text {number}", **payload}
    return Point(str(uuid.UUID(int=number * 7919 % 1_000_003)), held, embedding(number))


def owned(user: str) -> Where:
    return Where(has=(("tenant", ("t",)), ("user_id", (user,))))


def meets(found: Point, where: Where) -> bool:
    """What `Where` promises, said again."""
    value = found.payload.get
    return (
        all(value(key) in values for key, values in where.has)
        and all(value(key) not in values for key, values in where.lacks)
        and all(value(key) is None or value(key) in values for key, values in where.open)
        and (where.ids is None or found.id in where.ids)
    )


def ids(found: Sequence[Point]) -> list[str]:
    return [each.id for each in found]
