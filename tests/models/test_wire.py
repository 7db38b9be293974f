"""Frames over a real socket pair."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.models.wire import HEAD, Wire, Word

Heard = list[tuple[int, int, bytes]]


@asynccontextmanager
async def end(heard: Heard, lost: asyncio.Event) -> AsyncIterator[tuple[Wire, socket.socket]]:
    """A wire, and the other side's bare socket."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    wire = Wire(lambda *frame: heard.append(frame), lost.set)
    with theirs:
        await asyncio.get_running_loop().create_unix_connection(lambda: wire, sock=ours)
        yield wire, theirs
        wire.close()


@pytest.mark.parametrize("size", [1, 3, 8, 9, 10, 1_000], ids=lambda size: f"{size} bytes at once")
async def test_frames_arrive_whole_however_they_are_cut(size: int) -> None:
    """And in order; an empty one is a frame, too."""
    heard: Heard = []
    frames = [(7, 1, b"[]"), (8, Word.VECTORS, b"x" * 300), (0, Word.BEAT, b"")]
    stream = b"".join(HEAD.pack(number, kind, len(body)) + body for number, kind, body in frames)
    async with end(heard, asyncio.Event()) as (_, theirs):
        for at in range(0, len(stream), size):
            await asyncio.get_running_loop().sock_sendall(theirs, stream[at : at + size])
            await asyncio.sleep(0)
        for _ in frames:
            await asyncio.sleep(0.01)
    assert heard == frames


async def test_the_other_s_end_is_told_once_and_nothing_is_said_to_nobody() -> None:
    """What was begun and not finished is no frame."""
    heard: Heard = []
    lost = asyncio.Event()
    async with end(heard, lost) as (wire, theirs):
        await asyncio.get_running_loop().sock_sendall(theirs, HEAD.pack(1, 1, 10) + b"half")
        theirs.close()
        async with asyncio.timeout(5):
            await lost.wait()
        wire.send(1, Word.CANCEL)
    assert heard == []
