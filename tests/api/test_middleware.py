"""How much a request may send: refused early, and so that the client hears of it."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.exceptions import HTTPException
from starlette.types import Message, Receive, Scope, Send

from app.api import middleware
from app.api.middleware import JSON_BYTES, BodyLimit
from tests.fakes.server import Answer, connected, post, request_head, told
from tests.fakes.services import Fakes

ASK = {"message": "hi", "session_id": "s"}
JSON = "Content-Type: application/json"
BIG = 10_000_000


def padded(size: int) -> bytes:
    """A valid question of `size` bytes: blanks between two fields."""
    whole = json.dumps(ASK | {"stream": False}).encode()
    return whole[:1] + b" " * (size - len(whole)) + whole[1:]


async def test_a_body_of_exactly_the_limit_is_taken(client: httpx.AsyncClient) -> None:
    response = await client.post(
        "/api/chat", content=padded(JSON_BYTES), headers={"content-type": "application/json"}
    )

    assert response.status_code == 200


@pytest.mark.parametrize("chunked", [False, True])
async def test_one_byte_more_is_refused(client: httpx.AsyncClient, chunked: bool) -> None:
    """Whether its length is told or not."""
    body = padded(JSON_BYTES + 1)

    async def pieces() -> Any:
        yield body[:1_000]
        yield body[1_000:]

    response = await client.post(
        "/api/chat", content=pieces() if chunked else body, headers={"content-type": "application/json"}
    )

    assert told(response, 413, "too-large")["detail"] == "This path accepts at most 2 MiB."


async def test_a_declared_size_is_refused_before_it_is_sent(address: str) -> None:
    """`Expect: 100-continue` gets its answer instead of a go-ahead."""
    async with connected(address) as wire:
        await wire.send(request_head("/api/chat", JSON, f"Content-Length: {BIG}", "Expect: 100-continue"))
        answer = await wire.answer()

    problem(answer, 413, "too-large")
    assert answer.headers["connection"] == "close"


async def test_a_client_that_sends_everything_first_still_hears_the_refusal(address: str) -> None:
    """10 MB are on their way when the answer is known; a reset would swallow it."""
    async with connected(address) as wire:
        await wire.send(post("/api/chat", b'{"message": "' + b"x" * BIG + b'"}'))
        answer = await wire.answer()

    problem(answer, 413, "too-large")


async def test_a_chunked_body_is_refused_as_soon_as_it_is_too_long(address: str, fakes: Fakes) -> None:
    """Its end is not waited for."""
    async with connected(address) as wire:
        await wire.send(request_head("/api/chat", JSON, "Transfer-Encoding: chunked"))
        for _ in range(3):
            await wire.send(b"%x\r\n" % (1 << 20), b"x" * (1 << 20), b"\r\n")
        answer = await wire.answer()

    problem(answer, 413, "too-large")
    assert fakes.chat.asks == []


async def test_the_connection_is_closed_after_a_refusal_in_the_middle(address: str) -> None:
    """What is left of the body must not be read as the next request."""
    async with connected(address) as wire:
        await wire.send(post("/api/chat", b"x" * BIG), post("/api/chat", json.dumps(ASK).encode()))
        await wire.answer()

        assert await wire.reader.read() == b""


async def test_a_refusal_of_another_kind_is_heard_too(address: str, fakes: Fakes) -> None:
    """A wrong path is known before the body has come; 10 MB are dropped, and the 404 arrives."""
    async with connected(address) as wire:
        await wire.send(post("/nowhere", b"x" * 2_000_000))
        answer = await wire.answer()

    problem(answer, 404, "not-found")


async def test_a_client_that_is_slow_to_hear_is_waited_for_a_moment_only(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has declared more than it sends: the connection ends all the same."""
    monkeypatch.setattr(middleware, "LINGER_SECONDS", 0.1)

    async with connected(address) as wire, asyncio.timeout(5):
        await wire.send(request_head("/api/chat", JSON, f"Content-Length: {BIG}"), b"some")
        problem(await wire.answer(), 413, "too-large")

        assert await wire.reader.read() == b""


@pytest.mark.parametrize("path", ["/api/chat", "/api/documents"])
async def test_a_client_that_stops_in_the_middle_is_told_so(
    address: str, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A body that does not come must not hold a connection for ever."""
    monkeypatch.setattr(middleware, "STALL_SECONDS", 0.1)
    monkeypatch.setattr(middleware, "LINGER_SECONDS", 0.1)
    kind = JSON if path == "/api/chat" else "Content-Type: multipart/form-data; boundary=b"

    async with connected(address) as wire, asyncio.timeout(5):
        await wire.send(request_head(path, kind, "Content-Length: 100"), b"--b\r\n")
        answer = await wire.answer()

    problem(answer, 408, "request-timeout")


async def test_requests_follow_each_other_on_one_connection(address: str) -> None:
    """A body that came whole leaves the connection open."""
    async with connected(address) as wire:
        for _ in range(2):
            await wire.send(post("/api/chat", padded(3_000)))
            answer = await wire.answer()
            assert answer.status == 200
            assert "connection" not in answer.headers


async def test_an_answer_after_a_refused_field_keeps_the_connection(address: str) -> None:
    """The body was read; there is nothing to run from."""
    async with connected(address) as wire:
        await wire.send(post("/api/chat", b"{}"))
        problem(await wire.answer(), 422, "validation")
        await wire.send(post("/api/chat", padded(3_000)))

        assert (await wire.answer()).status == 200


async def test_a_download_of_many_pieces_passes_unchanged() -> None:
    """A response in several messages before the request is whole: only its last waits."""
    sent = await exchanged([b"ab"], [b"1", b"2", b""])

    assert [message.get("body") for message in sent[1:]] == [b"1", b"2", b"", b""]
    assert [message.get("more_body") for message in sent[1:]] == [True, True, True, False]


@given(sizes=st.lists(st.integers(0, 40), max_size=8), limit=st.integers(0, 100))
async def test_a_body_is_taken_exactly_up_to_its_limit(sizes: Sequence[int], limit: int) -> None:
    """However it is cut into pieces."""
    taken = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal taken
        more = True
        while more:
            message = await receive()
            taken += len(message["body"])
            more = message["more_body"]

    pieces = [b"x" * size for size in sizes] or [b""]
    try:
        await BodyLimit(app, limit=limit, paths={})(chunked(), source(pieces), swallow)
        refused = False
    except HTTPException as error:
        refused = error.status_code == 413

    assert refused == (sum(sizes) > limit)
    assert taken <= limit


def encode(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    """As they stand on the wire."""
    return [(name.encode(), value.encode("utf-8")) for name, value in headers.items()]


def problem(answer: Answer, status: int, slug: str) -> None:
    """Check a problem that came over a socket."""
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["type"] == f"urn:ibid:problem:{slug}"
    assert answer.headers["x-request-id"] == answer.json()["instance"]


def chunked() -> Scope:
    """A request of untold length."""
    return {"type": "http", "method": "POST", "path": "/x", "headers": [(b"transfer-encoding", b"chunked")]}


def source(pieces: Sequence[bytes]) -> Receive:
    """A client that sends these."""
    left = [
        {"type": "http.request", "body": piece, "more_body": n < len(pieces)}
        for n, piece in enumerate(pieces, 1)
    ]

    async def receive() -> Message:
        return left.pop(0)

    return receive


async def exchanged(pieces: Sequence[bytes], answers: Sequence[bytes]) -> list[Message]:
    """What is sent when an app answers without reading."""
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for n, body in enumerate(answers, 1):
            await send({"type": "http.response.body", "body": body, "more_body": n < len(answers)})

    async def send(message: Message) -> None:
        sent.append(message)

    await BodyLimit(app, paths={})(chunked(), source(pieces), send)
    return sent


async def nothing() -> Message:
    return {}


async def swallow(message: Message) -> None:
    """Nobody listens."""
