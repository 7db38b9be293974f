"""The model stub: the OpenAI protocol, whole answers, and its own clock."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from bench.load import Job, whole
from bench.stub import FIRST_SECONDS, MARK, NEXT_SECONDS, TOKENS, Stats, Stub
from bench.wire import Connection, Response, connect, get, post

ASKED = post("/v1/chat/completions", {"messages": [{"role": "user", "content": "x" * 100_000}]})


@pytest.fixture
async def stub(request: pytest.FixtureRequest) -> AsyncIterator[Connection]:
    """A connection to a stub whose waits are scaled by the test's parameter."""
    scale, stats = float(request.param), Stats()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Stub(stats, scale), "127.0.0.1", 0)
    connection = await connect(server.sockets[0].getsockname()[1])
    yield connection
    connection.close()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize("stub", [0, 0.1], indirect=True, ids=["at once", "timed"])
async def test_an_answer_is_whole(stub: Connection) -> None:
    """Every token once, in events that are JSON, and the protocol's end; again on the same connection."""
    for _ in range(2):
        response = await stub.ask(ASKED)
        assert whole(response, b"[DONE]")
        *events, done = response.body.decode().removesuffix("\n\n").split("\n\n")
        chunks = [json.loads(event.removeprefix("data: ")) for event in events]
        said = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)
        assert said.split() == [f"{MARK.decode()}{n:02}" for n in range(TOKENS)]
        assert (chunks[-1]["choices"][0]["finish_reason"], done) == ("stop", "data: [DONE]")


@pytest.mark.parametrize("stub", [0.2], indirect=True, ids=["a fifth"])
async def test_it_takes_its_time(stub: Connection) -> None:
    """Neither the first byte nor the last comes early."""
    response = await stub.ask(ASKED)
    assert response.first - response.began >= 0.2 * FIRST_SECONDS * 0.9
    assert response.ended - response.began >= 0.2 * (FIRST_SECONDS + TOKENS * NEXT_SECONDS) * 0.9


@pytest.mark.parametrize("stub", [0], indirect=True, ids=["at once"])
async def test_it_counts_what_it_is_asked(stub: Connection) -> None:
    """Requests and the bytes of their bodies."""
    await stub.ask(ASKED)
    told = json.loads((await stub.ask(get("/stats"))).body)
    assert told == {"requests": 1, "bytes": len(ASKED.partition(b"\r\n\r\n")[2])}


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, MARK * TOKENS + b"[DONE]"), (200, MARK * (TOKENS - 1) + b"[DONE]"), (200, MARK * TOKENS)],
    ids=["refused", "a token short", "without an end"],
)
def test_a_broken_answer_is_no_fast_one(status: int, body: bytes) -> None:
    """Incomplete answers do not count."""
    assert not whole(Response(status, 0.0, 0.0, 0.0, body), b"[DONE]")


def test_a_job_travels_as_json() -> None:
    """Its fields are what JSON can say."""
    job = Job(port=1, path="/", ends="x", clients=2)
    assert Job(**json.loads(json.dumps({name: getattr(job, name) for name in Job.__slots__}))) == job
