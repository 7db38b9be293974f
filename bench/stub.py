"""A model that costs nothing but time: 50 ms to the first token, then 32 tokens 10 ms apart.

Run as a process (`python -m bench.stub PORT`), so that its work is not the service's.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn

FIRST_SECONDS = 0.05
NEXT_SECONDS = 0.01
TOKENS = 32

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def event(delta: dict[str, str], finish: str | None = None) -> bytes:
    """One server-sent event of the OpenAI protocol."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "c", "object": "chat.completion.chunk", "model": "stub", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


async def app(scope: MutableMapping[str, Any], receive: Callable[[], Awaitable[Any]], send: Send) -> None:
    """Answers every request with the same stream."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    head = [(b"content-type", b"text/event-stream")]
    await asyncio.sleep(FIRST_SECONDS)
    await send({"type": "http.response.start", "status": 200, "headers": head})
    for n in range(TOKENS):
        await send({"type": "http.response.body", "body": event({"content": f"word{n} "}), "more_body": True})
        await asyncio.sleep(NEXT_SECONDS)
    await send({"type": "http.response.body", "body": event({}, "stop") + b"data: [DONE]\n\n"})


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", lifespan="off")
