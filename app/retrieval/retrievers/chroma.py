"""Chroma as a retriever (documents): the nearest chunks under a filter, and what collections are called."""

import re
from collections.abc import Mapping
from hashlib import blake2b

import numpy as np

from app.clients.chroma import Chroma
from app.retrieval.index import PassageKey
from app.types import Embedding

OURS = re.compile(r"ibid-(global|sessions)-.*[0-9a-f]{8}$")
"""Names that `collection` gives."""


async def nearest(
    chroma: Chroma, collection: str, vector: Embedding, equal: Mapping[str, str], limit: int
) -> list[tuple[str, float]]:
    """Ids and exact cosines of about the nearest vectors whose metadata has these values, best first."""
    query, fields = np.frombuffer(vector, dtype="<f4"), [{name: value} for name, value in equal.items()]
    where = {"$and": fields} if len(fields) > 1 else equal
    found = await chroma.nearest(collection, query, where or None, limit)
    scores = np.vecdot(found.matrix, query).tolist() if found.ids else []
    return sorted(zip(found.ids, scores, strict=True), key=lambda near: (-near[1], near[0]))


def collection(space: str, *, is_global: bool) -> str:
    """The collection of a space's documents. Chroma takes letters, digits, `.`, `_` and `-` in names, so a
    digest keeps spaces apart."""
    slug = re.sub(r"[^a-z0-9]+", "-", space.lower()).strip("-")[:64]
    digest = blake2b(space.encode(), digest_size=4).hexdigest()
    return f"ibid-{'global' if is_global else 'sessions'}-{slug}-{digest}"


def passage_id(key: PassageKey) -> str:
    """A chunk's id, in Chroma and in answers."""
    return f"{key[0]}:{key[1]}"


def key_of(passage_id: str) -> PassageKey:
    """The inverse of `passage_id`."""
    document, _, ordinal = passage_id.rpartition(":")
    return document, int(ordinal)
