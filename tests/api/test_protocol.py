"""Refusals below the app, over a raw socket: what no HTTP client would send."""

import json

import pytest

from app.api.protocol import refusal
from tests.fakes.logged import Lines
from tests.fakes.server import Answer, connected, request_head

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


async def test_each_refusal_has_an_id_of_its_own(address: str) -> None:
    """Else two of them could not be told apart in the log."""
    first, second = [await refused(address, UNREADABLE["method"]) for _ in range(2)]

    assert first.headers["x-request-id"] != second.headers["x-request-id"]


async def test_a_request_after_a_whole_answer_is_refused_alike(address: str) -> None:
    """On a connection that is kept open."""
    async with connected(address) as wire:
        await wire.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert (await wire.answer()).status == 200
        await wire.send(UNREADABLE["method"])
        assert (await wire.answer()).json()["type"] == "urn:ibid:problem:bad-request"


async def test_no_refusal_stands_inside_of_an_answer(address: str) -> None:
    """Bytes that are no HTTP, behind a request whose answer is under way, cut that answer."""
    async with connected(address) as wire:
        await wire.send(request_head("/nowhere", "Transfer-Encoding: chunked"), b"1\r\nx\r\n")
        head = await wire.head()
        await wire.send(b"no chunk\r\n")
        rest = await wire.reader.read()

    assert head.status == 404
    assert b"HTTP/1.1 400" not in rest


def test_the_response_is_whole_and_has_the_common_headers() -> None:
    """Length and body agree; `date` and its like are those of every response."""
    head, _, body = refusal("id-1", [(b"date", b"today")]).partition(b"\r\n\r\n")

    lines = head.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 400 Bad Request"
    assert b"date: today" in lines
    assert f"content-length: {len(body)}".encode() in lines
    assert json.loads(body)["instance"] == "id-1"
