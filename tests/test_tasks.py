"""Long-lived tasks: owned, restarted, ended; and work on many items, side by side."""

import asyncio

import pytest

from app import tasks as crews
from app.tasks import crew, side_by_side


async def test_tasks_run_and_end_with_the_block() -> None:
    """Inside the block they run; after it none is left."""
    ticks: list[int] = []

    async def tick() -> None:
        while True:
            ticks.append(1)
            await asyncio.sleep(0.001)

    before = asyncio.all_tasks()
    async with crew({"tick": tick}):
        await asyncio.sleep(0.02)
    assert ticks
    assert asyncio.all_tasks() == before


async def test_a_task_that_dies_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in a worker does not leave the service without one."""
    monkeypatch.setattr(crews, "PAUSE", 0.001)
    lives: list[int] = []

    async def dies() -> None:
        lives.append(1)
        raise ZeroDivisionError

    async with crew({"dies": dies}):
        await asyncio.sleep(0.05)
    assert len(lives) > 1


async def test_a_task_that_will_not_end_is_left_after_the_deadline() -> None:
    """Stopping waits `stop_seconds`, not for ever."""
    done = asyncio.Event()

    async def stubborn() -> None:
        while not done.is_set():
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                if done.is_set():
                    raise

    async with asyncio.timeout(5):
        async with crew({"stubborn": stubborn}, stop_seconds=0.05):
            await asyncio.sleep(0.01)
    done.set()
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.sleep(0.01)


async def test_work_is_done_side_by_side() -> None:
    """Each item once, with a limit of how many at once."""
    most = now = 0

    async def work(item: int) -> int:
        nonlocal most, now
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        return item

    assert sorted([item async for item in side_by_side(work, range(10), 3)]) == list(range(10))
    assert most == 3


async def test_the_first_error_cancels_the_others() -> None:
    cancelled = asyncio.Event()

    async def work(item: int) -> None:
        if item:
            raise ValueError("no")
        try:
            await asyncio.sleep(60)
        finally:
            cancelled.set()

    with pytest.raises(ValueError, match="no"):
        async for _ in side_by_side(work, range(2), 2):
            pass

    assert cancelled.is_set()
