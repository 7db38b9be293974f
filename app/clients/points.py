"""Points: what Qdrant keeps, as Ibid speaks of it, whichever engine is behind (embedded, or a server).

A point has a payload, a dense vector (unit length, cosine) and a sparse one (BM25 weights; the IDF is the
engine's, counted over the asker's filter). Scores of the dense leg are cosines, of the sparse leg BM25.
Everything raises `RetrievalError("unavailable" | "timeout" | "overloaded")` and nothing else of the vendor's.
With `rejected=True` nothing is down: there is no such collection, or it is not of the shape asked for.
Payload values that are filtered by are keyword strings (FACTS: a bool matches nothing in the engine).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.domain.passage import Embedding

Payload = Mapping[str, Any]
TEXTS = ("text", "content", "chunk")
"""Where a point's text lies, ours and that of older tools."""


@dataclass(frozen=True, slots=True)
class Sparse:
    """Terms (32 bits of their hash, ascending, each once) and their weights; a question's are tuples."""

    indices: Sequence[int] = ()
    values: Sequence[float] = ()


def ascending(indices: Sequence[int], values: Sequence[float]) -> Sparse:
    """As they were read: another tool's may stand in any order."""
    terms = tuple(indices)
    if terms == tuple(sorted(terms)):
        return Sparse(terms, tuple(values))
    pairs = sorted(zip(indices, values, strict=True))
    return Sparse(tuple(term for term, _ in pairs), tuple(weight for _, weight in pairs))


@dataclass(frozen=True, slots=True)
class Point:
    """One, as it is written and as it is read back."""

    id: str
    """A UUID, or a number's digits: engines know both; ours are UUIDs."""
    payload: Payload = field(default_factory=dict)
    dense: Embedding | None = None
    words: Sparse | None = None
    score: float = 0.0
    """Of the ask that found it; 0 where nothing was ranked."""


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
    between: tuple[tuple[str, str, str], ...] = ()
    """Fields with two times (RFC 3339): one of them holds a time from its first to before its second."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One ranked question to a collection: by `dense` or by `words`, not both."""

    where: Where
    limit: int
    dense: Embedding | None = None
    words: Sparse | None = None
    """Query weights by term; the IDF of each, over the points of `where`, is the engine's part."""
    among: "Ask | None" = None
    """Rank only what this one finds: so that one leg's passages get the other leg's exact score."""
    payload: bool = True
    vectors: bool = False
    """Give the points' sparse vectors back (never the dense ones); of an ask by words, what they hold of
    those."""
    passages: int | None = None
    """How many `where` leaves, if that is known: few are compared one by one in the largest collection."""


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection's shape."""

    name: str
    dim: int
    dense: str = ""
    """The dense vector's name; "" is the unnamed one, as older tools wrote."""
    words: str | None = None
    """The sparse vector's name; None: it has none, meaning alone can search it."""
    points: int = 0
    cosine: bool = True
    """Whether the dense vector's score is a cosine; those of other distances cannot be compared."""


class Points(Protocol):
    """An engine (`clients/edge.py` embedded, `clients/qdrant.py` a server): one contract test for both.

    Writes are searchable when they return, and durable as the engine makes them; Postgres is the record.
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
        """A collection with a dense vector `meaning` (cosine) and a sparse one `words` (IDF by the engine);
        `keys` are indexed keyword fields, `tenants` those that tell users apart, `times` datetimes. There
        already: it stays as it is, but for fields that are not indexed yet."""

    async def drop(self, name: str) -> None:
        """Gone with its files; nothing there is no error."""

    async def put(self, name: str, points: Sequence[Point]) -> None:
        """Write, each id again replaces."""

    async def remove(self, name: str, where: Where) -> None:
        """Gone from the next search on; no such collection is no error."""

    async def search(self, name: str, asks: Sequence[Ask]) -> list[list[Point]]:
        """One list an ask, best first (equal scores by id), in one round trip."""

    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        """Points by id, those after `after`; `vectors` gives dense and sparse ones."""

    async def count(self, name: str, where: Where) -> int:
        """How many, exactly."""

    async def compact(self, name: str) -> None:
        """Rewrite the files so that what was removed is in none of them (a server: as far as it lets us)."""

    async def check(self) -> Mapping[str, str | int | float]:
        """Facts about the engine; raises if it does not answer."""
