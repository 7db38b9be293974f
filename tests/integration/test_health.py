"""Liveness under load: whatever is uploaded and asked, /healthz answers at once (`bench/` has the figure)."""

import asyncio
import statistics
import time

import httpx

from tests.fakes.ledger import fat
from tests.integration.conftest import Talk

CHATS, CALM_SECONDS, PAUSE_SECONDS, DELAY_SECONDS = 8, 1.5, 0.01, 0.1
SIZE = 32 << 20


async def asking(client: httpx.AsyncClient, n: int, over: asyncio.Event) -> None:
    """One question after the other."""
    while not over.is_set():
        body = {"message": f"What does the ferry carry to pier {n}?", "session_id": "s", "history": []}
        assert (await client.post("/api/chat", json=body)).status_code == 200


async def looking(client: httpx.AsyncClient, over: asyncio.Event) -> list[float]:
    """Seconds that each look at /healthz took."""
    took = []
    while not over.is_set():
        began = time.perf_counter()
        assert (await client.get("/healthz")).status_code == 200
        took.append(time.perf_counter() - began)
        await asyncio.sleep(PAUSE_SECONDS)
    return took


async def test_alive_while_a_large_file_comes_in(talk: Talk) -> None:
    """While eight clients chat, and 32 MB are received, hashed, stored and read: 95 of 100 looks take at most
    a tenth of a second longer than without the file."""
    over, came = asyncio.Event(), asyncio.Event()
    content = fat("large", SIZE)
    async with (
        httpx.AsyncClient(base_url=talk.service.lock.url, timeout=60) as client,
        httpx.AsyncClient(base_url=talk.service.lock.url, timeout=60) as doctor,
    ):
        chats = [asyncio.create_task(asking(client, n, over)) for n in range(CHATS)]
        asyncio.get_running_loop().call_later(CALM_SECONDS, came.set)
        before = await looking(doctor, came)
        looks = asyncio.create_task(looking(doctor, over))
        form = {"session_id": "s", "wait": "60"}
        answer = await client.post("/api/documents", files={"file": ("large.pdf", content)}, data=form)
        over.set()
        await asyncio.gather(*chats)
        during = await looks
    assert answer.status_code == 201
    assert min(len(before), len(during)) > 10
    assert late(during) < late(before) + DELAY_SECONDS


def late(took: list[float]) -> float:
    """The time that 95 of 100 looks keep to."""
    return statistics.quantiles(took, n=20)[-1]
