"""Turns: few at a time, the least work first."""

import asyncio

import pytest

from app.index.turns import Turns


async def work(turns: Turns, name: str, left: int, done: list[str]) -> None:
    """As many turns as there is work."""
    for n in range(left, 0, -1):
        async with turns.of(n):
            await asyncio.sleep(0)
            done.append(name)


async def test_little_work_waits_for_one_turn_alone() -> None:
    """However much is before it, which goes on by turns then."""
    turns, done = Turns(1), list[str]()
    large = [asyncio.create_task(work(turns, name, 9, done)) for name in ("a", "b")]
    await asyncio.sleep(0)
    await work(turns, "small", 1, done)
    assert done == ["a", "small"]
    await asyncio.gather(*large)
    assert sorted(done[2:]) == ["a"] * 8 + ["b"] * 9


async def test_no_more_at_once_than_there_are() -> None:
    """And all of them are used, again and again."""
    turns, most, now = Turns(2), 0, 0

    async def one() -> None:
        nonlocal most, now
        async with turns.of(1):
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1

    for _ in range(2):
        await asyncio.gather(*(one() for _ in range(7)))
    assert most == 2


@pytest.mark.parametrize("given", [False, True], ids=["while it waits", "as it is given the turn"])
async def test_who_leaves_takes_no_turn(*, given: bool) -> None:
    """The next one has it."""
    turns, done = Turns(1), list[str]()
    held = turns.of(1)
    await held.__aenter__()
    leaving = asyncio.create_task(work(turns, "leaving", 1, done))
    staying = asyncio.create_task(work(turns, "staying", 2, done))
    await asyncio.sleep(0)
    if given:
        await held.__aexit__(None, None, None)
    leaving.cancel()
    if not given:
        await held.__aexit__(None, None, None)
    async with asyncio.timeout(5):
        await staying
    assert done == ["staying"] * 2


async def test_a_fault_passes_the_turn_on() -> None:
    """It is not lost with the one who had it."""
    turns = Turns(1)
    with pytest.raises(ValueError, match="x"):
        async with turns.of(1):
            raise ValueError("x")
    async with asyncio.timeout(5), turns.of(1):
        pass
