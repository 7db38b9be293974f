"""The child's side of a question, in this process: lanes over an encoder that a test holds."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.domain.errors import StartError
from app.domain.passage import Embedding
from app.models import child as room
from app.models.child import serve
from app.models.encoder import Encoder, Faults
from app.models.lanes import Kind
from app.models.wire import Wire, Word


class Caller:
    """The parent's side."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[tuple[int, int, bytes]] = asyncio.Queue()
        self.lost = asyncio.Event()
        self.wire = Wire(lambda *frame: self.heard.put_nowait(frame), self.lost.set)

    def ask(self, number: int, kind: Kind, *texts: str) -> None:
        """A question."""
        self.wire.send(number, kind, json.dumps(texts).encode())

    async def next(self) -> tuple[int, int, bytes]:
        """What comes next, beats aside."""
        async with asyncio.timeout(5):
            while (frame := await self.heard.get())[1] == Word.BEAT:
                pass
            return frame


def plain(text: str) -> Embedding:
    """A vector that tells its text."""
    return text.encode("utf-8", "replace")


@asynccontextmanager
async def served(encode: Encoder = plain, faults: Faults = ()) -> AsyncIterator[Caller]:
    """A child at work, its first word heard."""
    ours, theirs = socket.socketpair()
    caller = Caller()
    serving = asyncio.create_task(serve(theirs, lambda: (encode, faults)))
    await asyncio.get_running_loop().create_unix_connection(lambda: caller.wire, sock=ours)
    assert await caller.next() == (0, Word.READY, b"")
    yield caller
    caller.wire.close()
    async with asyncio.timeout(10):
        await serving


@pytest.mark.parametrize("kind", Kind)
async def test_texts_are_answered_in_order(kind: Kind) -> None:
    """Also with halves of characters, which JSON carries."""
    async with served() as caller:
        caller.ask(3, kind, "a", "ключ", "\ud800")
        assert await caller.next() == (3, Word.VECTORS, "aключ?".encode())


async def test_what_the_model_fails_on_is_told_and_the_next_is_answered() -> None:
    """By `RetrievalError`'s word."""

    def encode(text: str) -> Embedding:
        if text == "bad":
            raise ValueError
        return plain(text)

    async with served(encode, (ValueError,)) as caller:
        caller.ask(1, Kind.QUERY, "bad")
        assert await caller.next() == (1, Word.FAULT, b"embedding")
        caller.ask(2, Kind.QUERY, "good")
        assert await caller.next() == (2, Word.VECTORS, b"good")


async def test_what_nobody_waits_for_is_dropped() -> None:
    """Texts of a caller that left are not embedded; a number that is unknown, or answered, is no error."""
    seen: list[str] = []
    held = threading.Event()

    def encode(text: str) -> Embedding:
        seen.append(text)
        held.wait(10)
        return plain(text)

    async with served(encode) as caller:
        caller.ask(1, Kind.QUERY, "first")
        caller.ask(2, Kind.QUERY, "left")
        caller.wire.send(2, Word.CANCEL)
        caller.wire.send(99, Word.CANCEL)
        caller.ask(3, Kind.QUERY, "third")
        await asyncio.sleep(0.1)
        held.set()
        assert [await caller.next(), await caller.next()] == [
            (1, Word.VECTORS, b"first"),
            (3, Word.VECTORS, b"third"),
        ]
    assert seen == ["first", "third"]


async def test_it_says_that_it_lives_while_somebody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is silent when nobody does."""
    monkeypatch.setattr(room, "BEAT_SECONDS", 0.02)
    held = threading.Event()

    def encode(text: str) -> Embedding:
        held.wait(10)
        return plain(text)

    async with served(encode) as caller:
        caller.ask(1, Kind.PASSAGE, "long")
        async with asyncio.timeout(5):
            assert await caller.heard.get() == (0, Word.BEAT, b"")
        held.set()
        assert await caller.next() == (1, Word.VECTORS, b"long")
        await asyncio.sleep(0.05)
        while not caller.heard.empty():
            caller.heard.get_nowait()
        await asyncio.sleep(0.1)
        assert caller.heard.empty()


async def test_a_model_that_is_not_ours_is_refused_with_its_reason() -> None:
    """The parent has it as the first word."""

    def loaded() -> tuple[Encoder, Faults]:
        raise StartError("model.onnx is not the file Ibid was made for")

    ours, theirs = socket.socketpair()
    caller = Caller()
    with theirs:
        await serve(theirs, loaded)
    await asyncio.get_running_loop().create_unix_connection(lambda: caller.wire, sock=ours)
    assert await caller.next() == (0, Word.FAULT, b"model.onnx is not the file Ibid was made for")
    await caller.lost.wait()


async def test_it_ends_with_the_other_side_whatever_is_under_way() -> None:
    """Nobody is told; what runs is finished, what waits is dropped."""
    started, held, seen = threading.Event(), threading.Event(), list[str]()

    def encode(text: str) -> Embedding:
        seen.append(text)
        started.set()
        held.wait(10)
        return plain(text)

    async with served(encode) as caller:
        for number in range(1, 5):
            caller.ask(number, Kind.QUERY, str(number))
        assert await asyncio.to_thread(started.wait, 5)
        caller.wire.close()
        await asyncio.sleep(0.2)
        held.set()
    assert seen == ["1"]
