"""What several searches for one question found, as one list: the question's own and those of its rewordings.

A passage is as relevant as it is to that of the texts it fits best, and a match if it is one for any of them.
But the first KEPT matches of the question's own search stay the first: a model that rewrites it wrongly may
add to them, not take from them. Source: docs/decisions/0050.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from app.domain.found import Found
from app.domain.fusion import scored
from app.domain.passage import Candidate
from app.domain.relevance import is_match, vouched
from app.domain.twin import noted, single

KEPT = 3
"""As many as a person is told of their memories."""

Key = tuple[str, str]


def merged(own: Found, others: Sequence[Found], threshold: float) -> Found:
    """One list, most relevant first. `threshold`: that of matches. Which twin stays, each search told of its
    own order: the notes tell it of this list alone."""
    if not others:
        return own
    every = (own, *others)
    candidates, duplicates, twins = single(falling(ordered(own, every, threshold)))
    labels = {item.passage.label for item in (*candidates, *duplicates)}
    rest = (note for found in every for note in found.notes if not noted(note, labels))
    return replace(
        own,
        candidates=tuple(candidates),
        duplicates=tuple(duplicates),
        degraded=tuple(dict.fromkeys(chain.from_iterable(found.degraded for found in every))),
        stored=max(found.stored for found in every),
        answered=max(found.answered for found in every),
        sources={name: how for found in every for name, how in found.sources.items()},
        notes=tuple(dict.fromkeys([*rest, *twins])),
    )


def ordered(own: Found, every: Sequence[Found], threshold: float) -> list[Candidate]:
    """Every passage once: the first matches of the question's own search, then the most relevant."""
    best = strongest(item for found in every for item in (*found.candidates, *found.duplicates))
    kept = [key(item) for item in own.candidates if is_match(item, threshold)][:KEPT]
    rest = sorted((at for at in best if at not in kept), key=lambda at: -best[at].passage.score)
    return [best[at] for at in (*kept, *rest)]


def strongest(items: Iterable[Candidate]) -> dict[Key, Candidate]:
    """Each passage once."""
    best: dict[Key, Candidate] = {}
    for item in items:
        there = best.get(key(item))
        best[key(item)] = both(there, item) if there else item
    return best


def both(one: Candidate, other: Candidate) -> Candidate:
    """A passage as two searches saw it: the better of each figure, and the words that vouch for it."""
    more, less = (one, other) if one.passage.score >= other.passage.score else (other, one)
    words = next((item.words for item in (one, other) if item.words and vouched(item.words)), more.words)
    near, nearer = more.passage.similarity, less.passage.similarity
    if nearer is None or (near is not None and near >= nearer):
        return more if words is more.words else Candidate(more.passage, words)
    return Candidate(replace(more.passage, similarity=nearer), words)


def falling(items: Sequence[Candidate]) -> list[Candidate]:
    """The same in their order, none more relevant than the one before it."""
    told: list[Candidate] = []
    least = 1.0
    for item in items:
        least = min(least, item.passage.score)
        told.append(Candidate(scored(item.passage, least), item.words))
    return told


def key(item: Candidate) -> Key:
    """Which passage it is: ids are a source's own."""
    return item.passage.source, item.passage.id
