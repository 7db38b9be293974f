"""Liveness under load: whatever is uploaded and asked, /healthz answers (`bench/health.py` has the times)."""

import asyncio

import httpx
import pytest

from tests.fakes.ledger import fat
from tests.integration.conftest import Talk

CHATS, PAUSE_SECONDS, SIZE = 4, 0.01, 8 << 20


async def asking(client: httpx.AsyncClient, n: int, over: asyncio.Event) -> None:
    """One question after the other."""
    while not over.is_set():
        body = {"message": f"What does the ferry carry to pier {n}?", "session_id": "s", "history": []}
        assert (await client.post("/api/chat", json=body)).status_code == 200


async def looking(doctor: httpx.AsyncClient, over: asyncio.Event) -> int:
    """How often /healthz answered meanwhile."""
    looks = 0
    while not over.is_set():
        assert (await doctor.get("/healthz")).status_code == 200
        looks += 1
        await asyncio.sleep(PAUSE_SECONDS)
    return looks


@pytest.mark.timeout(300)
async def test_alive_while_a_large_file_comes_in(talk: Talk) -> None:
    """While clients chat, and 8 MB are received, hashed, stored and read."""
    over = asyncio.Event()
    async with (
        httpx.AsyncClient(base_url=talk.service.lock.url, timeout=60) as client,
        httpx.AsyncClient(base_url=talk.service.lock.url, timeout=60) as doctor,
    ):
        chats = [asyncio.create_task(asking(client, n, over)) for n in range(CHATS)]
        looks = asyncio.create_task(looking(doctor, over))
        form = {"session_id": "s", "wait": "60"}
        answer = await client.post(
            "/api/documents", files={"file": ("large.pdf", fat("large", SIZE))}, data=form
        )
        over.set()
        await asyncio.gather(*chats)
        assert await looks > 1
    assert answer.status_code == 201


def test_the_models_are_among_what_is_ready(talk: Talk) -> None:
    """Answers need the chat model, words are found without an embedding; no answer is asked for."""
    talk.model.requests.clear()
    answer = talk.service.client.get("/readyz")
    checks = {check["name"]: check for check in answer.json()["checks"]}

    assert answer.status_code == 200
    assert [checks[name]["needed"] for name in ("postgres", "chat", "embedding")] == [True, True, False]
    assert (checks["chat"]["facts"]["kind"], checks["embedding"]["facts"]["kind"]) == ("server", "bundled")
    assert talk.model.url not in answer.text
    assert {request.path for request in talk.model.requests} <= {"/v1/models"}
