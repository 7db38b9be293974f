"""Two rounds instead of one: the lists that an engine gives in one, and no search made twice."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from app.clients import rounds, ties, weights
from app.clients.drawer import Shape
from app.clients.points import Ask, Point, Sparse
from app.clients.shard import Shard
from app.clients.tally import Tally
from tests.fakes.points import DIM, embedding, ids, owned, point

ANN = owned("ann")
WORDS = Ask(ANN, 3, words=Sparse((1, 2, 3, 4), (1.0, 0.5, 1.0, 2.0)), vectors=True)
MEANING = Ask(ANN, 4, dense=embedding(99))
LEGS = [WORDS, MEANING, replace(MEANING, limit=3, among=WORDS), replace(WORDS, limit=4, among=MEANING)]


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Shard]:
    """Sixty points, every fourth another user's."""
    made = Shard.make(tmp_path / "n", Shape("n", DIM, (), ("tenant", "user_id")))
    made.put([point(number, "bob" if number % 4 == 0 else "ann") for number in range(60)])
    yield made
    made.close()


def at_once(shard: Shard, asks: Sequence[Ask]) -> list[list[Point]]:
    """As a server is asked: it ranks among the others itself."""
    rows = shard.search(weights.seeing(asks))
    known = weights.counted(asks, rows)
    probes = weights.probes(asks, known)
    return weights.weighed(asks, rows, known, weights.probed(probes, shard.search(probes)))


@pytest.mark.parametrize(
    "asks",
    [
        pytest.param(LEGS, id="both legs"),
        pytest.param(LEGS[:2], id="nothing among others"),
        pytest.param([WORDS, replace(MEANING, among=WORDS)], id="one leg among the other"),
        pytest.param([replace(ask, where=owned("nobody")) for ask in LEGS[:2]], id="nothing there"),
        pytest.param(
            [replace(WORDS, words=Sparse((999,), (1.0,))), replace(MEANING, among=WORDS), WORDS],
            id="words that nobody has",
        ),
    ],
)
def test_two_rounds_find_what_one_finds(shard: Shard, asks: list[Ask]) -> None:
    """The same points with the same scores."""
    wide = ties.widened(asks, ties.spares(asks))

    found = ties.settled(asks, rounds.weighed(wide, shard.search, Tally(), lambda: True))

    assert found == ties.settled(asks, at_once(shard, wide))


@pytest.mark.parametrize("leg", [MEANING, WORDS], ids=["meaning", "words"])
def test_what_ranks_among_others_keeps_its_own_scope(shard: Shard, leg: Ask) -> None:
    """Of the others' points those that its own filter lets pass: another's names, another's owner."""
    other = replace(WORDS if leg is MEANING else MEANING, limit=40)
    [row] = shard.search([other])
    names = tuple(point.id for point in row[::2])
    for where in (replace(ANN, ids=names), owned("bob")):
        asks = [other, replace(leg, limit=40, where=where, among=other)]
        wide = ties.widened(asks, ties.spares(asks))
        found = ties.settled(asks, rounds.weighed(wide, shard.search, Tally(), lambda: True))
        assert {point.id for point in found[1]} <= (set(names) if where.ids else set())


def test_nothing_is_searched_for_twice(shard: Shard) -> None:
    """What ranks among others names them, within its own filter."""
    asked: list[Ask] = []

    def search(asks: Sequence[Ask]) -> list[list[Point]]:
        asked.extend(asks)
        return shard.search(asks)

    rows = rounds.weighed(LEGS, search, Tally(), lambda: True)

    assert not any(ask.among for ask in asked)
    assert [ask.where.ids for ask in asked if ask.where.ids] == [tuple(ids(rows[0]))]
    assert all(ask.where.has == ANN.has for ask in asked)
