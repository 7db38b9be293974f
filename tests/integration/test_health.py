"""Liveness under load: whatever is uploaded and asked, /healthz answers at once (`bench/` has the figure)."""

import asyncio
import statistics
import time

import httpx
import pytest

from tests.fakes.control import control, waited
from tests.fakes.ledger import fat
from tests.integration.conftest import Talk

CHATS, CALM_SECONDS, PAUSE_SECONDS, DELAY_SECONDS = 8, 1.5, 0.01, 0.1
LOOKS, ROUNDS = 20, 3
SIZE, WORK_SECONDS = 32 << 20, 0.001


async def asking(client: httpx.AsyncClient, n: int, over: asyncio.Event) -> None:
    """One question after the other."""
    while not over.is_set():
        body = {"message": f"What does the ferry carry to pier {n}?", "session_id": "s", "history": []}
        assert (await client.post("/api/chat", json=body)).status_code == 200


async def looking(
    doctor: httpx.AsyncClient, other: httpx.AsyncClient, over: asyncio.Event
) -> tuple[float, float]:
    """Seconds that 95 of 100 looks at /healthz keep to, and 95 of 100 at the control, in turns."""
    took, others = list[float](), list[float]()
    while not over.is_set() or len(took) < LOOKS:
        began = time.perf_counter()
        assert (await doctor.get("/healthz")).status_code == 200
        took.append(time.perf_counter() - began)
        others.append(await waited(other, WORK_SECONDS))
        await asyncio.sleep(PAUSE_SECONDS)
    return late(took), late(others)


@pytest.mark.timeout(300)
async def test_alive_while_a_large_file_comes_in(talk: Talk) -> None:
    """While eight clients chat, and 32 MB are received, hashed, stored and read: 95 of 100 looks take at most
    a tenth of a second longer than without the file, but for what everybody waits longer."""
    longer: list[float] = []
    with control() as elsewhere:
        while len(longer) < ROUNDS and min(longer, default=1.0) >= DELAY_SECONDS:
            longer.append(await round_of(talk, elsewhere, f"large-{len(longer)}"))
    assert min(longer) < DELAY_SECONDS


async def round_of(talk: Talk, elsewhere: str, name: str) -> float:
    """By how much the looks take longer while the file comes in."""
    over, came = asyncio.Event(), asyncio.Event()
    content = fat(name, SIZE)
    async with (
        httpx.AsyncClient(base_url=talk.service.lock.url, timeout=60) as client,
        httpx.AsyncClient(base_url=talk.service.lock.url, timeout=60) as doctor,
        httpx.AsyncClient(base_url=elsewhere, timeout=60) as other,
    ):
        chats = [asyncio.create_task(asking(client, n, over)) for n in range(CHATS)]
        asyncio.get_running_loop().call_later(CALM_SECONDS, came.set)
        before = await looking(doctor, other, came)
        looks = asyncio.create_task(looking(doctor, other, over))
        form = {"session_id": "s", "wait": "60"}
        answer = await client.post("/api/documents", files={"file": (f"{name}.pdf", content)}, data=form)
        over.set()
        await asyncio.gather(*chats)
        during = await looks
    assert answer.status_code == 201
    ours, others = (now - then for now, then in zip(during, before, strict=True))
    return ours - max(0.0, others)


def late(took: list[float]) -> float:
    """The time that 95 of 100 keep to."""
    return statistics.quantiles(took, n=20)[-1]
