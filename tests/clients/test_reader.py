"""What is at hand is what is there, whoever writes meanwhile."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.clients.drawer import Shape
from app.clients.points import Ask, Where
from app.clients.shard import Shard
from tests.fakes.points import DIM, embedding, owned, point

EVERY = Where()
SHAPE = Shape("n", DIM, (), ("tenant", "user_id"))


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Shard]:
    """An empty one with indexes."""
    made = Shard.make(tmp_path / "n", SHAPE)
    yield made
    made.close()


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(Ask(EVERY, 3, dense=embedding(1)), id="by meaning"),
        pytest.param(Ask(EVERY, 3, words=point(1).words, vectors=True), id="by words"),
        pytest.param(Ask(EVERY, 3, dense=embedding(1), vectors=True), id="with words"),
        pytest.param(Ask(EVERY, 3, dense=embedding(1), payload=False), id="names alone"),
    ],
)
def test_what_is_at_hand_is_what_is_there(shard: Shard, ask: Ask) -> None:
    """Asked again, after a change, a removal by name and one by owner: as by a shard that knows nothing."""
    shard.put([point(n) for n in range(6)])
    steps: list[Callable[[], None]] = [
        lambda: None,
        lambda: shard.put([point(1, text="another text")]),
        lambda: shard.remove(Where(ids=(point(1).id,))),
        lambda: shard.put([point(1, "bob", text="bob's")]),
        lambda: shard.remove(owned("bob")),
    ]
    for step in steps:
        before = shard.ranked([ask])
        assert shard.ranked([ask]) == before

        step()

        fresh = Shard(shard.place, shard.shape, shard._vendor)
        assert shard.ranked([ask]) == fresh.ranked([ask])
        assert shard.count(EVERY) == fresh.count(EVERY)


def test_a_count_is_made_once_until_somebody_writes(shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine takes 7 ms for 10,000 points."""
    shard.put([point(n) for n in range(6)])
    assert shard.count(EVERY) == 6
    monkeypatch.setattr("app.clients.reader.phrase.condition", lambda where: pytest.fail("counted again"))
    assert shard.count(EVERY) == 6
    monkeypatch.undo()
    shard.put([point(6)])
    assert shard.count(EVERY) == 7


def test_what_is_removed_while_it_is_read_is_not_found(shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the ranking and the reading; nor is what was read then kept."""
    shard.put([point(n) for n in range(6)])
    ask = Ask(EVERY, 6, dense=embedding(1))
    read = shard._read

    def late(*given: Any) -> Any:
        shard.remove(Where(ids=(point(2).id,)))
        shard.put([point(3, text="changed")])
        return read(*given)

    monkeypatch.setattr(shard, "_read", late)
    found = {each.id: each.payload["text"] for each in shard.search([ask])[0]}
    monkeypatch.undo()

    assert found == {point(n).id: "changed" if n == 3 else f"text {n}" for n in (0, 1, 3, 4, 5)}
    assert shard._hand.used == 0


def test_a_closed_collection_leaves_nothing_at_hand(shard: Shard) -> None:
    """One of its name may be made again."""
    shard.put([point(n) for n in range(6)])
    shard.search([Ask(EVERY, 6, dense=embedding(1))])
    assert shard._hand.used
    shard.close()
    assert not shard._hand.used
    again = Shard.load(shard.place, shard.shape)
    shard._vendor = again._vendor  # the fixture closes it
