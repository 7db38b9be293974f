"""How much Ibid adds to its model: first byte and requests a second, beside the bare model in the same run.

usage: python -m bench     (make bench)
The service runs embedded with 60 documents of 20 pages in reach; the model is `bench/stub.py`. Every
message is another one, so that no cache helps. These machines are noisy: read the ratios.
"""

import asyncio
import json
import random
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any

import httpx
from reportlab.pdfgen.canvas import Canvas

from bench.service import service

DOCUMENTS, PAGES, LINES = 60, 20, 40
WORDS = [
    "river",
    "copper",
    "ledger",
    "harvest",
    "signal",
    "orchard",
    "glacier",
    "engine",
    "violin",
    "harbour",
]

Ask = Callable[[httpx.AsyncClient, int], Any]


@asynccontextmanager
async def stub() -> AsyncIterator[str]:
    """The stub's base URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.stub", str(port))
    try:
        await asyncio.sleep(1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        await process.wait()


def pdf(seed: int) -> bytes:
    """A document of random words, the same for the same seed."""
    chance, out = random.Random(seed), BytesIO()
    canvas = Canvas(out)
    for _ in range(PAGES):
        for line in range(LINES):
            canvas.drawString(
                50, 800 - 18 * line, " ".join(chance.choices(WORDS, k=11)) + f" {chance.random():.4f}."
            )
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def ask_model(client: httpx.AsyncClient, n: int) -> Any:  # noqa: ANN401 - httpx's context manager
    """One request to the bare model."""
    return client.stream("POST", "/v1/chat/completions", json={"messages": [], "n": n})


def ask_ibid(client: httpx.AsyncClient, n: int) -> Any:  # noqa: ANN401 - httpx's context manager
    """One question to Ibid; no two are alike."""
    message = f"what does the {WORDS[n % len(WORDS)]} say about the {WORDS[n // 7 % len(WORDS)]} number {n}"
    return client.stream("POST", "/api/chat", json={"message": message, "session_id": "bench", "history": []})


async def timed(client: httpx.AsyncClient, ask: Ask, n: int) -> float:
    """Milliseconds to the first byte of the body; the rest is read too."""
    began, first = time.perf_counter(), 0.0
    async with ask(client, n) as response:
        response.raise_for_status()
        async for _ in response.aiter_raw():
            first = first or time.perf_counter() - began
    return first * 1000


async def load(client: httpx.AsyncClient, ask: Ask, clients: int, requests: int) -> dict[str, float]:
    """`clients` at once, each asking one after the other."""
    counter = iter(range(requests))

    async def one() -> list[float]:
        return [await timed(client, ask, n) for n in counter]

    began = time.perf_counter()
    firsts = sorted(first for run in await asyncio.gather(*(one() for _ in range(clients))) for first in run)
    seconds = time.perf_counter() - began
    return {
        "first_ms_p50": round(firsts[len(firsts) // 2], 1),
        "first_ms_p95": round(firsts[int(len(firsts) * 0.95)], 1),
        "requests_s": round(requests / seconds, 1),
    }


async def main() -> None:
    """One JSON line a load: the bare model, Ibid, and the ratio of requests a second."""
    async with stub() as url, service(CHAT_BASE_URL=url, RAG_CACHE_TTL_SECONDS="0") as ibid:
        for seed in range(DOCUMENTS):
            files = {"file": (f"{seed}.pdf", pdf(seed))}
            data = {"session_id": "bench", "wait": "300"}
            (await ibid.post("/api/documents", files=files, data=data)).raise_for_status()
        async with httpx.AsyncClient(base_url=url.removesuffix("/v1"), timeout=60) as bare:
            for clients, requests in ((1, 40), (16, 320), (64, 960)):
                floor = await load(bare, ask_model, clients, requests)
                ours = await load(ibid, ask_ibid, clients, requests)
                share = round(ours["requests_s"] / floor["requests_s"], 2)
                print(
                    json.dumps({"clients": clients, "model": floor, "ibid": ours, "share": share}), flush=True
                )


if __name__ == "__main__":
    asyncio.run(main())
