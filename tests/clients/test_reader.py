"""What is at hand is what is there, whoever writes meanwhile."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.clients import phrase
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


def test_beside_a_write_it_is_counted_each_time(shard: Shard) -> None:
    """Nothing is kept meanwhile."""
    shard.put([point(n) for n in range(6)])
    with shard._changing():
        assert [shard.count(where) for where in (owned("ann"), EVERY, owned("bob"))] == [6, 6, 0]


def test_what_words_weigh_is_reckoned_anew_after_a_write(shard: Shard) -> None:
    """A list that was cut has its words probed, once until somebody writes."""
    shard.put([point(n) for n in range(90)])
    ask = Ask(EVERY, 3, words=point(1).words, vectors=True)
    before = shard.ranked([ask])

    shard.put([replace(point(n), words=point(1).words) for n in range(40)])

    fresh = Shard(shard.place, shard.shape, shard._vendor)
    assert shard.ranked([ask]) == fresh.ranked([ask])
    assert [each.score for each in shard.ranked([ask])[0]] != [each.score for each in before[0]]


def test_what_is_changed_while_it_is_read_is_asked_for_again(
    shard: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the ranking and the reading: what is found is one state, and nothing of it is kept."""
    shard.put([point(n) for n in range(6)])
    ask = Ask(owned("ann"), 6, dense=embedding(1))
    read = shard._read

    def late(*given: Any) -> Any:
        shard.remove(Where(ids=(point(2).id,)))
        shard.put([point(3, "bob", text="bob's")])
        return read(*given)

    monkeypatch.setattr(shard, "_read", late)
    found = {each.id for each in shard.search([ask])[0]}

    assert found == {point(n).id for n in (0, 1, 4, 5)}
    assert shard._hand.used == 0


def test_beside_a_write_everything_is_of_one_state(shard: Shard) -> None:
    """Four ask while one writes points anew with other words and another owner: none fails, none is told
    what its filter hides, and what a write that has returned has changed is never seen as it was."""
    states = [
        [replace(point(n, owner, text=owner), words=point(n + turn).words) for n in range(64)]
        for turn, owner in enumerate(("ann", "bob"))
    ]
    shard.put(states[0])
    faults: list[object] = []
    over = threading.Event()

    def ask() -> None:
        asks = [
            Ask(owned("ann"), 5, words=point(7).words, vectors=True),
            Ask(owned("ann"), 90, dense=embedding(1)),
        ]
        try:
            while not over.is_set():
                for row in shard.ranked(asks):
                    faults.extend(each.payload["text"] for each in row if each.payload["user_id"] != "ann")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            faults.append(error)

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    for turn in range(5):
        shard.put(states[turn % 2])
        [row] = shard.search([Ask(EVERY, 90, dense=embedding(1))])
        faults += [each for each in row if each.payload["text"] != ("ann", "bob")[turn % 2]]
    over.set()
    for asker in askers:
        asker.join()
    assert faults == []


def test_a_compacted_collection_leaves_nothing_at_hand(shard: Shard) -> None:
    """Of what was removed, nothing is anywhere."""
    shard.put([point(n) for n in range(6)])
    shard.search([Ask(EVERY, 6, dense=embedding(1))])
    shard.compact()
    assert not shard._hand.used


def test_a_closed_collection_leaves_nothing_at_hand(shard: Shard) -> None:
    """One of its name may be made again."""
    shard.put([point(n) for n in range(6)])
    shard.search([Ask(EVERY, 6, dense=embedding(1))])
    assert shard._hand.used
    shard.close()
    assert not shard._hand.used
    again = Shard.load(shard.place, shard.shape)
    shard._vendor = again._vendor  # the fixture closes it


class Heard:
    """A shard's engine, and which filters it was asked by."""

    def __init__(self, shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
        self.filters = list[Where]()
        plain = phrase.question

        def question(ask: Ask, *, whole: bool) -> Any:
            self.filters.append(ask.where)
            return plain(ask, whole=whole)

        monkeypatch.setattr("app.clients.reader.phrase.question", question)


def test_conditions_that_leave_all_points_are_not_asked(
    shard: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine would look at every point for each of them; what is found is the same."""
    shard.put([point(n) for n in range(90)])
    heard, mine = Heard(shard, monkeypatch), owned("ann")
    asks = [
        Ask(mine, 5, words=point(1).words, vectors=True),
        Ask(mine, 5, dense=embedding(1)),
        Ask(replace(mine, ids=(point(3).id, point(4).id)), 5, dense=embedding(1)),
    ]
    before = shard.ranked(asks)
    assert all(where.has == mine.has for where in heard.filters)

    heard.filters.clear()
    assert shard.count(mine) == 90
    assert shard.ranked(asks) == before
    assert {where.has for where in heard.filters} == {()}
    assert (point(3).id, point(4).id) in [where.ids for where in heard.filters]


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda shard: shard.put([point(90, "bob")]), id="of another owner"),
        pytest.param(lambda shard: shard.put([point(1, "bob")]), id="one that was mine"),
        pytest.param(lambda shard: shard.remove(Where(ids=(point(1).id,))), id="removed"),
    ],
)
def test_after_a_write_they_are_asked_until_they_are_counted(
    shard: Shard, monkeypatch: pytest.MonkeyPatch, write: Callable[[Shard], None]
) -> None:
    """Nobody else's points are found meanwhile or afterwards."""
    shard.put([point(n) for n in range(90)])
    mine = owned("ann")
    asks = [Ask(mine, 100, dense=embedding(1)), Ask(mine, 100, words=point(1).words, vectors=True)]
    shard.count(mine)
    shard.ranked(asks)
    heard = Heard(shard, monkeypatch)

    write(shard)

    for _ in range(2):
        fresh = Shard(shard.place, shard.shape, shard._vendor)
        heard.filters.clear()
        assert shard.ranked(asks) == fresh.ranked(asks)
        assert all(each.payload["user_id"] == "ann" for row in shard.ranked(asks) for each in row)
        shard.count(mine)
    alone = shard.count(EVERY) == shard.count(mine)
    heard.filters.clear()
    shard.ranked(asks)
    assert {where.has for where in heard.filters} == {() if alone else mine.has}


def test_a_write_while_they_are_left_out_has_them_asked_again(
    shard: Shard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the decision and the ranking another owner's point may come."""
    shard.put([point(n) for n in range(6)])
    mine = owned("ann")
    shard.count(mine)
    plain, wrote = shard._eased, list[bool]()

    def eased(ask: Ask) -> Ask:
        found = plain(ask)
        if not wrote:
            wrote.append(True)
            shard.put([point(90, "bob")])
        return found

    monkeypatch.setattr(shard, "_eased", eased)
    [row] = shard.ranked([Ask(mine, 100, dense=embedding(1))])
    assert wrote
    assert len(row) == 6
    assert {each.payload["user_id"] for each in row} == {"ann"}
