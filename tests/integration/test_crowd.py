"""A crowd at the door: a hundred uploads at once, and liveness meanwhile (`bench/health.py` has the times).
A stop amid all is in `tests/cli/test_serve.py`."""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from tests.fakes.ledger import fat, pdf, word
from tests.fakes.model import model_server
from tests.fakes.process import service
from tests.fakes.server import Answer, connected, post
from tests.integration.conftest import Talk

CROWD, SAME, NAMESAKES = 100, 15, 15
"""Uploads at once; of these as many are bytes twice, and other bytes under a name that is taken."""


async def send(
    client: httpx.AsyncClient, name: str, content: bytes, session: str = "crowd", wait: int = 0
) -> httpx.Response:
    form = {"session_id": session, "wait": str(wait)}
    return await client.post("/api/documents", files={"file": (name, content)}, data=form)


def packed(name: str, content: bytes) -> bytes:
    """An upload as it goes over the wire: a hundred are made before any is sent, or the crowd's own clients
    would hold up the guest, who shares their loop."""
    form = {"session_id": "crowd", "wait": "0"}
    made = httpx.Request("POST", "http://here/api/documents", files={"file": (name, content)}, data=form)
    return post("/api/documents", made.read(), made.headers["content-type"])


async def sent(url: str, request: bytes) -> Answer:
    """One of the crowd, on a connection of its own."""
    async with connected(url) as wire, asyncio.timeout(60):
        await wire.send(request)
        return await wire.answer()


def crowd() -> list[tuple[str, bytes]]:
    """Names and bytes; the last ones race with the first."""
    alone = [(f"{n}.pdf", pdf(word(n))) for n in range(CROWD - SAME - NAMESAKES)]
    others = [(name, pdf(word(1_000 + n))) for n, (name, _) in enumerate(alone[SAME : SAME + NAMESAKES])]
    return [*alone, *alone[:SAME], *others]


@pytest.mark.timeout(300)
async def test_a_hundred_uploads_at_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each is answered as declared, the same bytes are one document, what is acknowledged is kept and the
    rest leaves nothing on disk; questions asked meanwhile are answered."""
    files, over = crowd(), asyncio.Event()
    ready = [packed(*file) for file in files]
    async with model_server() as model:
        with service(tmp_path_factory.mktemp("crowd") / "data", CHAT_BASE_URL=model.url) as running:
            async with httpx.AsyncClient(base_url=running.lock.url, timeout=60) as one:
                await send(one, "calm.pdf", files[0][1], session="calm", wait=30)
                guest = asyncio.create_task(asking(one, over))
                answers = await asyncio.gather(*(sent(running.lock.url, request) for request in ready))
                over.set()
                assert await guest > 0
                left = [path for path in (running.folder / "tmp").iterdir() if path.is_file()]
                items = await listed(one, "crowd")
    kept = acknowledged(files, answers)
    assert {item["sha256"]: item["id"] for item in items if item["state"] != "failed"} == kept
    assert left == []


async def asking(client: httpx.AsyncClient, over: asyncio.Event) -> int:
    """One question after the other; how many were answered."""
    body = {"message": "What does the ferry carry to the pier?", "session_id": "calm", "history": []}
    answered = 0
    while not over.is_set():
        assert (await client.post("/api/chat", json=body)).status_code == 200
        answered += 1
    return answered


def acknowledged(files: Sequence[tuple[str, bytes]], answers: Sequence[Answer]) -> dict[str, str]:
    """Hash and id of what was taken, each pair the same however often it was told."""
    kept: dict[str, str] = {}
    for (_, content), answer in zip(files, answers, strict=True):
        assert answer.status in {200, 201, 202, 409, 503}, answer.body
        if answer.status == 503:
            assert int(answer.headers["retry-after"]) > 0
        elif answer.status != 409:
            sha256 = hashlib.sha256(content).hexdigest()
            assert kept.setdefault(sha256, answer.json()["id"]) == answer.json()["id"]
    statuses = [answer.status for answer in answers]
    assert statuses.count(409) <= NAMESAKES
    assert statuses.count(200) <= SAME
    return kept


async def listed(client: httpx.AsyncClient, session: str) -> list[dict[str, Any]]:
    """All documents of a session."""
    reply = (await client.get(f"/api/documents?session_id={session}&limit=200")).json()
    assert reply["next"] is None
    return list(reply["items"])


CHATS, PAUSE_SECONDS, SIZE = 4, 0.01, 8 << 20


async def chatting(client: httpx.AsyncClient, n: int, over: asyncio.Event) -> None:
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
        chats = [asyncio.create_task(chatting(client, n, over)) for n in range(CHATS)]
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
