"""Lanes: threads that embed for callers on the loop, and who waits for whom."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from app.errors import RetrievalError
from app.models.encoder import PACES, Kind, Lane, Lanes, Pace, join
from app.types import Embedding


class Gate:
    """An encoder that waits to be let through, and remembers what it was asked."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.entered = threading.Semaphore(0)
        self.open = threading.Semaphore(0)

    def __call__(self, text: str) -> Embedding:
        """One text."""
        self.seen.append(text)
        self.entered.release()
        self.open.acquire()
        return text.encode()

    async def reached(self) -> None:
        """Until one more text is being embedded."""
        assert await asyncio.to_thread(self.entered.acquire, timeout=5)

    def let(self, count: int = 1_000) -> None:
        """Let so many texts through."""
        self.open.release(count)


@asynccontextmanager
async def lane_of(
    embed: Callable[[str], Embedding], *, threads: int = 1, waiting: int = 8
) -> AsyncIterator[Lane]:
    """A lane that is closed at the end."""
    lane = Lane(embed, Pace("test", threads, waiting), (ValueError,))
    try:
        yield lane
    finally:
        await closed(lane)


async def closed(lane: Lane, seconds: float = 5.0) -> None:
    """Its threads ended, unless they hang."""
    lane.close()
    await asyncio.to_thread(join, lane.threads, time.monotonic() + seconds)


async def run(lane: Lane, *texts: str) -> list[Embedding]:
    """The texts' vectors."""
    return await asyncio.wrap_future(lane.submit(texts))


def start(lane: Lane, *texts: str) -> asyncio.Task[list[Embedding]]:
    """A caller of its own."""
    return asyncio.create_task(run(lane, *texts))


@pytest.mark.parametrize("threads", [1, 3])
async def test_vectors_come_back_in_order(threads: int) -> None:
    """Whichever thread is first, each text's vector is in the text's place."""

    def uneven(text: str) -> Embedding:
        time.sleep(0.002 * (int(text) % 3))
        return text.encode()

    async with lane_of(uneven, threads=threads) as lane:
        texts = [str(n) for n in range(30)]
        assert await run(lane, *texts) == [text.encode() for text in texts]


async def test_nothing_asked_nothing_done() -> None:
    """No texts, no vectors, no waiting."""
    async with lane_of(str.encode) as lane:
        assert await run(lane) == []


async def test_a_long_list_does_not_hold_up_a_short_one() -> None:
    """Callers take turns text by text."""
    gate = Gate()
    async with lane_of(gate) as lane:
        long = start(lane, "a0", "a1", "a2", "a3")
        await gate.reached()
        short = start(lane, "b0")
        await asyncio.sleep(0)
        gate.let()
        await asyncio.gather(long, short)
    assert gate.seen.index("b0") <= 2


async def test_too_many_callers_are_refused_at_once() -> None:
    """One more than may wait is overloaded, without waiting."""
    gate = Gate()
    async with lane_of(gate, waiting=2) as lane:
        first = start(lane, "running")
        await gate.reached()
        others = [start(lane, "waiting"), start(lane, "waiting")]
        await asyncio.sleep(0)
        with pytest.raises(RetrievalError, match="overloaded"):
            await run(lane, "too many")
        gate.let()
        await asyncio.gather(first, *others)


async def test_what_a_cancelled_caller_waited_for_is_dropped() -> None:
    """Texts that nobody waits for any more are never embedded, and free their place in the queue."""
    gate = Gate()
    async with lane_of(gate, waiting=1) as lane:
        first = start(lane, "running")
        await gate.reached()
        gone = start(lane, "dropped", "dropped too")
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        kept = start(lane, "kept")
        await asyncio.sleep(0)
        gate.let()
        await asyncio.gather(first, kept)
    assert gate.seen == ["running", "kept"]


async def test_a_deadline_ends_the_wait() -> None:
    """A caller's timeout passes through."""
    gate = Gate()
    async with lane_of(gate) as lane:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await run(lane, "slow")
        gate.let()


async def test_a_fault_costs_its_caller_alone() -> None:
    """What the model cannot embed fails its caller; the thread goes on."""

    def picky(text: str) -> Embedding:
        if text == "bad":
            raise ValueError(text)
        return text.encode()

    async with lane_of(picky) as lane:
        with pytest.raises(RetrievalError, match="embedding"):
            await run(lane, "good", "bad")
        assert await run(lane, "good") == [b"good"]


async def test_closing_refuses_what_waits() -> None:
    """Callers still in the queue, and later ones, hear unavailable; the one running is finished."""
    gate = Gate()
    async with lane_of(gate) as lane:
        running = start(lane, "running")
        await gate.reached()
        waiting = start(lane, "waiting")
        await asyncio.sleep(0)
        closing = asyncio.create_task(closed(lane))
        await asyncio.sleep(0)
        gate.let()
        await closing
        assert await running == [b"running"]
        for refused in (waiting, start(lane, "late")):
            with pytest.raises(RetrievalError, match="unavailable"):
                await refused
        assert not any(thread.is_alive() for thread in lane.threads)


async def test_closing_leaves_a_hung_thread_behind() -> None:
    """A call that never returns does not keep the service from stopping."""
    gate = Gate()
    lane = Lane(gate, Pace("test", 1, 1), ())
    hung = start(lane, "hung")
    await gate.reached()
    await closed(lane, 0.05)
    assert all(thread.daemon for thread in lane.threads)
    gate.let()
    await hung


async def test_the_loop_stays_free() -> None:
    """While texts are embedded, other tasks run."""
    gate = Gate()
    async with lane_of(gate, threads=2) as lane:
        work = start(lane, *"abcd")
        await gate.reached()
        ticks = 0
        for _ in range(20):
            await asyncio.sleep(0)
            ticks += 1
        assert (ticks, work.done()) == (20, False)
        gate.let()
        await work


def test_every_kind_has_a_lane_and_what_waits_longest_yields_most() -> None:
    """To a question the processor, to an ingest what is left."""
    assert set(PACES) == set(Kind)
    assert [PACES[kind].nice for kind in Kind] == [0, 0, 5, 10]


@pytest.mark.parametrize("full", Kind)
async def test_a_lane_that_is_full_keeps_no_other_waiting(full: Kind) -> None:
    """Each has threads of its own."""
    held = threading.Event()

    def encode(text: str) -> Embedding:
        if text == "held":
            held.wait(10)
        return text.encode()

    lanes = Lanes(encode)
    blocked = [asyncio.create_task(lanes.run(full, ["held"])) for _ in range(PACES[full].threads)]
    await asyncio.sleep(0.05)
    async with asyncio.timeout(5):
        for kind in set(Kind) - {full}:
            assert await lanes.run(kind, ["a", "b"]) == [b"a", b"b"]
    assert not any(task.done() for task in blocked)
    held.set()
    assert await asyncio.gather(*blocked) == [[b"held"]] * len(blocked)
    await lanes.close()


async def test_closed_lanes_refuse() -> None:
    """All of them, and no thread is left."""
    lanes = Lanes(str.encode)
    await lanes.close()
    for kind in Kind:
        with pytest.raises(RetrievalError, match="unavailable"):
            await lanes.run(kind, ["a"])
    assert not any(thread.is_alive() for lane in lanes.lanes.values() for thread in lane.threads)
