"""The turns of a thread, as far as the log gives them in time."""

import asyncio

import pytest

from app.answer import Role, Turn
from app.db import sessions
from app.db.sessions import MOST, ChatLogStore, Threads
from app.errors import RetrievalError
from app.types import Degraded, Scope

ADA = Scope(user_id="ada", thread_id="evenings")
SAID = [Turn(Role.USER, "Why?"), Turn(Role.ASSISTANT, "Because.")]


class Log(ChatLogStore):
    """Gives its turns, or fails, or never answers."""

    def __init__(self, error: Exception | None = None, *, hangs: bool = False) -> None:
        self._error = error
        self._hangs = hangs
        self.asked: list[tuple[Scope, int]] = []

    async def turns(self, scope: Scope, limit: int) -> list[Turn]:
        """The newest."""
        self.asked.append((scope, limit))
        if self._error:
            raise self._error
        if self._hangs:
            await asyncio.Event().wait()
        return SAID[-limit:]


async def test_so_many_as_are_wanted_are_read() -> None:
    """The newest, of the scope's thread; never more than MOST."""
    log = Log()
    assert await Threads(log).turns(ADA, 1) == ([SAID[1]], ())
    assert await Threads(log).turns(ADA, 10**9) == (SAID, ())
    assert log.asked == [(ADA, 1), (ADA, MOST)]


@pytest.mark.parametrize("count", [0, -1])
async def test_who_wants_none_asks_nobody(count: int) -> None:
    """The default."""
    log = Log(RetrievalError("unavailable"))
    assert await Threads(log).turns(ADA, count) == ((), ())
    assert log.asked == []


@pytest.mark.parametrize("reason", ["unavailable", "timeout", "overloaded"])
async def test_a_log_that_is_away_is_told(reason: str) -> None:
    """In `degraded`; nothing is raised."""
    found = await Threads(Log(RetrievalError(reason))).turns(ADA, 3)
    assert found == ((), (Degraded("postgres", reason),))


async def test_a_log_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its deadline, or the caller's, whichever is first."""
    monkeypatch.setattr(sessions, "SECONDS", 0.05)
    assert await Threads(Log(hangs=True)).turns(ADA, 3, seconds=60) == (
        (),
        (Degraded("postgres", "timeout"),),
    )
    monkeypatch.setattr(sessions, "SECONDS", 60.0)
    assert await Threads(Log(hangs=True)).turns(ADA, 3, seconds=0.05) == (
        (),
        (Degraded("postgres", "timeout"),),
    )


async def test_cancellation_passes_through() -> None:
    """It is no fault of the log's."""
    task = asyncio.create_task(Threads(Log(hangs=True)).turns(ADA, 3))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
