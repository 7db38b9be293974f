"""Several collections searched for one question, as one pair of legs.

Word statistics are each collection's own, so their scores are made comparable as those of sources are
(`domain/fusion.py`): a share of the best, by how much of the question the best one covers. Raises nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from app.domain.errors import RetrievalError
from app.domain.fusion import scale, strength
from app.domain.passage import Hit, Legs, Passage
from app.index import referred
from app.index.legs import Seen, assembled


@dataclass(frozen=True, slots=True)
class Searched:
    """What one collection came to."""

    name: str
    seen: Seen = field(default_factory=Seen)
    stored: int = 0
    notes: tuple[str, ...] = ()
    fault: RetrievalError | None = None


def merged(name: str, found: Sequence[Searched], limit: int) -> Legs:
    """One pair of legs over several collections; word scores become shares of the best, as `fusion` makes
    those of sources comparable."""
    each = {
        one.name: Legs(one.name, tuple(sorted(one.seen.hits.values(), key=lambda hit: -hit.score)))
        for one in found
    }
    ceiling = max((strength(legs) for legs in each.values()), default=0.0)
    home = {referred.key(one.name, point): (one, point) for one in found for point in one.seen.points}
    hits: dict[str, Hit] = {}
    for key, (one, point) in home.items():
        if hit := one.seen.hits.get(point):
            hits[key] = replace(hit, key=key, score=hit.score * scale(each[one.name], ceiling))
    whole = Seen(
        hits=hits,
        similarities={
            key: one.seen.similarities[point]
            for key, (one, point) in home.items()
            if point in one.seen.similarities
        },
        nearest=tuple(referred.key(one.name, point) for one in found for point in one.seen.nearest),
    )

    def make(short: Mapping[str, str]) -> dict[str, Passage]:
        return {
            key: referred.passage(one.name, one.seen.points[point], mark, one.seen.similarities.get(point))
            for key, mark in short.items()
            for one, point in [home[key]]
        }

    return assembled(name, whole, {key: hit.score for key, hit in hits.items()}, make, limit=limit)
