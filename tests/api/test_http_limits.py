"""Refusals below the app, over a raw socket: what no HTTP client would send, and how much a request may send:
refused early, and so that the client hears of it."""

import asyncio
import json
from contextlib import AsyncExitStack, suppress
from typing import Any

import httpx
import pytest
from starlette.types import Message, Scope

from app.api import http_limits, middleware
from app.api.middleware import JSON_BYTES
from tests.fakes.logged import Lines
from tests.fakes.server import Answer, connected, post, request_head, told
from tests.fakes.services import Fakes

UNREADABLE = {
    "method": b"FOO / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "length": b"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: abc\r\n\r\n",
    "lengths": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "path": b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "target": b"GET http://[bad HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "header": b"GET / HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
}


async def refused(address: str, sent: bytes) -> Answer:
    """The answer to these bytes, behind which the connection must end."""
    async with connected(address) as wire:
        await wire.send(sent)
        answer = await wire.answer()
        assert await wire.reader.read() == b""
    return answer


@pytest.mark.parametrize("sent", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_what_is_no_http_is_told_as_a_problem(address: str, sent: bytes) -> None:
    """bad-request, with an id in the header and the document, like every other refusal."""
    answer = await refused(address, sent)

    assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
    assert answer.headers["connection"] == "close"
    assert answer.json()["type"] == "urn:ibid:problem:bad-request"
    assert answer.json()["status"] == 400
    assert answer.json()["instance"] == answer.headers["x-request-id"] != ""


async def test_the_id_is_that_of_the_log_and_nothing_sent_is_in_either(address: str, lines: Lines) -> None:
    """Whoever asks about the id can be answered; a secret in a broken request stays where it was."""
    answer = await refused(address, b"SECRET / HTTP/1.1\r\n\r\n")

    (line,) = lines.of("unreadable request")
    assert line["request_id"] == answer.headers["x-request-id"]
    assert b"SECRET" not in answer.body
    assert "SECRET" not in lines.getvalue()


async def test_no_refusal_stands_inside_of_an_answer(address: str) -> None:
    """Bytes that are no HTTP, behind a request whose answer is under way, cut that answer."""
    async with connected(address) as wire:
        await wire.send(request_head("/nowhere", "Transfer-Encoding: chunked"), b"1\r\nx\r\n")
        head = await wire.head()
        await wire.send(b"no chunk\r\n")
        rest = await wire.reader.read()

    assert head.status == 404
    assert b"HTTP/1.1 400" not in rest


GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = request_head("/api/chat", "Content-Type: application/json", "Transfer-Encoding: chunked")
QUESTION = json.dumps({"message": "hi", "session_id": "s", "stream": False}).encode()
HEAD_BYTES, HEADERS = 32 << 10, 100
"""What a client may count on (docs/problems.md)."""
FAR = 40 * HEAD_BYTES
TOO_LARGE = {
    "a value": (GET + b"X: " + b"x" * FAR + b"\r\n\r\n", 431, "headers-too-large"),
    "a name": (GET + b"x" * FAR + b": x\r\n\r\n", 431, "headers-too-large"),
    "a name without end": (GET + b"x" * FAR, 431, "headers-too-large"),
    "many": (GET + b"X: x\r\n" * (HEADERS + 1) + b"\r\n", 431, "headers-too-large"),
    "path": (b"GET /" + b"x" * FAR + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 414, "uri-too-long"),
    "path without end": (b"GET /" + b"x" * FAR, 414, "uri-too-long"),
    "query": (b"GET /?" + b"x" * HEAD_BYTES + b" HTTP/1.1\r\n\r\n", 414, "uri-too-long"),
    "blank lines": (b"\r\n" * FAR, 431, "headers-too-large"),
    "a trailer": (CHUNKED + b"0\r\nX: " + b"x" * FAR + b"\r\n\r\n", 431, "headers-too-large"),
    "trailers": (CHUNKED + b"0\r\n" + b"X: x\r\n" * HEADERS + b"\r\n", 431, "headers-too-large"),
    "a chunk's extension": (CHUNKED + b"1;x=" + b"x" * FAR, 431, "headers-too-large"),
}


@pytest.mark.parametrize(("sent", "status", "slug"), TOO_LARGE.values(), ids=TOO_LARGE.keys())
async def test_headers_are_bounded(address: str, sent: bytes, status: int, slug: str) -> None:
    """However the bytes are spent. A client that sends everything first still hears the refusal."""
    async with asyncio.timeout(20):
        answer = await refused(address, sent)

    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["type"] == f"urn:ibid:problem:{slug}"
    assert answer.json()["instance"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("size", [1, 7, 1_000, 10**9])
async def test_headers_up_to_the_limits_are_taken(address: str, size: int) -> None:
    """In whatever pieces they come, and again for the next request on the connection."""
    head = GET + b"X: x\r\n" * (HEADERS - 2) + b"Y: " + b"y" * (HEAD_BYTES - 2_000) + b"\r\n\r\n"
    sent = head if size > 1 else GET + b"\r\n"
    async with connected(address) as wire:
        for _ in range(3):
            for start in range(0, len(sent), size):
                await wire.send(sent[start : start + size])
                await asyncio.sleep(0)
            assert (await wire.answer()).status == 200


async def test_a_trailer_is_no_header(address: str) -> None:
    """It comes when the request is under way, and changes nothing of it: not its key."""
    async with connected(address) as wire:
        await wire.send(CHUNKED, b"%x\r\n%s\r\n" % (len(QUESTION), QUESTION))
        await wire.send(b"0\r\nAuthorization: Bearer nobody\r\n\r\n")

        assert (await wire.answer()).status == 200


async def test_headers_that_drip_are_given_up(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then does not keep a connection."""
    monkeypatch.setattr(http_limits, "HEAD_SECONDS", 0.3)

    async with connected(address) as wire, asyncio.timeout(20):
        await wire.send(GET)
        answer = asyncio.create_task(wire.answer())
        while not answer.done():
            await wire.send(b"x")
            await asyncio.sleep(0.02)
        assert await wire.reader.read() == b""

    assert (answer.result().status, answer.result().json()["type"]) == (
        408,
        "urn:ibid:problem:request-timeout",
    )


@pytest.mark.parametrize("sent", [b"", GET + b"\r\n"], ids=["new", "answered"])
async def test_a_silent_client_is_closed(address: str, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    """Without an answer: it has asked nothing. Nor do blank lines keep a connection that had its answer."""
    monkeypatch.setattr(http_limits, "HEAD_SECONDS", 0.3)

    async with connected(address) as wire, asyncio.timeout(20):
        await wire.send(sent)
        if sent:
            assert (await wire.answer()).status == 200
            await wire.send(b"\r\n")
            assert (await wire.answer()).status == 408
        assert await wire.reader.read() == b""


async def test_half_a_request_does_not_cut_the_answer_before_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time runs from the end of that answer."""
    monkeypatch.setattr(http_limits, "HEAD_SECONDS", 0.1)

    async with connected(address) as wire, asyncio.timeout(20):
        await wire.send(CHUNKED, b"%x\r\n" % len(QUESTION))
        await asyncio.sleep(0.3)
        await wire.send(QUESTION + b"\r\n0\r\n\r\n", b"GET / HT")

        assert (await wire.answer()).status == 200


async def test_the_oldest_connections_without_headers_make_room(
    address: str, monkeypatch: pytest.MonkeyPatch, lines: Lines
) -> None:
    """Whoever is answered, or asks right away, is none of them."""
    monkeypatch.setattr(http_limits, "WAITING", 4)

    async with AsyncExitStack() as stack, asyncio.timeout(20):
        answered = await stack.enter_async_context(connected(address))
        await answered.send(GET + b"\r\n")
        assert (await answered.answer()).status == 200
        waiting = [await stack.enter_async_context(connected(address)) for _ in range(10)]
        for wire in waiting:
            await wire.send(GET)
        for wire in waiting[:6]:
            with pytest.raises(asyncio.IncompleteReadError):
                await wire.answer()
        for wire in (answered, *waiting[6:]):
            await wire.send(GET[: len(GET) * (wire is answered)] + b"\r\n")
            assert (await wire.answer()).status == 200

    assert lines.of("connections without headers closed")[0]["count"] == 6


async def test_requests_may_be_sent_ahead(address: str) -> None:
    """Each is answered in its turn."""
    async with connected(address) as wire, asyncio.timeout(20):
        await wire.send((GET + b"\r\n") * 10)

        assert [(await wire.answer()).status for _ in range(10)] == [200] * 10


async def test_too_many_requests_ahead_end_the_connection(address: str) -> None:
    """Without a refusal inside of an answer; everybody else is served."""
    async with connected(address) as wire, asyncio.timeout(20):
        await wire.send((GET + b"\r\n") * 1_000)
        with suppress(ConnectionResetError):
            assert b"HTTP/1.1 4" not in await wire.reader.read()

    async with connected(address) as wire:
        await wire.send(GET + b"\r\n")
        assert (await wire.answer()).status == 200


async def test_a_body_of_small_chunks_is_taken(address: str) -> None:
    """Not one of chunks that hold next to nothing, by the ten thousand."""
    async with connected(address) as wire, asyncio.timeout(20):
        await wire.send(CHUNKED, *(b"1\r\n%c\r\n" % byte for byte in QUESTION), b"0\r\n\r\n")
        assert (await wire.answer()).status == 200

        await wire.send(CHUNKED)
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):  # noqa: PT012 - one of them
            await wire.send(b"1\r\nx\r\n" * 1_000_000)
            assert (await wire.answer()).status == 400
            raise ConnectionError


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


async def nothing() -> Message:
    return {}


async def swallow(message: Message) -> None:
    """Nobody listens."""
