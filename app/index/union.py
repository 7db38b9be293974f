"""Several collections searched for one question, as one pair of legs.

Word statistics are each collection's own, so their scores are made comparable as those of sources are
(`domain/fusion.py`): a share of the best, by how much of the question the best one covers. Raises nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from app.domain.errors import RetrievalError
from app.domain.fusion import scale, strength
from app.domain.passage import Hit, Legs, Passage
from app.index import referred
from app.index.seen import Seen, assembled, ranked


@dataclass(frozen=True, slots=True)
class Searched:
    """What one collection came to."""

    name: str
    seen: Seen = field(default_factory=Seen)
    stored: int = 0
    notes: tuple[str, ...] = ()
    fault: RetrievalError | None = None


Home: TypeAlias = tuple[Searched, str]
"""Where a passage is from: its collection, and its id there."""


def merged(name: str, found: Sequence[Searched], limit: int) -> Legs:
    """One pair of legs over several collections; word scores become shares of the best, as `fusion` makes
    those of sources comparable."""
    words = {one.name: ranked(one.seen.hits.values(), len(one.seen.hits)) for one in found}
    factors = scales(words)
    home = {
        referred.key(one.name, point): (one, point)
        for one in found
        for point in eligible(one, words[one.name], limit)
    }
    hits = {
        key: Hit(key, hit.score * factors[one.name], hit.coverage, hit.rare, hit.lent, hit.content)
        for key, (one, point) in home.items()
        if (hit := one.seen.hits.get(point))
    }
    whole = Seen(hits=hits, similarities=similarities(home), nearest=nearest(found))

    def make(short: Mapping[str, str]) -> dict[str, Passage]:
        return {key: passage(*home[key], mark) for key, mark in short.items()}

    return assembled(name, whole, {key: hit.score for key, hit in hits.items()}, make, limit=limit)


def eligible(one: Searched, words: Sequence[Hit], limit: int) -> Iterable[str]:
    """What may come into a leg: a collection's order stays as it is, whatever multiplies its scores."""
    return dict.fromkeys((*(hit.key for hit in words[:limit]), *one.seen.nearest))


def scales(words: Mapping[str, tuple[Hit, ...]]) -> dict[str, float]:
    """What each collection's word scores are multiplied by."""
    each = [Legs(name, hits) for name, hits in words.items()]
    ceiling = max((strength(legs) for legs in each), default=0.0)
    return {legs.source: scale(legs, ceiling) for legs in each}


def similarities(home: Mapping[str, Home]) -> dict[str, float]:
    """Of all that meaning has compared."""
    known = {key: one.seen.similarities.get(point) for key, (one, point) in home.items()}
    return {key: similar for key, similar in known.items() if similar is not None}


def nearest(found: Sequence[Searched]) -> tuple[str, ...]:
    """The meaning legs, one after the other."""
    return tuple(referred.key(one.name, point) for one in found for point in one.seen.nearest)


def passage(one: Searched, point: str, short: str) -> Passage:
    """A collection's point as a passage."""
    return referred.passage(one.name, one.seen.points[point], short, one.seen.similarities.get(point))
