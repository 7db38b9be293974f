"""Votes on memories."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from app.answer import new_id
from app.db.memories import Tallies, Tally
from app.db.pool import Pool
from app.db.votes import VoteStore
from app.errors import Missing, RetrievalError, Unavailable
from app.types import Scope
from tests.fakes.kept import remembered

ADA = Scope("acme", user_id="ada")
ANSWER, OTHER = new_id(), new_id()


async def test_votes_are_counted_each_side(pool: Pool) -> None:
    """Of each answer one; memories without any are left out."""
    await remembered(pool, ADA, "m1", "m2", "m3")
    store = VoteStore(pool)
    for signal in (1, 1, -1):
        assert await store.cast(ADA, "m1", signal, answer_id=new_id())
    await store.cast(ADA, "m2", -1, answer_id=None)
    found = await store.tallies(ADA, ["m1", "m2", "m3", "m4"])
    assert found == {"m1": Tally(2, 1), "m2": Tally(0, 1)}
    assert [found["m1"].net, found.lost] == [1, ""]


async def test_one_answer_has_one_vote_a_memory(pool: Pool) -> None:
    """A repeat changes nothing, a change of mind replaces it; another answer's counts beside it."""
    await remembered(pool, ADA, "m1")
    store = VoteStore(pool)
    changed = [await store.cast(ADA, "m1", signal, answer_id=ANSWER) for signal in (1, 1, -1, -1)]
    assert changed == [True, False, True, False]
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(0, 1)}
    await store.cast(ADA, "m1", 1, answer_id=OTHER)
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(1, 1)}


async def test_a_vote_can_be_taken_back(pool: Pool) -> None:
    """That of the answer alone; what is not there cannot, and what comes after counts as ever."""
    await remembered(pool, ADA, "m1")
    store = VoteStore(pool)
    await store.cast(ADA, "m1", 1, answer_id=OTHER)
    changed = [await store.cast(ADA, "m1", signal, answer_id=ANSWER) for signal in (0, -1, 0, 0, 1)]
    assert changed == [False, True, True, False, True]
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(2, 0)}
    assert await store.cast(ADA, "m1", 0, answer_id=None) is False


async def test_without_an_answer_there_is_one_vote_a_day(pool: Pool) -> None:
    """A repeat changes nothing, a change of mind replaces it; 0 takes back those of earlier days too."""
    await remembered(pool, ADA, "m1")
    store = VoteStore(pool)
    assert [await store.cast(ADA, "m1", signal, answer_id=None) for signal in (1, 1, -1)] == [
        True,
        False,
        True,
    ]
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(0, 1)}
    await pool.execute("UPDATE ibid.memory_vote SET answer_id = 'day 2026-01-01'")
    await store.cast(ADA, "m1", 1, answer_id=None)
    await store.cast(ADA, "m1", 1, answer_id=ANSWER)
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(2, 1)}

    assert [await store.cast(ADA, "m1", 0, answer_id=None) for _ in range(2)] == [True, False]

    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(1, 0)}


async def test_whoever_is_told_of_votes_can_add_up_the_changes(pool: Pool) -> None:
    """Whatever is cast at once: the changes come to the votes that stand."""
    await remembered(pool, ADA, "m1", "m2")
    store, sums = VoteStore(pool), {"m1": 0, "m2": 0}

    async def add(changed: Mapping[str, int]) -> None:
        for key, change in changed.items():
            sums[key] += change

    votes = [(answer, (-1, 0, 1)[n % 3]) for n in range(9) for answer in (ANSWER, None)]
    await asyncio.gather(
        *(store.cast(ADA, "m1", signal, answer_id=answer, told=add) for answer, signal in votes),
        *(store.judge(ADA, ["m2", "m1"], signal or 1, answer_id=OTHER, told=add) for _, signal in votes[:6]),
    )

    found = await store.tallies(ADA, ["m1", "m2"])
    assert {key: found.get(key, Tally()).net for key in sums} == sums


async def test_all_of_an_answer_at_once(pool: Pool) -> None:
    """Those it changed are told, in their order; what is not the user's is passed over."""
    await remembered(pool, ADA, "m1", "m2")
    await remembered(pool, replace(ADA, user_id="bob"), "b1")
    store = VoteStore(pool)
    await store.cast(ADA, "m1", 1, answer_id=ANSWER)
    assert await store.judge(ADA, ["m2", "b1", "m1", "gone"], 1, answer_id=ANSWER) == ["m2"]
    assert await store.judge(ADA, ["m2", "m1"], -1, answer_id=ANSWER) == ["m2", "m1"]
    assert await store.judge(ADA, ["gone"], 1, answer_id=ANSWER) == []
    assert await store.tallies(ADA, ["m1", "m2", "b1"]) == {"m1": Tally(0, 1), "m2": Tally(0, 1)}


@pytest.mark.parametrize(
    "stranger",
    [replace(ADA, user_id="bob"), replace(ADA, tenant="other"), replace(ADA, user_id=None)],
    ids=["user", "tenant", "nobody"],
)
async def test_another_s_memory_is_not_there(pool: Pool, stranger: Scope) -> None:
    """Nor does a stranger see, or move, its votes."""
    await remembered(pool, ADA, "m1")
    store = VoteStore(pool)
    await store.cast(ADA, "m1", 1, answer_id=ANSWER)
    with pytest.raises(Missing):
        await store.cast(stranger, "m1", -1, answer_id=ANSWER)
    assert await store.judge(stranger, ["m1"], -1, answer_id=ANSWER) == []
    assert await store.tallies(stranger, ["m1"]) == {}
    assert await store.tallies(ADA, ["m1"]) == {"m1": Tally(1, 0)}


async def test_points_of_older_tools_take_votes(pool: Pool) -> None:
    """Where the index says that they are the user's."""
    asked: list[str] = []

    async def foreign(scope: Scope, key: str) -> bool:
        asked.append(key)
        return (scope, key) == (ADA, "17")

    await remembered(pool, ADA, "m1")
    store = VoteStore(pool, foreign)
    assert await store.judge(ADA, ["17", "m1", "18"], 1, answer_id=ANSWER) == ["17", "m1"]
    assert asked == ["17", "18"]
    with pytest.raises(Missing):
        await store.cast(ADA, "18", 1, answer_id=None)
    assert await store.tallies(ADA, ["17", "m1"]) == {"17": Tally(1, 0), "m1": Tally(1, 0)}


async def test_an_index_that_is_away_is_told(pool: Pool) -> None:
    """A vote is not taken for a memory that nobody can vouch for."""

    async def away(_scope: Scope, _key: str) -> bool:
        raise RetrievalError("timeout")

    with pytest.raises(Unavailable):
        await VoteStore(pool, away).cast(ADA, "17", 1, answer_id=None)


async def test_who_is_told_can_take_it_back(pool: Pool) -> None:
    """Only what changes is told, before it is committed; what is raised then leaves all as it was."""
    await remembered(pool, ADA, "m1", "m2")
    store = VoteStore(pool)
    heard: list[Mapping[str, int]] = []

    async def hear(changed: Mapping[str, int]) -> None:
        heard.append(changed)

    async def refuse(_changed: Mapping[str, int]) -> None:
        raise Unavailable

    await store.cast(ADA, "m1", 1, answer_id=ANSWER, told=hear)
    await store.judge(ADA, ["m1", "m2"], 1, answer_id=ANSWER, told=hear)
    await store.judge(ADA, ["m1", "m2"], 1, answer_id=ANSWER, told=hear)
    await store.cast(ADA, "m2", -1, answer_id=ANSWER, told=hear)
    await store.cast(ADA, "m2", 1, answer_id=ANSWER, told=hear)
    assert heard == [{"m1": 1}, {"m2": 1}, {"m2": -2}, {"m2": 2}]
    with pytest.raises(Unavailable):
        await store.judge(ADA, ["m1", "m2"], -1, answer_id=ANSWER, told=refuse)
    assert await store.tallies(ADA, ["m1", "m2"]) == {"m1": Tally(1, 0), "m2": Tally(1, 0)}


async def test_the_same_at_once_is_one_vote(pool: Pool) -> None:
    """From as many replicas as like; of opposite ones that come at once, all memories have the same."""
    ids = [f"m{n}" for n in range(5)]
    await remembered(pool, ADA, *ids)
    store = VoteStore(pool)
    same = await asyncio.gather(*(store.judge(ADA, ids, 1, answer_id=ANSWER) for _ in range(6)))
    assert sorted(map(len, same)) == [0, 0, 0, 0, 0, 5]
    both = [store.judge(ADA, ids[:: 1 - 2 * (n % 2)], (-1) ** n, answer_id=ANSWER) for n in range(8)]
    await asyncio.gather(*both)
    found = await store.tallies(ADA, ids)
    assert len({found[key] for key in ids}) == 1
    assert all(votes.positive + votes.negative == 1 for votes in found.values())


async def test_a_removal_waits_for_a_vote(pool: Pool) -> None:
    """Else a vote would stand on a memory that is gone."""
    await remembered(pool, ADA, "m1")
    begun, go = asyncio.Event(), asyncio.Event()

    async def linger(_changed: Mapping[str, int]) -> None:
        begun.set()
        await go.wait()

    voting = asyncio.create_task(VoteStore(pool).cast(ADA, "m1", 1, answer_id=None, told=linger))
    await begun.wait()
    removing = asyncio.create_task(pool.execute("DELETE FROM ibid.memory"))
    await asyncio.wait({removing}, timeout=0.1)
    assert not removing.done()
    go.set()
    assert await voting
    await removing


async def test_postgres_away_is_told(pool: Pool) -> None:
    """Of reading as what an answer can do without, of voting as what cannot be."""
    store = VoteStore(pool)
    assert await store.tallies(ADA, []) == Tallies()
    await pool.close()
    with pytest.raises(RetrievalError):
        await store.tallies(ADA, ["m1"])
    with pytest.raises(Unavailable):
        await store.judge(ADA, ["m1"], 1, answer_id=ANSWER)
