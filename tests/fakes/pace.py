"""Promises about time, on a machine that is shared: what its bad moment costs, it does not cost every time.

What exceeds its bound is tried again, twice at most, and then by the measure of how fast the processor is
just now. A regression is there each time, whatever the machine. Seconds.
"""

import time
from collections.abc import Awaitable, Callable

TRIES = 3
USUAL = 0.0125
"""Of a processor, for `known`, where the bounds were written."""


def takes(at_most: float, work: Callable[[], object]) -> None:
    """So much of a processor, no more. `work` can be repeated."""
    told = []
    for _ in range(TRIES):
        spent = processor(work)
        if spent < at_most:
            return
        slow = max(1.0, processor(known) / USUAL)  # of this moment: the machine may be lent to others
        if spent < at_most * slow:
            return
        told.append(f"{spent:.3f} s of a processor that is {slow:.1f} times slower")
    raise AssertionError(told)


async def waits(at_most: float, work: Callable[[], Awaitable[object]]) -> float:
    """So long by the clock, no longer; how long it was. `work` can be repeated."""
    took = []
    for _ in range(TRIES):
        began = time.perf_counter()
        await work()
        took.append(time.perf_counter() - began)
        if took[-1] < at_most:
            break
    assert min(took) < at_most, f"{min(took):.3f} s"
    return min(took)


def soon(at_most: float, measure: Callable[[], float]) -> None:
    """What `measure` tells is no longer than that. It can be repeated."""
    told = [measure()]
    while told[-1] >= at_most and len(told) < TRIES:
        told.append(measure())
    assert told[-1] < at_most, told


def processor(work: Callable[[], object]) -> float:
    """Seconds of a processor."""
    began = time.process_time()
    work()
    return time.process_time() - began


def known() -> int:
    """Work whose cost is known."""
    return sum(n * n % 7 for n in range(100_000))
