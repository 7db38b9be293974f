"""Work for a client that may leave."""

import asyncio
from dataclasses import dataclass, field

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Message

from app.api.peer import end, gone, unless_gone


class Peer:
    """A client."""

    def __init__(self) -> None:
        self.left = asyncio.Event()
        self.messages: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive(self) -> Message:
        """What it still sends, then its leaving."""
        if self.messages:
            return self.messages.pop(0)
        await self.left.wait()
        return {"type": "http.disconnect"}


async def slow(ended: list[str], seconds: float = 30) -> str:
    """Work."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        ended.append("cancelled")
        raise
    return "done"


async def test_work_is_returned_while_the_client_stays() -> None:
    """The watch ends with it."""
    before = asyncio.all_tasks()

    assert await unless_gone(Peer().receive, slow([], 0)) == "done"
    assert asyncio.all_tasks() == before


async def test_work_ends_when_the_client_leaves() -> None:
    """Cancelled, and seen to end, before the caller hears of it."""
    peer, ended = Peer(), list[str]()
    asyncio.get_running_loop().call_later(0.01, peer.left.set)

    with pytest.raises(ClientDisconnect):
        await unless_gone(peer.receive, slow(ended))

    assert ended == ["cancelled"]


async def test_work_that_fails_fails_as_itself() -> None:
    """Not as a leaving."""

    async def broken() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await unless_gone(Peer().receive, broken())


async def test_work_that_is_done_when_the_client_leaves_is_returned() -> None:
    """What it opened has an owner then."""
    peer = Peer()
    peer.messages, moment = [], asyncio.Event()
    peer.left = moment

    async def work() -> str:
        await moment.wait()
        return "opened"

    asyncio.get_running_loop().call_later(0.01, moment.set)

    assert await unless_gone(peer.receive, work()) == "opened"


async def test_being_cancelled_cancels_the_work() -> None:
    """At shutdown."""
    ended = list[str]()
    task = asyncio.create_task(unless_gone(Peer().receive, slow(ended)))
    await asyncio.sleep(0.01)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ended == ["cancelled"]


async def test_leaving_is_told_from_what_is_still_sent() -> None:
    """An empty last message is no leaving."""
    peer = Peer()
    task = asyncio.create_task(gone(peer.receive))
    await asyncio.sleep(0.01)
    assert not task.done()
    peer.left.set()

    await task


async def test_ending_tasks_waits_for_them_and_keeps_their_faults_to_itself() -> None:
    """Whatever they end with, nothing is warned of later."""

    async def broken() -> None:
        raise OSError

    tasks = [asyncio.create_task(broken()), asyncio.create_task(slow([]))]
    await asyncio.sleep(0)

    await end(*tasks)

    assert all(task.done() for task in tasks)


@dataclass
class Held:
    """Work that ends when it is told to, and a slow close of what it opened."""

    moment: asyncio.Event = field(default_factory=asyncio.Event)
    closed: list[str] = field(default_factory=list)

    async def work(self) -> str:
        """Opened at the moment."""
        await self.moment.wait()
        return "opened"

    async def close(self, result: str) -> None:
        """What was opened is closed, a little later."""
        await asyncio.sleep(0.01)
        self.closed.append(result)


@pytest.mark.parametrize("turns", range(6))
async def test_a_result_that_nobody_gets_is_closed(turns: int) -> None:
    """Whenever we are cancelled as it comes: it has one owner, or it is closed."""
    opening = Held()
    task = asyncio.create_task(unless_gone(Peer().receive, opening.work(), lost=opening.close))
    await asyncio.sleep(0.01)
    opening.moment.set()
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})

    got = [] if task.cancelled() else [task.result()]
    assert got + opening.closed == ["opened"]


async def test_a_result_is_closed_though_we_are_cancelled_again() -> None:
    """The closing is not ours alone."""
    opening = Held()
    task = asyncio.create_task(unless_gone(Peer().receive, opening.work(), lost=opening.close))
    await asyncio.sleep(0.01)
    opening.moment.set()
    await asyncio.sleep(0)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.wait({task})
    await asyncio.sleep(0.05)

    assert task.cancelled()
    assert opening.closed == ["opened"]
