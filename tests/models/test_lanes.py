"""Who waits for whom."""

import asyncio
import threading

import pytest

from app.domain.errors import RetrievalError
from app.domain.passage import Embedding
from app.models.lanes import PACES, Kind, Lanes


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
