"""The words of this room: which document, which passage of it, and where it stands while a search lasts."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32]
"""Vectors of unit length as rows, or one of them."""
Place: TypeAlias = tuple[str, int]
"""Document id and ordinal: what a passage is called outside of this room, and how ties are broken."""
Spot: TypeAlias = tuple[int, int]
"""Block and row."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A document that is ready, as the record lists it."""

    id: str
    name: str
    """For labels, before `-2`."""
    filename: str
    title: str
    chunks: int
    created_at: datetime


def key(place: Place) -> str:
    """A passage's id, in Chroma and in answers."""
    return f"{place[0]}:{place[1]}"


def place_of(key: str) -> Place:
    """The inverse of `key`."""
    document, _, ordinal = key.rpartition(":")
    return document, int(ordinal)
