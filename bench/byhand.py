"""The same service by hand: FastAPI, chromadb and openai, joined as their own docs do it.

usage: BYHAND_FOLDER=... BYHAND_MODEL=http://…/v1 python -m bench.byhand PORT
One worker, everything that blocks in a thread, one client for all requests, the same embedder as Ibid's. Made
as good as an afternoon makes it, and spared what Ibid does beside: dense search only, it keeps no
turn and no answer, checks no citation, counts no token while it answers.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import chromadb
import numpy as np
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam
from pydantic import BaseModel

from app.models.encoder import load

TOP_K, BUDGET = 40, 50_000
SYSTEM = "You answer from the context below and cite every statement with the label of its passage, [name#n]."


class Ask(BaseModel):
    """The body, Ibid's own."""

    message: str
    session_id: str
    thread_id: str | None = None
    user_id: str | None = None


def collection(folder: Path) -> Any:  # noqa: ANN401 - chromadb is not typed
    """The collection of all passages."""
    client = chromadb.PersistentClient(path=str(folder))
    return client.get_or_create_collection(
        "passages", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )


def search(passages: Any, encode: Callable[[str], bytes], ask: Ask) -> dict[str, Any]:  # noqa: ANN401
    """The query embedded, the session's and the global passages searched."""
    vector = np.frombuffer(encode(ask.message), dtype="<f4")
    found: dict[str, Any] = passages.query(
        query_embeddings=[vector],
        n_results=TOP_K,
        where={"$or": [{"session_id": ask.session_id}, {"scope": "global"}]},
        include=["documents", "metadatas", "distances"],
    )
    return found


def prompt(ask: Ask, found: dict[str, Any]) -> list[ChatCompletionMessageParam]:
    """Best first while they fit; the token counts were kept with the passages."""
    lines, left = [], BUDGET
    for body, about in zip(found["documents"][0], found["metadatas"][0], strict=True):
        if about["tokens"] <= left:
            lines.append(f"- From {about['label']}: {json.dumps(body)}")
            left -= about["tokens"]
    context = "[Context]\n" + "\n".join(lines)
    return [
        {"role": "system", "content": SYSTEM},
        {"role": "system", "content": context},
        {"role": "user", "content": ask.message},
    ]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Everything opened once."""
    app.state.passages = await asyncio.to_thread(collection, Path(os.environ["BYHAND_FOLDER"]))
    app.state.encode = (await asyncio.to_thread(load))[0]
    async with AsyncOpenAI(base_url=os.environ["BYHAND_MODEL"], api_key="none", max_retries=0) as client:
        app.state.model = client
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/healthz")
async def healthz() -> dict[str, str]:
    """Alive."""
    return {"status": "ok"}


@app.post("/api/chat")
async def chat(ask: Ask, request: Request) -> StreamingResponse:
    """Search, ask, stream."""
    state = request.app.state
    found = await asyncio.to_thread(search, state.passages, state.encode, ask)
    stream = await state.model.chat.completions.create(model="stub", messages=prompt(ask, found), stream=True)

    async def events() -> AsyncIterator[str]:
        yield f"data: {json.dumps({'sources': [about['label'] for about in found['metadatas'][0]]})}\n\n"
        async for chunk in stream:
            if chunk.choices and (text := chunk.choices[0].delta.content):
                yield f"data: {json.dumps({'text': text})}\n\n"
        yield "data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
