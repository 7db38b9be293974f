"""The pool of daemon threads: bounded, never in the way of shutdown."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator

import pytest

from app.clients import threads as room
from app.clients.threads import Threads
from app.errors import Overloaded


@pytest.fixture
def gate() -> threading.Event:
    """What blocking calls wait for."""
    return threading.Event()


@pytest.fixture
async def pool(gate: threading.Event) -> AsyncIterator[Threads]:
    """Two threads, one place in line; opened again at the end."""
    threads = Threads("test", threads=2, waiting=1)
    yield threads
    gate.set()
    await threads.aclose()


async def test_a_call_returns_what_it_returns(pool: Threads) -> None:
    """From a daemon thread."""
    assert await pool.run(lambda: threading.current_thread().daemon)
    assert await pool.run(lambda: 7) == 7


async def test_a_call_raises_what_it_raises(pool: Threads) -> None:
    """The thread lives on."""
    with pytest.raises(ZeroDivisionError):
        await pool.run(lambda: 1 // 0)
    assert await pool.run(lambda: 7) == 7


async def test_calls_run_at_once_up_to_the_threads(pool: Threads) -> None:
    """Two that wait for each other both end."""
    both = threading.Barrier(2, timeout=5)
    await asyncio.gather(pool.run(both.wait), pool.run(both.wait))


async def test_a_full_pool_refuses_at_once(pool: Threads, gate: threading.Event) -> None:
    """Threads and line taken: `Overloaded`, and room again when the calls are done."""
    calls = [asyncio.create_task(pool.run(gate.wait)) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await pool.run(lambda: 7)
    gate.set()
    await asyncio.gather(*calls)
    assert await pool.run(lambda: 7) == 7


async def test_who_leaves_does_not_free_the_thread(pool: Threads, gate: threading.Event) -> None:
    """A hung call keeps its place though nobody waits for it any more."""
    for _ in range(2):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(pool.run(gate.wait), 0.05)
    one = asyncio.create_task(pool.run(lambda: 7))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await pool.run(lambda: 7)
    gate.set()
    assert await one == 7


async def test_a_call_in_line_that_nobody_waits_for_is_not_made(pool: Threads, gate: threading.Event) -> None:
    """Cancelled before its turn: never begun."""
    made: list[int] = []
    calls = [asyncio.create_task(pool.run(gate.wait)) for _ in range(2)]
    waiting = asyncio.create_task(pool.run(lambda: made.append(1)))
    await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    gate.set()
    await asyncio.gather(*calls)
    await pool.run(lambda: None)
    assert made == []


async def test_closing_waits_for_what_is_under_way(pool: Threads) -> None:
    """A call that ends in time ends well."""
    slow = asyncio.create_task(pool.run(lambda: time.sleep(0.1)))
    await asyncio.sleep(0)
    await pool.aclose()
    assert slow.done()


async def test_closing_does_not_wait_for_what_hangs(
    pool: Threads, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most so long; then the thread is left behind, and calls are refused."""
    monkeypatch.setattr(room, "CLOSE_SECONDS", 0.1)
    hung = asyncio.create_task(pool.run(gate.wait))
    await asyncio.sleep(0)
    await pool.aclose()
    with pytest.raises(Overloaded):
        await pool.run(lambda: 7)
    hung.cancel()


async def test_whoever_was_answered_may_ask_again_at_once(pool: Threads) -> None:
    """His place is free by then, however busy the machine is: a full pool's worth, again and again."""
    for _ in range(300):
        await asyncio.gather(*(pool.run(lambda: 7) for _ in range(3)))
