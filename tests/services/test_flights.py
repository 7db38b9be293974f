"""Single flight: one piece of work for all who ask, owned by none of them."""

import asyncio
from dataclasses import dataclass, field

import pytest

from app.retrieval.cache import Flights


@dataclass
class Work:
    """Counts how often it is begun and how it ends; waits to be let go."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    begun: int = 0
    cancelled: int = 0
    error: Exception | None = None

    async def __call__(self) -> int:
        """Its own number."""
        self.begun += 1
        number = self.begun
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        return number


async def joined(
    flights: Flights[int], work: Work, count: int, *, seconds: float = 5
) -> list[asyncio.Task[int | None]]:
    """So many who wait."""
    waiters = [asyncio.create_task(flights.join("k", work, seconds=seconds)) for _ in range(count)]
    await asyncio.sleep(0.01)
    return waiters


async def test_what_many_ask_for_is_done_once() -> None:
    """All get the one result, and the next who asks begins anew."""
    flights, work = Flights[int](), Work()
    waiters = await joined(flights, work, 5)

    work.go.set()

    assert await asyncio.gather(*waiters) == [1] * 5
    assert await flights.join("k", work, seconds=5) == 2


async def test_other_keys_are_other_work() -> None:
    """Nobody gets what somebody else asked for."""
    flights, work = Flights[int](), Work()
    work.go.set()
    assert await asyncio.gather(*(flights.join(key, work, seconds=5) for key in "ab")) == [1, 2]


@pytest.mark.parametrize("leaving", [0, 1, 2], ids=["the leader", "a follower", "the last"])
async def test_who_leaves_takes_nobody_along(leaving: int) -> None:
    """The others get their result from the work that is under way."""
    flights, work = Flights[int](), Work()
    waiters = await joined(flights, work, 3)

    waiters[leaving].cancel()
    await asyncio.sleep(0.01)
    work.go.set()

    ends = await asyncio.gather(*waiters, return_exceptions=True)
    assert isinstance(ends.pop(leaving), asyncio.CancelledError)
    assert (ends, work.begun, work.cancelled) == ([1, 1], 1, 0)


async def test_work_that_nobody_waits_for_is_ended() -> None:
    """And who comes then does not get its end for a result."""
    flights, work = Flights[int](), Work()
    for waiter in await joined(flights, work, 2):
        waiter.cancel()
    await asyncio.sleep(0)  # cancelled, but not yet ended

    late = asyncio.create_task(flights.join("k", work, seconds=5))
    await asyncio.sleep(0.01)
    work.go.set()

    assert await late == 2
    assert work.cancelled == 1


async def test_everybody_has_a_deadline_of_their_own() -> None:
    """One gives up, the work goes on for the other."""
    flights, work = Flights[int](), Work()
    [hasty] = await joined(flights, work, 1, seconds=0.05)
    [patient] = await joined(flights, work, 1)

    assert await hasty is None
    work.go.set()

    assert await patient == 1


async def test_an_error_reaches_everybody() -> None:
    """And is not kept for the next."""
    flights, work = Flights[int](), Work(error=ZeroDivisionError())
    waiters = await joined(flights, work, 3)

    work.go.set()
    ends = await asyncio.gather(*waiters, return_exceptions=True)

    assert [type(end) for end in ends] == [ZeroDivisionError] * 3
    assert len(flights) == 0


async def test_closing_ends_what_is_under_way() -> None:
    """Who still waits gets nothing, and no task is left."""
    before = asyncio.all_tasks()
    flights, work = Flights[int](), Work()
    [waiter] = await joined(flights, work, 1)

    await flights.aclose()

    assert await waiter is None
    assert work.cancelled == 1
    assert asyncio.all_tasks() == before
