"""A response in pieces: pings, slow clients, leaving; without a socket, so that time is the test's."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.types import Message, Send

from app.api import stream
from app.api.stream import Stream, close, piece

SCOPE = {"type": "http"}


class Client:
    """The other end: what it got, whether it reads, when it leaves."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.ended = False
        self.reads = asyncio.Event()
        self.reads.set()
        self.left = asyncio.Event()

    async def receive(self) -> Message:
        """Nothing until it leaves."""
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Takes what comes while it reads; like a server, refuses what comes after the end."""
        if message["type"] == "http.response.body":
            await self.reads.wait()
            assert not self.ended, "sent after the end"
            self.got.append(message["body"])
            self.ended = not message["more_body"]


class Counting(Stream):
    """Sends numbers, with a pause before each."""

    def __init__(
        self, *, count: int = 3, pause: float = 0, every: float | None = None, watch: bool = True
    ) -> None:
        super().__init__(headers={}, media_type="text/plain", ping=b".", every=every, watch=watch)
        self.count = count
        self.pause = pause
        self.stopped = asyncio.Event()

    async def tell(self, send: Send) -> None:
        """The numbers."""
        try:
            for number in range(self.count):
                await asyncio.sleep(self.pause)
                await piece(send, b"%d" % number)
        finally:
            self.stopped.set()


async def test_pieces_come_in_order_and_then_the_end() -> None:
    """The end is an empty piece."""
    client = Client()

    await Counting()(SCOPE, client.receive, client.send)

    assert (client.got, client.ended) == ([b"0", b"1", b"2", b""], True)


async def test_a_silent_stream_is_pinged() -> None:
    """While there is nothing to say."""
    client = Client()

    await Counting(count=1, pause=0.1, every=0.02)(SCOPE, client.receive, client.send)

    assert client.got[-2:] == [b"0", b""]
    assert client.got.count(b".") >= 2


async def test_a_stream_without_an_interval_is_not_pinged() -> None:
    """A file has no room for comments."""
    client = Client()

    await Counting(pause=0.02)(SCOPE, client.receive, client.send)

    assert b"." not in client.got


async def test_a_client_that_leaves_stops_the_work_at_once() -> None:
    """The end is not sent to nobody."""
    client, counting = Client(), Counting(count=1, pause=30)
    task = asyncio.create_task(counting(SCOPE, client.receive, client.send))
    await asyncio.sleep(0)
    client.left.set()

    async with asyncio.timeout(1):
        await task

    assert counting.stopped.is_set()
    assert not client.ended


async def test_unwatched_work_goes_on_without_its_client() -> None:
    """Somebody asked for it to be finished."""
    client = Client()
    client.left.set()

    await Counting(pause=0.01, watch=False)(SCOPE, client.receive, client.send)

    assert client.got == [b"0", b"1", b"2", b""]


async def test_a_slow_client_slows_the_work_and_loses_nothing() -> None:
    """Nothing is piled up for it."""
    client, counting = Client(), Counting(every=0.01)
    client.reads.clear()
    task = asyncio.create_task(counting(SCOPE, client.receive, client.send))
    await asyncio.sleep(0.05)
    assert client.got == []
    client.reads.set()

    await task

    assert [body for body in client.got if body != b"."] == [b"0", b"1", b"2", b""]


async def test_a_client_that_never_reads_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its model costs money."""
    monkeypatch.setattr(stream, "STALL_SECONDS", 0.05)
    client, counting = Client(), Counting(every=0.01)
    task = asyncio.create_task(counting(SCOPE, client.receive, client.send))
    await asyncio.sleep(0.005)
    client.reads.clear()

    async with asyncio.timeout(1):
        await task

    assert counting.stopped.is_set()


async def test_no_ping_comes_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ping that waited for a slow client while the answer ended is dropped; servers break on it."""
    for hold in range(5):
        client, counting = Client(), Counting(count=2, pause=0.01, every=0.005)
        task = asyncio.create_task(counting(SCOPE, client.receive, client.send))
        await asyncio.sleep(0.004 * hold)
        client.reads.clear()
        await asyncio.sleep(0.03)
        client.reads.set()

        await task

        assert client.got[-1] == b""


async def test_a_ping_that_waited_for_the_end_is_dropped() -> None:
    """The end itself had to wait for the client, and the ping behind it."""
    client, counting = Client(), Counting(count=0, every=0.01)
    client.reads.clear()
    task = asyncio.create_task(counting(SCOPE, client.receive, client.send))
    await asyncio.sleep(0.05)
    client.reads.set()

    await task

    assert client.got == [b""]


async def test_a_fault_of_the_work_reaches_the_server() -> None:
    """Which cuts the connection."""

    class Broken(Counting):
        async def tell(self, send: Send) -> None:
            raise OSError("disk")

    client = Client()

    with pytest.raises(OSError, match="disk"):
        await Broken()(SCOPE, client.receive, client.send)
    assert not client.ended


async def test_a_cancelled_response_takes_its_tasks_along() -> None:
    """At shutdown nothing is left running."""
    client, counting = Client(), Counting(count=1, pause=30)
    task = asyncio.create_task(counting(SCOPE, client.receive, client.send))
    await asyncio.sleep(0.01)
    before = asyncio.all_tasks()

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert len(before) - len(asyncio.all_tasks()) == 3


async def test_a_content_type_is_sent_as_given() -> None:
    """Without a charset that somebody added."""
    assert Counting().headers["content-type"] == "text/plain"


async def test_a_base_stream_says_nothing() -> None:
    """It is to be derived from."""
    client = Client()
    bare = Stream(headers={}, media_type="text/plain")

    with pytest.raises(NotImplementedError):
        await bare(SCOPE, client.receive, client.send)


async def test_a_generator_left_in_the_middle_is_ended() -> None:
    """And what is no generator is left alone."""
    ended = False

    async def numbers() -> AsyncIterator[int]:
        nonlocal ended
        try:
            yield 1
        finally:
            ended = True

    class Plain:
        def __aiter__(self) -> AsyncIterator[object]:
            return self

        async def __anext__(self) -> object:
            raise StopAsyncIteration

    found = numbers()
    await anext(found)
    await close(found)
    await close(Plain())

    assert ended
