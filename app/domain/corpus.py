"""The corpus: reference texts that a tenant keeps, in collections of its own naming, for all of its users.

A text is keyed (tenant, collection, id); its point is a UUIDv5 of them. Tokens are o200k, times UTC.
Source: CONTRACT §2.4 and `POST /corpus/{collection}`, seed 003 (4.2).
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from app.domain.passage import Embedding, Scope


@dataclass(frozen=True, slots=True)
class Reference:
    """A text of the corpus that is kept."""

    point: str
    """Its point: a UUID."""
    id: str
    """As its writer names it."""
    text: str
    tokens: int
    created_at: datetime
    title: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Citations and `memory_used` show it; kind, origin (or source), url and tags also by themselves."""
    revision: int = field(default=0, compare=False)
    """As `memory.Memory.revision`."""


METADATA_BYTES = 8 << 10
"""Of a text's metadata as JSON: it stands in every citation of the text."""
MOST = 100
"""Collections a tenant may have: each costs its engine threads, files, and a part of every search."""
IDS = uuid.UUID("0d5c2c0e-9a53-5d0e-8a43-2c0f7be1a1c4")
"""What the points of the corpus are named under."""


@dataclass(frozen=True, slots=True)
class Given:
    """A text to be kept. Without an id it is known by its words: sent again it is the same text."""

    text: str
    id: str | None = None
    title: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)
    created_at: datetime | None = None
    """None: now."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """A collection in figures."""

    collection: str
    texts: int
    tokens: int
    updated_at: datetime


def placed(tenant: str, collection: str, given: Given) -> tuple[str, str]:
    """(id, point) of a text: UUIDv5 of where it is and what it is called; unnamed, of its words."""
    what = ("", given.text) if given.id is None else (given.id,)
    point = str(uuid.uuid5(IDS, "\x1f".join((tenant, collection, *what))))
    return given.id or point, point


class Corpus(Protocol):
    """The record of the corpus (`stores/corpus.py`). `Unavailable` when Postgres does not answer."""

    async def admit(
        self,
        scope: Scope,
        collection: str,
        texts: Sequence[Given],
        embeddings: Sequence[Embedding],
        tokens: Sequence[int],
        *,
        space: str,
    ) -> list[tuple[Reference, bool]]:
        """Keep them all or none, each id again replaces; (text, whether it is new).
        `TooMany` where the collection would be one more than MOST."""

    async def collections(self, scope: Scope) -> list[Shelf]:
        """The tenant's, by name."""

    async def texts(
        self, scope: Scope, collection: str, *, cursor: str | None, limit: int
    ) -> tuple[list[Reference], str | None]:
        """The tenant's in a collection by id, and the cursor of the next page. `InvalidField`: the cursor."""

    async def remove(self, scope: Scope, collection: str, id: str) -> bool:  # noqa: A002 - its name
        """Gone. False: not there."""

    async def clear(self, scope: Scope, collection: str) -> int:
        """All of the tenant's texts in a collection are gone: how many."""
