"""The asks of one question put to an engine at hand in two rounds: what ranks by itself, then all that needs
to know of it. A server is asked in one, for there a round trip costs more than a search.

What ranks among another ask's points is asked for those points by name, or, by words, weighed here: else the
engine makes that other search once more. Words that cannot be counted are probed in the same round, unless
that was done since the last write. Nothing here raises by itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from app.clients import weights
from app.clients.points import Ask, Point, Sparse
from app.clients.tally import Tally
from app.clients.ties import Question, key

Rows: TypeAlias = list[list[Point]]
"""One list an ask."""
Found: TypeAlias = Mapping[Question, tuple[Ask, Sequence[Point]]]
"""The first round, by `ties.key`."""
Rarities: TypeAlias = Tally[weights.Word, float]
"""The IDF of a word in a scope."""


def weighed(
    asks: Sequence[Ask],
    search: Callable[[Sequence[Ask]], Rows],
    rarities: Rarities,
    current: Callable[[], bool],
) -> Rows:
    """The asks' lists, in the engine's order, with scores that are the asker's alone (`weights.py`). Whatever
    an ask ranks among must be asked too (`ties.widened`). `current`: nobody wrote since this began."""
    alone = list(seeing(asks))
    first = search(alone)
    known = weights.counted(alone, first)
    told = {key(ask): (ask, row) for ask, row in zip(alone, first, strict=True)}
    probes = weights.probes(asks, known)
    rare = remembered(probes, rarities)
    lacking = [ask for ask in probes if weights.word(ask) not in rare]
    rest = [named(ask, told) for ask in asks if ask.among and not at_hand(ask, told)]
    second = search([*lacking, *rest]) if lacking or rest else []
    rare |= kept(weights.probed(lacking, second[: len(lacking)]), rarities, current)
    rows, others = iter(first), iter(second[len(lacking) :])
    every = [row(ask, rows, others, told) for ask in asks]
    return weights.weighed(asks, every, known, rare)


def remembered(probes: Sequence[Ask], rarities: Rarities) -> dict[weights.Word, float]:
    """The IDFs of words that were probed since the last write."""
    known = ((word, rarities.known(word)) for word in map(weights.word, probes))
    return {word: idf for word, idf in known if idf is not None}


def kept(
    found: Mapping[weights.Word, float], rarities: Rarities, current: Callable[[], bool]
) -> Mapping[weights.Word, float]:
    """The same, remembered until the next write."""
    for word, idf in found.items():
        if word[0].ids is None:  # names are of one question, and may be many
            rarities.keep(word, idf, current)
    return found


def row(ask: Ask, rows: Iterator[list[Point]], others: Iterator[list[Point]], found: Found) -> list[Point]:
    """An ask's list: of the first round, of the second, or of what the first one gave for another."""
    if ask.among:
        return held(ask, found) if at_hand(ask, found) else next(others)
    own = next(rows)
    if ask.words:
        return own  # made anew in `weights.py`
    return [
        Point(point.id, point.payload, None, plain(point) if ask.vectors else None, point.score)
        for point in own
    ]


def plain(point: Point) -> Sparse | None:
    """Its words as an asker reads them."""
    return Sparse(tuple(point.words.indices), tuple(point.words.values)) if point.words else None


def seeing(asks: Sequence[Ask]) -> Iterator[Ask]:
    """Those that rank by themselves, with word vectors where somebody needs them."""
    among = {key(ask.among) for ask in asks if ask.among and ask.words}
    plain = [ask for ask in asks if ask.among is None]
    for ask, own in zip(plain, weights.seeing(plain), strict=True):
        yield replace(ask, vectors=True) if key(ask) in among else own


def named(ask: Ask, found: Found) -> Ask:
    """One that ranks among others, for these by name."""
    if ask.among is None:
        return ask
    _, row = found[key(ask.among)]
    own = None if ask.where.ids is None else frozenset(ask.where.ids)  # all that an erasure has left, maybe
    ids = tuple(point.id for point in row if own is None or point.id in own)
    [made] = weights.seeing([replace(ask, among=None, where=replace(ask.where, ids=ids))])
    return made


def at_hand(ask: Ask, found: Found) -> bool:
    """Whether all that a leg by words wants to know of the others' points was given with them."""
    if ask.among is None or not ask.words:
        return False
    other, _ = found[key(ask.among)]
    narrower = ask.where in (other.where, replace(other.where, between=()))
    return narrower and (other.payload or not ask.payload)


def held(ask: Ask, found: Found) -> list[Point]:
    """The others' points, as an ask by words is answered."""
    if ask.among is None or not ask.words:
        return []
    wanted = set(ask.words.indices)
    _, row = found[key(ask.among)]
    return [
        Point(point.id, point.payload if ask.payload else {}, None, point.words)
        for point in row
        if point.words and not wanted.isdisjoint(point.words.indices)
    ]
